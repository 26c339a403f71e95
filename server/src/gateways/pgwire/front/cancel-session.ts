/**
 * Cancels what a session of this leader's PostgreSQL executes, and never its commit: PostgreSQL would end the wait of a commit that is not chosen, and extensions would act on it.
 *
 * A request that is nothing but a COMMIT, PREPARE TRANSACTION or COMMIT PREPARED is not cancelled. Of any other one the gateway cannot know whether it commits by now: PostgreSQL is asked, and cancels in the same query.
 */
import type { ClientService } from '../../../ports/client-service.ts';
import type { Session } from '../session/session.ts';

const againMs = 20;
/** Whoever cancels waits for it. */
const waitMs = 1_000;

/** Never rejects. */
export async function cancelSession(
  { tracker, pid }: Pick<Session, 'tracker' | 'pid'>,
  service: Pick<ClientService, 'cancel'>,
  generation: number,
): Promise<void> {
  const { request } = tracker;
  const deadline = performance.now() + waitMs;
  while (tracker.outstanding && tracker.request === request && !tracker.onlyCommits) {
    if ((await service.cancel(pid, generation)) === 'done' || performance.now() > deadline) return;
    // A statement that only had to flush WAL goes on.
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}
