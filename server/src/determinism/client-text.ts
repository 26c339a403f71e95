/**
 * A client's text as the parser takes it: one character per byte, where the client's encoding allows that.
 *
 * In most encodings a byte below 128 is always the ASCII character; the rest are letters to the scanner. In the encodings named here a character's second byte may look like a quote or
 * a backslash: a text in them is taken only while it is ASCII.
 */

const secondBytesBelow128 = new Set(['BIG5', 'GB18030', 'GBK', 'JOHAB', 'SJIS', 'SHIFT_JIS_2004', 'UHC']);

/** `MSKANJI`, `shift-jis`, ... are other names of those; PostgreSQL tells the one of the set. */
function encodingName(name: string): string {
  const plain = name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '');
  if (['MSKANJI', 'SHIFTJIS', 'WIN932', 'WINDOWS932', 'SJIS'].includes(plain)) return 'SJIS';
  if (['WIN950', 'WINDOWS950'].includes(plain)) return 'BIG5';
  if (['WIN936', 'WINDOWS936'].includes(plain)) return 'GBK';
  if (['WIN949', 'WINDOWS949'].includes(plain)) return 'UHC';
  return plain === 'SHIFTJIS2004' ? 'SHIFT_JIS_2004' : plain;
}

// oxlint-disable-next-line no-control-regex -- bytes are meant
export const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text);

export function isParseable(text: string, clientEncoding: string): boolean {
  return !secondBytesBelow128.has(encodingName(clientEncoding)) || isAscii(text);
}

export const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1');

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** Characters of the client's encoding before each byte that is asked for, in rising order. */
export function characterCounter(text: string, clientEncoding: string): (byte: number) => number {
  const name = encodingName(clientEncoding);
  if (isAscii(text) || /^(?:LATIN|ISO8859|WIN|KOI8|SQLASCII)/.test(name)) return (byte) => byte;
  // UTF-8: bytes that go on with a character do not count. EUC and its kin: pairs of bytes from 128 on count as one.
  let at = 0;
  let count = 0;
  const isUtf8 = name.startsWith('UTF') || name === 'UNICODE';
  return (byte) => {
    while (at < byte) {
      const code = text.charCodeAt(at);
      if (isUtf8) {
        if ((code & 0xc0) !== 0x80) count += 1;
        at += 1;
      } else {
        at += code < 128 ? 1 : 2;
        count += 1;
      }
    }
    return count;
  };
}
