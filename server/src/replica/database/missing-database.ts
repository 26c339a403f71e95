/** What a replica does that has a log and no database. Pure. */
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { Loss } from '../../ports/database-directory.ts';

/** Of a replica that has just been let in: what it had before, and what the group has purged. */
export interface Joined {
  readonly cause: 'new' | 'logLost' | 'bothLost';
  readonly purgedTo: Slot;
}

/**
 * Only the founder of a group makes a database: at its beginning, when the log holds nothing yet, and names members that were chosen in no slot. The log of who was let in holds nothing, either, until it hears of something: a process that
 * ends before that does not remember in its next life that it was let in. Everybody else has a copy of it, for what a new database consists of before the first WAL that is chosen is in no log.
 */
export function missingDatabase({
  log,
  joined,
  others,
}: {
  readonly log: {
    readonly recovered: { readonly commitPoint: Slot; readonly configuration: Pick<Configuration, 'slot'> };
    stats(): { readonly purgedTo: Slot };
  };
  readonly joined: Joined | null;
  readonly others: readonly ReplicaId[];
}): { readonly kind: 'create' } | { readonly kind: 'lost'; readonly loss: Loss } {
  const { commitPoint, configuration } = log.recovered;
  const isFounders = log.stats().purgedTo === 0 && commitPoint === 0 && configuration.slot === 0;
  if (joined === null && isFounders) return { kind: 'create' };
  const cause = joined === null ? 'databaseLost' : joined.cause === 'new' ? 'new' : 'bothLost';
  const alone =
    others.length === 0 ? ', and the group has no other member that might have a copy: restore a backup' : '';
  return { kind: 'lost', loss: { cause, reason: `its directory is empty${alone}` } };
}
