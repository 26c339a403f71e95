/**
 * Settings under which PostgreSQL would read a text otherwise than our parser: they end the session.
 *
 * Otherwise a client could hide a COMMIT in what looks like a string.
 */
import type { GatewayError } from '../codec/backend-messages.ts';
import { unsafeEncoding, unsafeStrings } from '../errors.ts';

/** Encodings with characters that contain bytes below 128. */
const unsafeEncodings: ReadonlySet<string> = new Set([
  'SJIS',
  'BIG5',
  'GBK',
  'UHC',
  'GB18030',
  'JOHAB',
  'SHIFT_JIS_2004',
]);

export const unsafeSetting = (setting: {
  readonly name: string;
  readonly value: string;
}): GatewayError | null => {
  if (setting.name === 'standard_conforming_strings' && setting.value !== 'on') return unsafeStrings;
  if (setting.name === 'client_encoding' && unsafeEncodings.has(setting.value))
    return unsafeEncoding(setting.value);
  return null;
};
