/** Startup packets for tests, odd ones too. */

/** Parameters in the order that is given; those of later maps behind. */
export function startup(...parameters: readonly Readonly<Record<string, string>>[]): Buffer {
  const pairs = parameters.flatMap((each) => Object.entries(each));
  const body = Buffer.from(`${pairs.map(([name, value]) => `${name}\0${value}\0`).join('')}\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(body.length + 8, 0);
  head.writeInt32BE(3 << 16, 4);
  return Buffer.concat([head, body]);
}
