/** Facts about transactions: their ids, and what is known of their outcome. */
import { expect, it } from 'vitest';
import type { ContractContext } from '../database-server-contract.ts';
import { never, until } from '../database-fixture.ts';

export function transactionFacts({ primary: open, group, fixture }: ContractContext): void {
  it('the outcome of a transaction is known of its id', async () => {
    const primary = await open();
    const { server } = primary.fixture;
    primary.chooseAlways();
    const session = await primary.connect();
    await session.put('a');
    const committed = await session.xid();
    expect(await server.statusOf(committed)).toBe('open');
    await session.commit();
    await session.put('b');
    const aborted = await session.xid();
    await session.rollback();
    await session.put('c');
    const prepared = await session.xid();
    await session.prepare('p');
    expect(await server.statusOf(committed)).toBe('committed');
    expect(await server.statusOf(aborted)).toBe('aborted');
    expect(await server.statusOf(prepared)).toBe('prepared');
    expect(await server.statusOf(prepared + 1000n)).toBe('unknown');
    expect(await session.values()).toEqual(['a']);
    await session.commitPrepared('p');
    expect(await server.statusOf(prepared)).toBe('committed');
    expect(await session.values()).toEqual(['a', 'c']);
  });

  it('a commit that waits to be chosen is open still', async () => {
    const primary = await open();
    const session = await primary.connect();
    await session.put('a');
    const xid = await session.xid();
    const commit = session.commit();
    await until(primary.fixture.timers, async () => (await primary.fixture.waiting()).includes(session.pid));
    await primary.untilReceived();
    expect(await primary.fixture.server.statusOf(xid)).toBe('open');
    expect(await primary.primary.openTransactions([session.pid])).toEqual(new Map([[session.pid, xid]]));
    primary.choose();
    await commit;
    expect(await primary.fixture.server.statusOf(xid)).toBe('committed');
  });

  it('a commit that waits to be chosen is not cancelled', async () => {
    const primary = await open();
    const session = await primary.connect();
    await session.put('a');
    const commit = session.commit();
    await until(primary.fixture.timers, async () => (await primary.fixture.waiting()).includes(session.pid));
    await primary.untilReceived();
    expect(await primary.primary.cancel(session.pid)).toBe('committing');
    expect(await primary.fixture.waiting()).toContain(session.pid);
    primary.choose();
    await commit;
    expect(await primary.primary.cancel(session.pid)).toBe('done');
    expect(await primary.primary.cancel(999_999)).toBe('done');
  });

  it('the transactions that sessions have open are told by their process ids', async () => {
    const primary = await open();
    primary.chooseAlways();
    const [writer, idle, done] = [await primary.connect(), await primary.connect(), await primary.connect()];
    await writer.put('a');
    await idle.values();
    await done.put('b');
    await done.commit();
    const pids = [writer.pid, idle.pid, done.pid, 999_999];
    expect(await primary.primary.openTransactions(pids)).toEqual(new Map([[writer.pid, await writer.xid()]]));
    expect(await primary.primary.openTransactions([idle.pid])).toEqual(new Map());
  });

  it('ids have 64 bits', async ({ skip }) => {
    const one = await fixture();
    const { raiseXid } = one;
    if (raiseXid === null) {
      skip('the epoch of ids cannot be raised here');
      return;
    }
    await one.directory.create(never);
    await raiseXid(2n ** 33n + 5000n);
    const primary = await one.server.startPrimary(never);
    await one.makeTable();
    const session = await one.connect();
    await session.distrust();
    await session.put('a');
    const xid = await session.xid();
    expect(xid).toBeGreaterThan(2n ** 33n);
    expect(await primary.openTransactions([session.pid])).toEqual(new Map([[session.pid, xid]]));
    expect(await primary.nextXid()).toBeGreaterThan(2n ** 33n);
    await session.commit();
    expect(await one.server.statusOf(xid)).toBe('committed');
  });

  it('the next id is above all that were given out before one that has ended, of what is open and of what is prepared, too', async () => {
    const { primary, standbys } = await group(1);
    const [standby] = standbys as [(typeof standbys)[0]];
    primary.chooseAlways();
    const [open, two] = [await primary.connect(), await primary.connect()];
    await open.put('open');
    await two.put('prepared');
    const given = [await open.xid(), await two.xid()];
    await two.prepare('p');
    await primary.passBarrier();
    for (const xid of given) expect(await primary.primary.nextXid()).toBeGreaterThan(xid);
    await standby.untilReplayed(primary.log.position.end);
    const { nextXid } = await standby.look();
    for (const xid of given) expect(nextXid).toBeGreaterThan(xid);
  });

  it('the next id is above what is prepared when nothing has ended since', async () => {
    const { primary, standbys } = await group(1);
    const [standby] = standbys as [(typeof standbys)[0]];
    primary.chooseAlways();
    const session = await primary.connect();
    await session.put('prepared');
    const xid = await session.xid();
    await session.prepare('p');
    expect(await primary.primary.nextXid()).toBe(xid + 1n);
    await standby.untilReplayed(primary.log.position.end);
    expect((await standby.look()).nextXid).toBe(xid + 1n);
  });

  it('a commit that waits runs in a snapshot of the primary, while a standby that has replayed it shows it', async () => {
    const { primary, standbys } = await group(1);
    const [standby] = standbys as [(typeof standbys)[0]];
    const [waiter, other, prepared, last] = await Promise.all([1, 2, 3, 4].map(() => primary.connect()));
    const { server } = primary.fixture;
    await waiter!.put('waits');
    await other!.put('runs');
    await prepared!.put('prepared');
    const [waiting, running, twoPhase] = await Promise.all(
      [waiter, other, prepared].map((session) => session!.xid()),
    );
    const xids = [waiting!, running!, twoPhase!];
    // A snapshot ends behind the highest id that has ended.
    await last!.distrust();
    await last!.put('ends');
    await last!.commit();
    const prepare = prepared!.prepare('p');
    const commit = waiter!.commit();
    await until(primary.fixture.timers, async () => (await primary.fixture.waiting()).length === 2);
    await primary.untilReceived();
    primary.chooseSilently();
    await standby.untilReplayed(primary.log.position.end);
    await standby.look();
    const seen = await server.snapshot(never);
    expect(xids.map((xid) => seen.running.has(xid))).toEqual([true, true, true]);
    expect(seen.end).toBeGreaterThan(Math.max(...xids.map(Number)));
    expect(await server.shownAmong(xids, never)).toEqual([]);
    const { end } = await standby.fixture.server.snapshot(never);
    expect(end).toBeGreaterThan(Math.max(...xids.map(Number)));
    expect(await standby.fixture.server.shownAmong(xids, never)).toEqual([waiting]);
    primary.chooseAlways();
    await Promise.all([commit, prepare]);
    expect((await server.snapshot(never)).running.has(waiting!)).toBe(false);
    expect((await server.snapshot(never)).end).toBeGreaterThanOrEqual(end);
    await prepared!.commitPrepared('p');
    expect(await server.shownAmong([waiting!, running!, twoPhase!], never)).toEqual([waiting, twoPhase]);
  });

  it('a standby knows the outcomes that it has replayed', async () => {
    const { primary, standbys } = await group(1);
    const [standby] = standbys as [(typeof standbys)[0]];
    primary.chooseAlways();
    const session = await primary.connect();
    const xids: bigint[] = [];
    for (const end of ['commit', 'rollback'] as const) {
      await session.put(end);
      xids.push(await session.xid());
      await session[end]();
    }
    await session.put('prepared');
    xids.push(await session.xid());
    await session.prepare('p');
    const other = await primary.connect();
    await other.put('open');
    xids.push(await other.xid());
    await primary.passBarrier();
    await standby.untilReplayed(primary.log.position.end);
    await standby.look();
    const { server } = standby.fixture;
    const statuses = await Promise.all(xids.map((xid) => server.statusOf(xid)));
    // What is prepared shows as such when it is promoted.
    expect(statuses).toEqual(['committed', 'aborted', 'open', 'open']);
    expect(await server.statusOf(xids.at(-1)! + 1000n)).toBe('unknown');
    // PostgreSQL's own role and database have the same object ids everywhere.
    expect(await server.committedRequest({ database: 'postgres', owner: '10:5', name: 'n' })).toBeNull();
    const place = { database: 'postgres', role: 'postgres', owner: null };
    expect(await server.mayActElsewhere(place)).toBe(false);
    const found = await server.lookAtFunctions('postgres', null);
    expect(found).toMatchObject({ functions: [], unnamedTells: false });
  });
}
