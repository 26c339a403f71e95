/**
 * Asks PostgreSQL which transactions those sessions have open whose answers are late: if the leader dies, it can never be asked again.
 *
 * Responsible for: when to ask. One query for all of one generation, and no two at the same time; a session that is late for long is asked for less and less often.
 * Costs nothing on the way of a message: it looks at the sessions some times a second.
 */
import type { ClientService } from '../../../ports/client-service.ts';
import type { Session } from './session.ts';

export type WatchedSession = Pick<Session, 'tracker' | 'pid' | 'lacksTransaction' | 'learn' | 'tellDoubt'>;

interface Watched {
  readonly session: WatchedSession;
  /** In which it began: sessions of an earlier one may still be there, waiting for their last words. */
  readonly generation: number;
  /** The request that was outstanding at the last look, and how many looks ago it was first seen. */
  request: number;
  looks: number;
  askAtLook: number;
}

const askEveryLooksMax = 20;

export class LateWatch {
  private readonly service: Pick<ClientService, 'openTransactions'>;
  private readonly lateMs: number;
  private readonly watched = new Set<Watched>();
  private timer: NodeJS.Timeout | null = null;
  private asking = false;

  constructor(service: Pick<ClientService, 'openTransactions'>, lateMs: number) {
    this.service = service;
    this.lateMs = lateMs;
  }

  /** Returns the way to stop. */
  watch(session: WatchedSession, generation: number): () => void {
    const watched: Watched = { session, generation, request: 0, looks: 0, askAtLook: 1 };
    this.watched.add(watched);
    this.timer ??= setInterval(() => void this.look(), this.lateMs);
    return () => {
      this.watched.delete(watched);
      if (this.watched.size > 0 || this.timer === null) return;
      clearInterval(this.timer);
      this.timer = null;
    };
  }

  private async look(): Promise<void> {
    const late = [...this.watched].filter(isLate);
    for (const { session } of late) session.tellDoubt();
    if (this.asking) return;
    const due = late.filter((one) => one.looks >= one.askAtLook && one.session.lacksTransaction);
    this.asking = true;
    for (const generation of new Set(due.map((one) => one.generation))) {
      await this.ask(
        due.filter((one) => one.generation === generation),
        generation,
      );
    }
    this.asking = false;
  }

  private async ask(due: readonly Watched[], generation: number): Promise<void> {
    for (const one of due) one.askAtLook = one.looks + Math.min(askEveryLooksMax, 2 + one.looks);
    const requests = due.map(({ session }) => session.tracker.request);
    const found = await this.service.openTransactions(
      due.map(({ session }) => session.pid),
      generation,
    );
    for (const [index, { session }] of due.entries()) {
      const transaction = found.get(session.pid);
      // Of another request it would be another transaction.
      const same = session.tracker.request === requests[index] && session.lacksTransaction;
      if (transaction !== undefined && same) session.learn({ kind: 'transaction', transaction });
    }
  }
}

/** Counts the looks for which the same request has been outstanding. */
function isLate(one: Watched): boolean {
  const { outstanding, request } = one.session.tracker;
  if (!outstanding) {
    one.request = 0;
    return false;
  }
  if (one.request === request) one.looks += 1;
  else {
    one.request = request;
    one.looks = 0;
    one.askAtLook = 1;
  }
  return one.looks > 0;
}
