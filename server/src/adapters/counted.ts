/** A pass-through that tells how many bytes have gone through so far, at each piece. */
import { Transform } from 'node:stream';

export function counted(onBytes: (bytes: number) => void): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      bytes += chunk.length;
      onBytes(bytes);
      callback(null, chunk);
    },
  });
}
