/**
 * Parameters in text form that PostgreSQL would read as the time of the day: 'now', 'today' and such are refused where their type is a date or time, or is not known.
 */
import { textOf } from '../client-text.ts';
import type { Refusal } from '../rewriting.ts';
import { isRelativeTime } from './relative-times.ts';

/** date, time, timestamp, timestamptz, timetz; their arrays and ranges and multiranges; 0 and unknown. */
const readsClock = new Set([
  0, 705, 1082, 1083, 1114, 1184, 1266, 1182, 1183, 1115, 1185, 1270, 3908, 3909, 3910, 3911, 3912, 3913,
  4533, 4534, 4535, 6152, 6153, 6155,
]);

export function checkParameters(
  body: Uint8Array,
  from: number,
  types: readonly number[] | undefined,
): Refusal | undefined {
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  const broken: Refusal = {
    kind: 'refused',
    sqlstate: '08P01',
    message: 'a Bind message without an end',
    rule: 'broken messages',
  };
  if (from + 2 > body.length) return broken;
  const formats = view.getUint16(from);
  let at = from + 2 + 2 * formats;
  if (at + 2 > body.length) return broken;
  const count = view.getUint16(at);
  at += 2;
  for (let i = 0; i < count; i++) {
    if (at + 4 > body.length) return broken;
    const length = view.getInt32(at);
    at += 4;
    if (length < 0) continue;
    if (at + length > body.length) return broken;
    const binary = formats > 0 && view.getUint16(from + 2 + (formats === 1 ? 0 : 2 * i)) === 1;
    if (!binary && length < 256 && readsClock.has(types?.[i] ?? 0)) {
      const value = textOf(body.subarray(at, at + length));
      if (isRelativeTime(value))
        return {
          kind: 'refused',
          sqlstate: '0A000',
          message: `parameter $${i + 1} is '${value}', which may mean the time at each replica`,
          hint: 'Send it with type text, or write the time itself.',
          rule: "'now' as a parameter",
        };
    }
    at += length;
  }
  return undefined;
}
