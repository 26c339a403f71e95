/**
 * Names of databases, tables and prepared transactions as text. PostgreSQL keeps them as bytes, in whatever encoding they were given in.
 *
 * Invariant: two names are never the same text, so the text may be a key, and leads back to the name.
 */
import { isUtf8 } from 'node:buffer';

const writtenByte = /\\x([0-9a-f]{2})/g;

/** UTF-8 as it is; in any other name each byte that is not ASCII is written `\xe9`. A backslash that would begin such a byte is written `\x5c`. The same everywhere, whatever the encoding of the database. */
export function exactName(bytes: Uint8Array): string {
  const name = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const isText = isUtf8(name);
  const text = name.toString(isText ? 'utf8' : 'latin1').replaceAll(writtenByte, String.raw`\x5cx$1`);
  return isText
    ? text
    : text.replaceAll(/[\x80-\xff]/g, (one) => String.raw`\x${one.charCodeAt(0).toString(16)}`);
}

/** `text`: what `exactName` makes of it, or the name itself where nothing in it is written so. */
export function bytesOfName(text: string): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { 0: written, 1: hex, index } of text.matchAll(writtenByte)) {
    parts.push(Buffer.from(text.slice(at, index)), Buffer.from(hex!, 'hex'));
    at = index + written.length;
  }
  return Buffer.concat([...parts, Buffer.from(text.slice(at))]);
}
