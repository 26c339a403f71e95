/** Up to where a group is to be restored, as it is typed. Pure. */
import { InvalidArgumentError } from 'commander';
import type { RestoreTarget } from '../adapters/postgres/backup/recovery.ts';
import { type Lsn, parseLsn } from '../wal/lsn.ts';

type TimeTarget = Extract<RestoreTarget, { kind: 'time' }>;

const shape = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d(?::?\d\d)?)$/;
const words =
  'It must be a time with its zone, such as 2026-05-04T10:30:00Z, 2026-05-04 12:30+02:00 or what PostgreSQL shows (2026-05-04 10:30:00.123456+00).';

/** A zone must be given: whose noon is meant decides what is lost. Nothing is rounded, and the thirtieth of February is no day. */
export function timeOf(text: string): TimeTarget {
  const parts = shape.exec(text);
  if (parts === null) throw new InvalidArgumentError(words);
  const [, year, month, day, hour, minute, second = '00', fraction = '', zone = 'Z'] = parts;
  const digits = fraction.padEnd(6, '0');
  const offset = zone === 'Z' ? zone : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  const clock = `${hour}:${minute}:${second}.${digits.slice(0, 3)}`;
  const at = new Date(`${year}-${month}-${day}T${clock}${offset}`);
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  if (Number.isNaN(at.getTime()) || Number(day) > lastDay) throw new InvalidArgumentError(words);
  const microseconds = Number(digits.slice(3));
  return microseconds === 0 ? { kind: 'time', at } : { kind: 'time', at, microseconds };
}

export function positionOf(text: string): Lsn {
  try {
    return parseLsn(text);
  } catch {
    throw new InvalidArgumentError(
      'It must be a position in the WAL as PostgreSQL writes it, such as 0/3000060.',
    );
  }
}

/** PostgreSQL's bound on names of restore points. */
export function labelOf(text: string): string {
  if (text !== '' && Buffer.byteLength(text) < 64 && !/\p{Cc}/u.test(text)) return text;
  throw new InvalidArgumentError(
    'It must be the name that pg_create_restore_point was given, of at most 63 bytes.',
  );
}
