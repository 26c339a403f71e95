/**
 * Cancels what a session of this leader's PostgreSQL executes, and never its commit: PostgreSQL would end the wait of a commit that is not chosen, and extensions would act on it.
 *
 * A request that is nothing but a COMMIT, PREPARE TRANSACTION or COMMIT PREPARED is not cancelled. Of any other one the gateway cannot know whether it commits by now: PostgreSQL is asked, and cancels in the same query.
 */
import type { ClientService } from '../../../ports/client-service.ts';
import type { Session } from '../session/session.ts';

/** Between two tries: at first, and twice the time after each. */
const againMs = { min: 20, max: 200 };
/** Whoever cancels waits for it. */
const waitMs = 1_000;

type Cancelled = Pick<Session, 'tracker' | 'pid'>;

const underWay = new WeakMap<Cancelled, Promise<void>>();

/** Never rejects. Of one session there is one at a time: who asks meanwhile waits for the end of that one. */
export function cancelSession(
  session: Cancelled,
  service: Pick<ClientService, 'cancel'>,
  generation: number,
): Promise<void> {
  const present = underWay.get(session);
  if (present !== undefined) return present;
  const begun = tryFor(session, service, generation).finally(() => underWay.delete(session));
  underWay.set(session, begun);
  return begun;
}

async function tryFor(
  { tracker, pid }: Cancelled,
  service: Pick<ClientService, 'cancel'>,
  generation: number,
): Promise<void> {
  let pauseMs = againMs.min;
  const { request } = tracker;
  const deadline = performance.now() + waitMs;
  while (tracker.outstanding && tracker.request === request && !tracker.onlyCommits) {
    if ((await service.cancel(pid, generation)) === 'done' || performance.now() > deadline) return;
    // A statement that only had to flush WAL goes on.
    const pause = pauseMs;
    await new Promise((resolve) => setTimeout(resolve, pause));
    pauseMs = Math.min(2 * pauseMs, againMs.max);
  }
}
