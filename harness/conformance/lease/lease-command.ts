/** What the conformance commands say of the layer `lease`. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { JudgeName } from '../judge/judges.ts';
import type { LeaseEvent } from './lease-event.ts';
import { checkLeaseTrace, type LeaseRejected } from './lease-trace.ts';

/** What whole replicas under faults must tell of their leases. */
export const LEASE_EVENTS: readonly LeaseEvent['name'][] = [
  'Restart',
  'HandleHeartbeat',
  'HandleHeartbeatAck',
  'GivePromise',
  'Lead',
  'Learn',
  'Resign',
  'HandleResigned',
  'RunRead',
  'AnswerRead',
  'RefuseAnswer',
];

/** Prints the verdict. `requireAll`: fails if there is no event of the lease. @returns the exit code */
export async function checkLease(
  recorded: readonly TraceEvent[],
  { judge, requireAll }: { readonly judge: JudgeName; readonly requireAll: boolean },
): Promise<number> {
  const outcome = await checkLeaseTrace(recorded, judge);
  if (outcome === null) {
    if (requireAll) console.log('FAILED: the trace does not speak of the lease');
    return requireAll ? 1 : 0;
  }
  if (outcome.kind === 'rejected') {
    printLeaseRejection(outcome);
    return 1;
  }
  const { events, actions } = outcome;
  console.log(`lease: accepted ${events} events`);
  console.log([...actions].map(([action, count]) => `${action} ${count}`).join(', '));
  return 0;
}

export function printLeaseRejection({ event, recorded, literal }: LeaseRejected): void {
  console.log(
    event === 0
      ? `lease: the trace contradicts itself: ${literal}`
      : `lease: rejected at event ${event}: ${literal}`,
  );
  if (recorded !== null) console.log(`the event: ${JSON.stringify(recorded)}`);
}
