/** Facts about a primary's gate: which commits wait, what ends their wait, and what is told of it. */
import { expect, it } from 'vitest';
import { WalWalker } from '../../../wal/record/wal-walker.ts';
import { beginWalkAt } from '../../../wal/record/walk-position.ts';
import { walPageBytes, type Lsn } from '../../../wal/lsn.ts';
import type { ContractContext } from '../database-server-contract.ts';
import { never, pass, type TestSession, until } from '../database-fixture.ts';
import type { TestPrimary } from '../test-primary.ts';

export function gateFacts({ primary: open }: ContractContext): void {
  it('a report releases exactly the commits below it', async () => {
    const primary = await open();
    const [one, other, reader] = await connectThree(primary);
    await one.put('a');
    await other.put('b');
    const first = await waitingCommit(primary, one);
    primary.chooseSilently();
    const below = primary.log.position.end;
    const second = await waitingCommit(primary, other);
    expect(await reader.values()).toEqual([]);
    primary.stream.report(below);
    await first.ended;
    expect(await reader.values()).toEqual(['a']);
    await pass(primary.fixture.timers, 100);
    expect([first.state, second.state]).toEqual(['done', 'waiting']);
    primary.choose();
    await second.ended;
    expect(await reader.values()).toEqual(['a', 'b']);
  });

  it('commits wait while nobody receives, and what was reported before counts', async () => {
    const primary = await open();
    const [one, other, reader] = await connectThree(primary);
    await one.put('a');
    const first = await waitingCommit(primary, one);
    primary.stream.close();
    await other.put('b');
    const second = startCommit(other);
    await pass(primary.fixture.timers, 200);
    expect([first.state, second.state, await reader.values()]).toEqual(['waiting', 'waiting', []]);
    primary.forget();
    await primary.open();
    await primary.untilReceived();
    primary.chooseAlways();
    await Promise.all([first.ended, second.ended]);
    expect(await reader.values()).toEqual(['a', 'b']);
  });

  it('a barrier waits like any commit, and its position, above all that was written before it, is received', async () => {
    const primary = await open();
    const { fixture } = primary;
    const [one] = await connectThree(primary);
    await one.put('a');
    await waitingCommit(primary, one);
    const written = primary.receivedTo;
    const position = await primary.primary.barrier();
    expect(position).toBeGreaterThan(written);
    await until(fixture.timers, () => primary.receivedTo >= position);
    await until(fixture.timers, async () => (await fixture.waiting()).length === 2);
    primary.chooseAlways();
    await until(fixture.timers, async () => (await fixture.waiting()).length === 0);
  });

  it.each(['cancel', 'terminate'] as const)(
    'after a barrier whose wait somebody has ended there are others, whose positions are above: %s',
    async (how) => {
      const primary = await open();
      const { fixture } = primary;
      const positions: Lsn[] = [];
      for (let n = 0; n < 3; n++) {
        positions.push(await primary.primary.barrier());
        await until(fixture.timers, async () => (await fixture.waiting()).length === 1);
        const before = fixture.server.endedWaits();
        for (const pid of await fixture.waiting()) await fixture[how](pid);
        await until(fixture.timers, async () => (await fixture.waiting()).length === 0);
        expect(fixture.server.endedWaits()).toBeGreaterThan(before);
      }
      expect(positions).toEqual([...new Set(positions)].toSorted((a, b) => a - b));
      await until(fixture.timers, () => primary.receivedTo >= positions.at(-1)!);
      expect(primary.log.position.end).toBeLessThan(positions[0]!);
    },
  );

  it('barriers can be begun while others wait', async () => {
    const primary = await open();
    const { fixture } = primary;
    const positions = [await primary.primary.barrier(), await primary.primary.barrier()];
    await until(fixture.timers, async () => (await fixture.waiting()).length === 2);
    expect(positions[1]).toBeGreaterThan(positions[0]!);
    primary.chooseAlways();
    await until(fixture.timers, async () => (await fixture.waiting()).length === 0);
    expect(await primary.primary.barrier()).toBeGreaterThan(positions[1]!);
  });

  it.each(['cancel', 'terminate'] as const)(
    'a wait that is ended early is counted before others see it: %s',
    async (how) => {
      const primary = await open();
      const { server } = primary.fixture;
      const [one, other, reader] = await connectThree(primary);
      await one.put('a');
      const first = await waitingCommit(primary, one);
      const before = server.endedWaits();
      await primary.fixture[how](one.pid);
      let seen: readonly string[] = [];
      while (seen.length === 0) seen = await reader.values();
      // In the same turn as the answer that shows it.
      expect(server.endedWaits()).toBeGreaterThan(before);
      await first.ended;
      expect(first.state).toBe(how === 'cancel' ? 'done' : 'failed');
      // All others go on waiting.
      await other.put('b');
      const second = await waitingCommit(primary, other);
      await pass(primary.fixture.timers, 50);
      expect([second.state, await reader.values()]).toEqual(['waiting', ['a']]);
    },
  );

  it('tells how many sessions wait for their commits: others are none of them', async () => {
    const primary = await open();
    const [one, other] = await connectThree(primary);
    const asked = new AbortController();
    const committing = (): Promise<number> => primary.primary.committing(asked.signal);
    await other.put('b');
    expect(await committing()).toBe(0);
    await one.put('a');
    const first = await waitingCommit(primary, one);
    expect(await committing()).toBe(1);
    const barrier = await primary.primary.barrier();
    await until(primary.fixture.timers, async () => (await committing()) === 2);
    primary.chooseAlways();
    await until(primary.fixture.timers, () => primary.receivedTo >= barrier);
    await first.ended;
    await until(primary.fixture.timers, async () => (await committing()) === 0);
    asked.abort(new Error('nobody waits any more'));
    await expect(committing()).rejects.toThrow('nobody waits');
  });

  it('an orderly shutdown is counted, for it ends all waits', async () => {
    const primary = await open();
    const { server } = primary.fixture;
    const [one] = await connectThree(primary);
    await one.put('a');
    const first = await waitingCommit(primary, one);
    const before = server.endedWaits();
    primary.chooseAlways();
    await server.stop('fast');
    await first.ended;
    expect(server.endedWaits()).toBeGreaterThan(before);
    expect(server.isAlive()).toBe(false);
  });

  it('an orderly shutdown sends all that is left, and waits until it is reported', async () => {
    const primary = await open();
    const [one] = await connectThree(primary);
    primary.chooseAlways();
    await one.put('a');
    await one.commit();
    await primary.fixture.server.stop('fast');
    const { timeline, end } = primary.log.position;
    expect(await primary.fixture.directory.endOfWal(timeline, end)).toBe(end);
  });

  it('a session that turns its wait off is seen at once, and nothing is counted', async () => {
    const primary = await open();
    const [one, , reader] = await connectThree(primary);
    const before = primary.fixture.server.endedWaits();
    await one.distrust();
    await one.put('a');
    await one.commit();
    expect(await reader.values()).toEqual(['a']);
    expect(primary.fixture.server.endedWaits()).toBe(before);
  });

  it('when the main process is killed, that is known before anybody else can have noticed', async () => {
    const primary = await open();
    const { fixture } = primary;
    const told: string[] = [];
    fixture.server.onExit((reason) => told.push(reason));
    expect(fixture.server.isAlive()).toBe(true);
    fixture.killMain();
    // The signal takes its time on a busy machine.
    const deadlineMs = Date.now() + 5_000;
    while (fixture.server.isAlive() && Date.now() < deadlineMs);
    expect(fixture.server.isAlive()).toBe(false);
    expect(told).toEqual([]);
    await until(fixture.timers, () => told.length > 0);
    expect(told).toHaveLength(1);
    await until(fixture.timers, () => primary.ended.length > 0);
  });

  it('what a restart recovers is visible at once, chosen or not, and the gate is shut again', async () => {
    const primary = await open();
    const { fixture, log } = primary;
    const [one] = await connectThree(primary);
    await one.put('a');
    await waitingCommit(primary, one);
    fixture.killMain();
    await fixture.server.stop('immediate');
    const { timeline, system } = await fixture.server.startPrimary(never);
    expect([timeline, system]).toEqual([log.position.timeline, primary.primary.system]);
    const reader = await fixture.connect();
    expect(await reader.values()).toEqual(['a']);
    await reader.put('b');
    const commit = startCommit(reader);
    await pass(fixture.timers, 100);
    expect(commit.state).toBe('waiting');
  });

  it('what is received goes on without a gap, from any position, in pieces that end with a record or a page', async () => {
    const primary = await open();
    const from = primary.log.position.end;
    const pieces: { start: Lsn; length: number }[] = [];
    const bytes: Buffer[] = [];
    primary.stream.close();
    const stream = await primary.openStream(from, {
      onWal: (start, parts) => {
        let at = start as number;
        for (const part of parts) {
          pieces.push({ start: at as Lsn, length: part.length });
          bytes.push(Buffer.from(part));
          at += part.length;
        }
      },
      onHeard: () => undefined,
      onEnd: () => undefined,
    });
    const session = await primary.connect();
    await session.distrust();
    for (let n = 0; n < 20; n++) {
      await session.put('x'.repeat(n * 1500));
      await session.commit();
    }
    const flushed = await primary.primary.flushed();
    await until(
      primary.fixture.timers,
      () => (pieces.at(-1)?.start ?? 0) + (pieces.at(-1)?.length ?? 0) >= flushed,
    );
    expect(pieces[0]!.start).toBe(from);
    for (const [index, piece] of pieces.slice(1).entries()) {
      expect(piece.start).toBe(pieces[index]!.start + pieces[index]!.length);
    }
    const walker = new WalWalker(beginWalkAt(from));
    for (const piece of bytes) {
      expect(walker.add(piece)).toBeNull();
      expect(walker.next % walPageBytes === 0 || walker.lastRecordEnd! >= walker.next).toBe(true);
    }
    stream.close();
    // PostgreSQL begins to stream, and finds out then that there is nothing yet: whichever is seen first.
    let refusal = '';
    const onEnd = (reason: string): void => void (refusal = reason);
    await primary
      .openStream((flushed + 1024 * 1024) as Lsn, { onWal() {}, onHeard() {}, onEnd })
      .catch((error: Error) => onEnd(error.message));
    await until(primary.fixture.timers, () => refusal !== '');
    expect(refusal).toMatch(/ahead of the WAL flush position/);
  });

  it('is heard when it is asked for a sign of life; stopped by a signal, it is seen to stand still', async () => {
    const primary = await open();
    const { fixture } = primary;
    const before = primary.heard;
    primary.stream.ping();
    await until(fixture.timers, () => primary.heard > before);
    expect(fixture.server.isMoving()).toBe(true);
    fixture.stand();
    await until(fixture.timers, () => !fixture.server.isMoving());
    expect(fixture.server.isAlive()).toBe(true);
    fixture.goOn();
    await until(fixture.timers, () => fixture.server.isMoving());
    fixture.stand();
    await fixture.server.stop('kill');
    expect([fixture.server.isAlive(), fixture.server.isMoving()]).toEqual([false, false]);
  });
}

async function connectThree(primary: TestPrimary): Promise<[TestSession, TestSession, TestSession]> {
  return [await primary.connect(), await primary.connect(), await primary.connect()];
}

interface Watched {
  state: 'waiting' | 'done' | 'failed';
  readonly ended: Promise<void>;
}

function watch(work: Promise<unknown>): Watched {
  const settled = (state: Watched['state']) => (): void => {
    watched.state = state;
  };
  const watched: Watched = { state: 'waiting', ended: work.then(settled('done'), settled('failed')) };
  return watched;
}

function startCommit(session: TestSession): Watched {
  return watch(session.commit());
}

/** The commit is flushed, and waits for the report. */
async function waitingCommit(primary: TestPrimary, session: TestSession): Promise<Watched> {
  const commit = startCommit(session);
  // What is received before may be of its transaction, and not its end.
  await until(primary.fixture.timers, async () => (await primary.fixture.waiting()).includes(session.pid));
  await primary.untilReceived();
  return commit;
}
