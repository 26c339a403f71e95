/** Messages for tests, and the ways in which a stream can be cut. */

/** A message of this type, whatever it holds. */
export function frame(type: string, payload: string | Buffer = ''): Buffer {
  const body = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload;
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** Each byte by itself; in two at every place; as it is. */
export function* cuts(bytes: Buffer): Generator<readonly Buffer[]> {
  yield [bytes];
  yield [...bytes].map((byte) => Buffer.from([byte]));
  for (let at = 1; at < bytes.length; at += 1) yield [bytes.subarray(0, at), bytes.subarray(at)];
}
