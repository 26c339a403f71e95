/** Positions in the write-ahead log. Pure. */

declare const brand: unique symbol;

/** A byte position in the WAL, as PostgreSQL counts it: a safe integer (2^53 bytes are nine petabytes). 0 means "none". */
export type Lsn = number & { readonly [brand]: 'Lsn' };
/** A timeline's number: 1 and up. */
export type Timeline = number & { readonly [brand]: 'Timeline' };

export const lsnNone = 0 as Lsn;
/** The size of a WAL segment: initdb's default, which `inspect` of a data directory confirms. */
export const segmentBytes = 16 * 1024 * 1024;
export const walPageBytes = 8192;

/** As PostgreSQL writes it, such as `0/3000060`. */
export function formatLsn(lsn: Lsn): string {
  const high = Math.floor(lsn / 2 ** 32);
  return `${high.toString(16)}/${(lsn % 2 ** 32).toString(16)}`.toUpperCase();
}

/** @throws Error if it is none */
export function parseLsn(text: string): Lsn {
  const match = /^([0-9A-Fa-f]{1,8})\/([0-9A-Fa-f]{1,8})$/.exec(text);
  if (match === null) throw new Error(`"${text}" is no position in the WAL`);
  return (Number.parseInt(match[1]!, 16) * 2 ** 32 + Number.parseInt(match[2]!, 16)) as Lsn;
}

export function segmentStart(lsn: Lsn): Lsn {
  return (lsn - (lsn % segmentBytes)) as Lsn;
}

/** The name of the file in pg_wal that holds this position. */
export function segmentName(timeline: Timeline, lsn: Lsn): string {
  const number = Math.floor(lsn / segmentBytes);
  const perId = 2 ** 32 / segmentBytes;
  return [timeline, Math.floor(number / perId), number % perId].map(hex8).join('');
}

/** Where the segment of this name begins. */
export function segmentOf(name: string): Lsn {
  const [high, low] = [name.slice(8, 16), name.slice(16)].map((part) => Number.parseInt(part, 16));
  return (high! * 2 ** 32 + low! * segmentBytes) as Lsn;
}

/** The name of the file in pg_wal that tells where a timeline comes from. */
export function historyName(timeline: Timeline): string {
  return `${hex8(timeline)}.history`;
}

function hex8(value: number): string {
  return value.toString(16).toUpperCase().padStart(8, '0');
}
