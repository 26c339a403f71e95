/** The entry with which a leadership begins: proposed first of all, and waited for. Spec: ProposeLeadership, BeginLeadership. */
import { sameBallot } from '../../../multipaxos/ballot.ts';
import type { ChosenWal } from '../chosen-wal.ts';
import { encodeLeadership, type LeadershipEntry } from '../wal-entry.ts';
import type { LifeContext } from './context.ts';

/** Enough for any majority that there still is. */
const patienceMs = 10_000;

/** True once it is chosen and has taken effect; false if this replica does not lead any more. */
export async function proposeLeadership(
  context: LifeContext,
  wal: ChosenWal,
  entry: Omit<LeadershipEntry, 'kind'>,
): Promise<boolean> {
  const { host, logger, timers } = context.options;
  const payload = encodeLeadership(entry);
  const { leadership, timeline, fork, resumes } = entry;
  const nextXid = String(entry.nextXid);
  for (;;) {
    if (!context.leads(leadership)) return false;
    const result = host.propose(payload);
    if (result.code === 'proposed') {
      const { label } = result;
      host.event({ name: 'ProposeLeadership', label, leadership, timeline, fork, nextXid, resumes });
      break;
    }
    await context.signal.wait(10);
  }
  const deadline = timers.nowMs() + patienceMs;
  while (context.leads(leadership) && context.over() === null) {
    if (sameBallot(wal.position.leadership, leadership)) return true;
    if (timers.nowMs() > deadline) {
      logger.error(
        { leadership, timeline },
        'the leadership did not begin, though nothing stands against it',
      );
      host.stepDown();
    }
    await context.signal.wait();
  }
  // Chosen in the very moment in which leadership was lost: then it has begun all the same, and nobody will go on with it.
  return false;
}
