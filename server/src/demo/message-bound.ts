/**
 * A bound on one message of PostgreSQL's protocol, before it is gathered: pg keeps a message until it is there as a whole, and what is longer than a string can be would end the process.
 *
 * Responsible for: reading the lengths of messages as their bytes come, in whatever parts. Reads nothing else of them.
 */

/** Enough for what people look at; a string can be eight times as long. */
export const messageBytesMax = 64 * 1024 * 1024;

/** Its kind, and its length, which counts itself. */
const headerBytes = 5;

/** To be given all that comes; null: nothing is too long; otherwise how long a message says that it is. */
export function createMessageBound(bytesMax = messageBytesMax): (chunk: Buffer) => number | null {
  const header = Buffer.alloc(headerBytes);
  let headerHas = 0;
  /** Of the message whose header was read. */
  let bytesLeft = 0;
  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      if (bytesLeft > 0) {
        const skipped = Math.min(bytesLeft, chunk.length - at);
        bytesLeft -= skipped;
        at += skipped;
        continue;
      }
      const copied = chunk.copy(header, headerHas, at, at + headerBytes - headerHas);
      headerHas += copied;
      at += copied;
      if (headerHas < headerBytes) break;
      headerHas = 0;
      const length = header.readUInt32BE(1);
      if (length > bytesMax) return length;
      bytesLeft = length - 4;
    }
    return null;
  };
}

/** As PostgreSQL would tell of a limit of its own. */
export function tooLongError(bytes: number): Error {
  const mebibytes = (count: number): string => `${Math.ceil(count / 1024 / 1024)} MiB`;
  return Object.assign(
    new Error(
      `One row or message is ${mebibytes(bytes)} long, and at most ${mebibytes(messageBytesMax)} are taken; the session was ended.`,
    ),
    { code: '54000', hint: 'Ask for a part of it, as with left(a_column, 1000), or use psql.' },
  );
}
