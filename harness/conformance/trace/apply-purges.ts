/**
 * What the consensus layer tells of a log that is dropped. Who counts as everybody: whoever is a member for all that its replica, and anybody else, has told by then. And what is not in the log anyway, since a copy has brought it. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ApplyEvent, ToldAtPurge } from './apply-event.ts';

/** Of each Purge. */
export function toldAtPurges(events: readonly TraceEvent[]): ReadonlyMap<ApplyEvent, ToldAtPurge> {
  const told = new Map<ApplyEvent, ToldAtPurge>();
  const voters = new Map<number, readonly ReplicaId[]>();
  const known = new Map<string, number>();
  const bases = new Map<string, number>();
  let newest = 0;
  for (const event of [...events].sort((a, b) => a.atUs - b.atUs || a.seq - b.seq)) {
    if (event.layer === 'consensus') {
      for (const one of event.configurations ?? []) voters.set(one.version, one.voters.map(replicaOf));
      known.set(event.run, event.state.configuration);
      newest = Math.max(newest, event.state.configuration);
      if (event.name === 'Fsync' && event.base !== undefined) bases.set(event.run, event.base);
    }
    if (event.layer !== 'apply' || event.name !== 'Purge') continue;
    const own = voters.get(known.get(event.run) ?? 0);
    const others = voters.get(newest);
    const members =
      own === undefined || others === undefined ? null : own.filter((replica) => others.includes(replica));
    told.set(event, { members, base: bases.get(event.run) ?? 0 });
  }
  return told;
}
