/** One small write after the other on every replica, to see for how long none succeeds. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SqlSession } from '../workload/sql-session.ts';

const limits = { connectMs: 1000, statementMs: 3000 };
const betweenMs = 20;

/** Milliseconds of `performance.now()`. */
interface Attempt {
  readonly begunMs: number;
  readonly endedMs: number;
  readonly isOk: boolean;
}

export interface Outage {
  /** From the moment asked for to the end of the first write that was begun after it and succeeded. */
  readonly sinceMs: number;
  /** From the end of the first write that failed since then; 0 if none did. */
  readonly sinceFirstFailureMs: number;
}

export class OutageProbe {
  private readonly attempts: Attempt[] = [];
  private readonly stopping = new AbortController();
  private readonly running: readonly Promise<void>[];

  static async start(ports: readonly number[]): Promise<OutageProbe> {
    const session = await SqlSession.open({ port: ports[0]!, connectMs: 10_000, statementMs: 20_000 });
    await session.statement('CREATE TABLE probe (at timestamptz)', [], 'writes');
    session.close();
    return new OutageProbe(ports);
  }

  private constructor(ports: readonly number[]) {
    this.running = ports.map((port) => this.work(port));
  }

  private async work(port: number): Promise<void> {
    let session: SqlSession | null = null;
    while (!this.stopping.signal.aborted) {
      const begunMs = performance.now();
      let isOk = false;
      try {
        if (session === null) session = await SqlSession.open({ port, ...limits });
        await session.statement('INSERT INTO probe VALUES (now())', [], 'writes');
        isOk = true;
      } catch {
        session?.destroy();
        session = null;
      }
      this.attempts.push({ begunMs, endedMs: performance.now(), isOk });
      await sleep(betweenMs);
    }
    session?.close();
  }

  /** Null: no write has succeeded since. */
  outageSince(momentMs: number): Outage | null {
    const since = this.attempts
      .filter(({ endedMs }) => endedMs > momentMs)
      .toSorted((a, b) => a.endedMs - b.endedMs);
    const first = since.find(({ isOk, begunMs }) => isOk && begunMs > momentMs);
    if (first === undefined) return null;
    const failure = since.find(({ isOk }) => !isOk);
    const failedMs = Math.min(failure?.endedMs ?? first.endedMs, first.endedMs);
    return { sinceMs: first.endedMs - momentMs, sinceFirstFailureMs: first.endedMs - failedMs };
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }
}
