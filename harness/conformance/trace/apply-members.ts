/**
 * Who counts as everybody when a log is dropped: whoever is a member for all that its replica, and anybody else, has told by then. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ApplyEvent } from './apply-event.ts';

/** Of each Purge; none: no configuration has been told. */
export function membersAtPurges(
  events: readonly TraceEvent[],
): ReadonlyMap<ApplyEvent, readonly ReplicaId[]> {
  const members = new Map<ApplyEvent, readonly ReplicaId[]>();
  const voters = new Map<number, readonly ReplicaId[]>();
  const known = new Map<string, number>();
  let newest = 0;
  for (const event of [...events].sort((a, b) => a.atUs - b.atUs || a.seq - b.seq)) {
    if (event.layer === 'consensus') {
      for (const told of event.configurations ?? []) voters.set(told.version, told.voters.map(replicaOf));
      known.set(event.run, event.state.configuration);
      newest = Math.max(newest, event.state.configuration);
    }
    if (event.layer !== 'apply' || event.name !== 'Purge') continue;
    const both = [known.get(event.run) ?? 0, newest].map((version) => voters.get(version));
    const [own, others] = both;
    if (own !== undefined && others !== undefined)
      members.set(
        event,
        own.filter((replica) => others.includes(replica)),
      );
  }
  return members;
}
