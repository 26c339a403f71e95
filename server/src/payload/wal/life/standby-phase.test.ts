import { expect, it } from 'vitest';
import { entryLabel } from '../../../multipaxos/entry.ts';
import type { Slot } from '../../../multipaxos/types/names.ts';
import type { StandbyReport } from '../../../ports/database-server.ts';
import { segmentBytes, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import { encodeRecord } from '../../../wal/record/testing/encode-record.ts';
import { recordOf } from '../testing/model-records.ts';
import { ballot, leadership, lsn, range, start } from '../testing/entries.ts';
import { beStandby } from './standby-phase.ts';
import { LifeFixture, positionAfter, stateOf, timings } from './testing/life-fixture.ts';

const [b1, b2] = [ballot(1, 'r1'), ballot(2, 'r2')];

function reportOf(flushed: number, replayed: number): StandbyReport {
  return { written: lsn(flushed), flushed: lsn(flushed), replayed: lsn(replayed) };
}

it('what a standby has flushed beyond the end of its timeline is not taken for WAL of the next one', async () => {
  const begun = [start(b1), leadership(b1, 1, 100), range(b1, 1, 100, 100)];
  const life = new LifeFixture(begun);
  void beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun)));
  await life.time.pass(10);
  // Its last record is whole up to 240 only.
  life.choose(range(b1, 1, 200, 50));
  life.handlers!.onReport(reportOf(250, 240));
  life.choose(start(b2), leadership(b2, 2, 240), range(b2, 2, 240, 5));
  await life.time.pass(2 * timings.saveMs);
  expect(life.payload.durableState()).toMatchObject({ position: { slot: 6, end: 240 } });
  life.handlers!.onReport(reportOf(245, 245));
  await life.time.pass(2 * timings.saveMs);
  expect(life.payload.durableState()).toMatchObject({ position: { slot: 7, end: 245 } });
  await life.time.until(life.payload.stop());
});

it('part of a record that is left behind while its end is looked for does not end a standby', async () => {
  const begun = [start(b1), leadership(b1, 1, 100), range(b1, 1, 100, 100)];
  const life = new LifeFixture(begun);
  let isRead = (): void => undefined;
  let isAsked = false;
  life.directory.readWal = () =>
    new Promise((resolve) => {
      isAsked = true;
      isRead = () => resolve(Buffer.alloc(200));
    });
  let end: unknown = null;
  const note = (what: unknown): void => void (end = what);
  beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun))).then(note, note);
  await life.time.pass(10);
  life.choose(range(b1, 1, 200, 50));
  life.handlers!.onReport(reportOf(250, 240));
  await life.time.pass(timings.askMs * 3);
  expect(isAsked).toBe(true);
  life.choose(start(b2), leadership(b2, 2, 240));
  isRead();
  await life.time.pass(timings.askMs);
  expect(end).toBeNull();
  await life.time.until(life.payload.stop());
});

it('a standby that ends while its position is being written is not kept waiting', async () => {
  const begun = [start(b1), leadership(b1, 1, 100)];
  const life = new LifeFixture(begun);
  const phase = beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun)));
  await life.time.pass(10);
  let isWritten = (): void => undefined;
  life.directory.write = () =>
    new Promise((resolve) => {
      isWritten = resolve;
    });
  life.choose(range(b1, 1, 100, 100));
  life.handlers!.onReport(reportOf(200, 200));
  await life.time.pass(2 * timings.saveMs);
  life.payload.suspect('it has died');
  isWritten();
  expect(await life.time.until(phase, timings.saveMs / 10)).toEqual({ kind: 'inspect' });
});

it('how far a directory is counts once it says so, and not while that is being written', async () => {
  const begun = [start(b1), leadership(b1, 1, 100)];
  const life = new LifeFixture(begun);
  void beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun)));
  await life.time.pass(10);
  let isWritten = (): void => undefined;
  life.directory.write = () => new Promise((resolve) => (isWritten = resolve));
  life.choose(range(b1, 1, 100, 100));
  life.handlers!.onReport(reportOf(200, 200));
  await life.time.pass(2 * timings.saveMs);
  expect(life.context.durablePointer).toBe(2);
  isWritten();
  await life.time.pass(10);
  expect(life.context.durablePointer).toBe(3);
  await life.time.until(life.payload.stop());
});

it('a standby that leads a second time has all of its time again to replay what is chosen', async () => {
  const begun = [start(b1), leadership(b1, 1, 100)];
  const life = new LifeFixture(begun);
  void beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun)));
  await life.time.pass(10);
  life.handlers!.onReport(reportOf(100, 100));
  life.isAwaited = true;
  await life.time.pass(2 * timings.saveMs);
  life.isAwaited = false;
  await life.time.pass(2 * timings.patienceMs);
  life.choose(range(b1, 1, 100, 100));
  await life.time.pass(2 * timings.saveMs);
  life.isAwaited = true;
  await life.time.pass(timings.patienceMs / 2);
  expect(life.story).not.toContain('step down');
  await life.time.pass(timings.patienceMs);
  expect(life.story).toContain('step down');
  await life.time.until(life.payload.stop());
});

it('readers are let in while it is a standby and nothing else', async () => {
  const begun = [start(b1), leadership(b1, 1, 100)];
  const life = new LifeFixture(begun);
  void beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun)));
  await life.time.pass(10);
  expect(life.readers.isLetIn).toBe(false);
  life.handlers!.onReport(reportOf(100, 100));
  await life.time.pass(timings.askMs);
  expect(life.readers.isLetIn).toBe(true);
  life.isAwaited = true;
  await life.time.pass(2 * timings.saveMs);
  expect(life.readers.isLetIn).toBe(false);
  life.isAwaited = false;
  await life.time.pass(2 * timings.saveMs);
  expect(life.readers.isLetIn).toBe(true);
  life.payload.suspect('it has died');
  await life.time.pass(10);
  expect(life.readers.isLetIn).toBe(false);
  await life.time.until(life.payload.stop());
});

it('nobody reads at a standby that is looked at to be promoted, though it came to lead while something was written', async () => {
  const begun = [start(b1), leadership(b1, 1, 100)];
  const life = new LifeFixture(begun);
  void beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun)));
  await life.time.pass(10);
  let isWritten = (): void => undefined;
  life.directory.write = () => new Promise((resolve) => (isWritten = resolve));
  life.choose(range(b1, 1, 100, 100));
  life.handlers!.onReport(reportOf(200, 200));
  await life.time.pass(2 * timings.saveMs);
  expect(life.readers.isLetIn).toBe(true);
  const whileRead: boolean[] = [];
  life.directory.readWal = () => {
    whileRead.push(life.readers.isLetIn);
    return new Promise(() => undefined);
  };
  life.payload.lead(b2);
  isWritten();
  await life.time.pass(100);
  expect(whileRead).toEqual([false]);
  await life.time.until(life.payload.stop());
});

it('a standby that ends in the moment in which its leadership begins gives that up before it is told that it began', async () => {
  const from = segmentBytes as Lsn;
  const first = { at: from, previous: lsn(0), timeline: 1 as Timeline, system: 7n };
  const facts = { redo: from, nextXid: 700n, running: [] };
  const { end, bytes } = encodeRecord(first, recordOf({ kind: 'checkpoint', facts, isShutdown: true }));
  const begun = [start(b2), leadership(b2, 1, end)];
  const life = new LifeFixture(begun);
  life.directory.readWal = (at) => Promise.resolve(Buffer.from(bytes).subarray(at - from));
  const phase = beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun)));
  await life.time.pass(10);
  const b3 = ballot(3, 'r1');
  life.look = () => Promise.resolve({ replayed: end, nextXid: 1000n });
  const began = leadership(b3, 2, end);
  life.propose = () => {
    queueMicrotask(() => {
      life.choose(start(b3), began);
      life.payload.suspect('it has died');
    });
    return { code: 'proposed', label: entryLabel(began) };
  };
  life.payload.lead(b3);
  life.handlers!.onReport(reportOf(end, end));
  expect(await life.time.until(phase)).toEqual({ kind: 'inspect' });
  expect(life.story.slice(1, 3)).toEqual(['step down', 'began: standby']);
});

it('what a reader waits for is fed at once, and asked for until it is replayed', async () => {
  const begun = [start(b1), leadership(b1, 1, 100)];
  const life = new LifeFixture(begun);
  void beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun)));
  await life.time.pass(10);
  life.handlers!.onReport(reportOf(100, 100));
  await life.time.pass(2 * timings.saveMs);
  life.readers.wanted = 4 as Slot;
  life.asks = 0;
  life.choose(range(b1, 1, 100, 100));
  expect(life.asks).toBe(0);
  life.choose(range(b1, 1, 200, 100));
  expect(life.asks).toBe(1);
  await life.time.pass(50);
  expect(life.asks).toBeGreaterThan(4);
  expect(life.readers.reachedSlot).toBe(2);
  life.handlers!.onReport(reportOf(300, 300));
  expect(life.readers.reachedSlot).toBe(4);
  await life.time.until(life.payload.stop());
});

it.each([
  ['this replica is to lead', true, 30_000, 4 * timings.saveMs],
  ['PostgreSQL should have ended it long ago', false, 5_000, 16 * timings.saveMs + 5_000],
])(
  'a standby whose replay a session holds up is started again: %s',
  async (_, isAwaited, allowedMs, waitMs) => {
    const begun = [start(b1), leadership(b1, 1, 100)];
    const life = new LifeFixture(begun);
    let end = '';
    beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun))).catch(
      (error: unknown) => (end = String(error)),
    );
    await life.time.pass(10);
    life.handlers!.onReport(reportOf(100, 100));
    life.choose(range(b1, 1, 100, 100));
    life.answer = () => Promise.resolve({ isPaused: false, resumed: false, heldUp: { allowedMs } });
    await life.time.pass(2 * timings.saveMs);
    life.isAwaited = isAwaited;
    await life.time.pass(10);
    expect(end).toBe('');
    await life.time.pass(waitMs);
    expect(end).toContain('keeps the replay from going on');
    expect(life.story).toContain('stop: kill');
    await life.time.until(life.payload.stop());
  },
);

it('one whose readers may hold it up for as long as they like is not, while another leads', async () => {
  const begun = [start(b1), leadership(b1, 1, 100)];
  const life = new LifeFixture(begun);
  void beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun)));
  await life.time.pass(10);
  life.handlers!.onReport(reportOf(100, 100));
  life.choose(range(b1, 1, 100, 100));
  life.answer = () => Promise.resolve({ isPaused: false, resumed: false, heldUp: { allowedMs: null } });
  await life.time.pass(600_000);
  expect(life.story).not.toContain('stop: kill');
  await life.time.until(life.payload.stop());
});
