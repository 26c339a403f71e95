/** What a replica's PostgreSQL is and how far its WAL is, in words and figures for a reader. Pure reading of one status. */
import type { WalStatus } from '../../../server/src/api/status.ts';
import { formatBytes } from './format.ts';
import { parseLsn } from './wal-position.ts';

export interface WalView {
  /** What its database is. */
  readonly role: string;
  readonly roleHint: string;
  /** Short, such as `t3`. */
  readonly timeline: string;
  readonly chosen: string;
  /** What of the WAL this replica lacks, or has beyond. */
  readonly gap: {
    readonly name: string;
    readonly value: string;
    readonly hint: string;
    readonly isBehind: boolean;
  };
}

const roles: Readonly<Record<WalStatus['role'], readonly [string, string]>> = {
  founder: ['founder', 'A new database, in whose group nobody has led yet'],
  standby: ['standby', 'Replays chosen WAL, and nothing else'],
  promoting: ['promoting', 'A standby that is becoming the primary'],
  primary: ['primary', 'Writes WAL; it may have some that is not chosen'],
  copying: ['copying', 'Half of it is another replica’s: no database yet'],
};

/** Null: nothing can be told. `isUp`: its PostgreSQL is in service. */
export function walView(wal: WalStatus | null, isUp: boolean): WalView | null {
  if (wal === null) return null;
  const [role, roleHint] = roles[wal.role];
  const { chosen, timeline } = wal;
  return {
    role,
    roleHint: `${roleHint}; timeline ${timeline}`,
    timeline: `t${timeline}`,
    chosen,
    gap: gapOf(wal, isUp),
  };
}

const notUp = 'It wrote WAL when it led; how much of that is not chosen is not known before it is looked at';
const notTold = 'Its PostgreSQL has not told yet how far it is';

function gapOf(wal: WalStatus, isUp: boolean): WalView['gap'] {
  if (wal.role === 'primary') {
    const { unchosenBytes } = wal;
    if (!isUp) return { name: 'Not chosen', value: '–', hint: notUp, isBehind: false };
    const hint = 'WAL that its PostgreSQL has written and that is not chosen: commits in it wait';
    const value = unchosenBytes === 0 ? 'none' : `+${formatBytes(unchosenBytes)}`;
    return { name: 'Not chosen', value, hint, isBehind: false };
  }
  if (wal.role === 'copying') return { name: 'Replayed', value: '–', hint: roles.copying[1], isBehind: true };
  const [chosen, flushed, replayed] = [wal.chosen, wal.flushed, wal.replayed].map(
    (text) => parseLsn(text) ?? 0,
  );
  if (replayed === 0) return { name: 'Replayed', value: '–', hint: notTold, isBehind: false };
  const behind = Math.max(0, chosen! - replayed!);
  const hint = `Of the WAL that it knows to be chosen; flushed up to ${wal.flushed} (${lag(chosen! - flushed!)}), replayed up to ${wal.replayed}`;
  // It may know of less than the others: so it is not said to be in step with them.
  return {
    name: 'Replayed',
    value: behind === 0 ? 'all it knows' : `${formatBytes(behind)} behind`,
    hint,
    isBehind: behind > 0,
  };
}

function lag(bytes: number): string {
  return bytes <= 0 ? 'in step' : `−${formatBytes(bytes)}`;
}
