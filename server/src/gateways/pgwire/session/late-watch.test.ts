import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FrameSplitter } from '../codec/frame-splitter.ts';
import { query } from '../codec/frontend-messages.ts';
import type { Doubt } from '../codec/doubt-frame.ts';
import { createMemoryClientService, type MemoryClientService } from '../testing/memory-client-service.ts';
import { LateWatch, type WatchedSession } from './late-watch.ts';
import { RequestTracker } from './request-tracker.ts';

const lateMs = 100;

/** A session whose one request is not answered. */
class WaitingSession implements WatchedSession {
  readonly tracker = new RequestTracker();
  readonly learnt: Doubt[] = [];
  readonly pid: number;

  constructor(pid: number) {
    this.pid = pid;
    const chunk = query('INSERT INTO t VALUES (1)');
    const splitter = new FrameSplitter(1_000);
    splitter.feed(chunk);
    while (splitter.next()) this.tracker.sent(splitter, chunk);
  }

  get lacksTransaction(): boolean {
    return this.learnt.length === 0;
  }

  learn(doubt: Doubt): void {
    this.learnt.push(doubt);
  }

  tellDoubt(): void {}
}

describe('late answers', () => {
  let service: MemoryClientService;
  beforeEach(() => {
    vi.useFakeTimers();
    service = createMemoryClientService(null);
    service.transactionsOf = (pids) => Promise.resolve(new Map(pids.map((pid) => [pid, BigInt(pid * 10)])));
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('are asked for in the generation of their own session, though one of an earlier generation lingers', async () => {
    const watch = new LateWatch(service, lateMs);
    const [old, fresh] = [new WaitingSession(1), new WaitingSession(2)];
    const stopOld = watch.watch(old, 1);
    service.setService({ kind: 'here', generation: 3 });
    const stopFresh = watch.watch(fresh, 3);
    await vi.advanceTimersByTimeAsync(10 * lateMs);
    expect(old.learnt).toEqual([]);
    expect(fresh.learnt).toMatchObject([{ kind: 'transaction', transaction: { xid: 20n } }]);
    stopOld();
    stopFresh();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('of all sessions of a generation are asked for at once', async () => {
    const watch = new LateWatch(service, lateMs);
    const sessions = [1, 2, 3].map((pid) => new WaitingSession(pid));
    for (const session of sessions) watch.watch(session, 1);
    await vi.advanceTimersByTimeAsync(10 * lateMs);
    expect(sessions.map(({ learnt }) => learnt.length)).toEqual([1, 1, 1]);
    expect(service.calls.openTransactions).toBe(1);
  });
});
