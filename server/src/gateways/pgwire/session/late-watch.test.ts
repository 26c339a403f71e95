import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import { query } from '../../../pgwire/frontend-messages.ts';
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
    this.ask();
  }

  ask(): void {
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

  it('are not told by the transaction of an earlier request, which has been answered meanwhile', async () => {
    const watch = new LateWatch(service, lateMs);
    const session = new WaitingSession(1);
    watch.watch(session, 1);
    let find = (_found: ReadonlyMap<number, bigint>): void => {};
    service.transactionsOf = () =>
      new Promise((resolve) => {
        find = resolve;
      });
    await vi.advanceTimersByTimeAsync(2 * lateMs);
    expect(service.calls.openTransactions).toBe(1);
    session.tracker.told(1, 'I');
    session.ask();
    find(new Map([[1, 10n]]));
    await vi.advanceTimersByTimeAsync(0);
    expect(service.told).toHaveLength(1);
    expect(session.learnt).toEqual([]);
  });
});
