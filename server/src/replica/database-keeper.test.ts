import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryDatabase } from '../apply/testing/memory-database.ts';
import type { ReplicaId, Slot } from '../multipaxos/types.ts';
import {
  DatabaseKeeper,
  type DatabaseListener,
  type DirectoryState,
  type Loss,
  type RunningDatabase,
} from './database-keeper.ts';
import { RecoveryTracker } from './recovery-progress.ts';
import type { TransferOutcome } from './state-transfer.ts';

const logger = pino({ level: 'silent' });

let state: DirectoryState;
let condemned: Loss | null;
/** What happened, in order. */
let story: string[];
let outcomes: TransferOutcome[];
let pointers: number[];
let failures: Error[];
let whole: boolean;
let mayBeginEmpty: boolean;
let purgedTo: number;
let launched: (running: RunningDatabase) => Promise<RunningDatabase>;
let exit: (reason: string) => void;
let keeper: DatabaseKeeper;

function createKeeper(): DatabaseKeeper {
  const tracker = new RecoveryTracker({ nowMs: () => 0, logger, onEvent: () => {} });
  return new DatabaseKeeper({
    launch: () => {
      story.push('launch');
      const failure = failures.shift();
      if (failure !== undefined) return Promise.reject(failure);
      const database = new MemoryDatabase();
      database.contents = { ...database.contents, pointer: (pointers.shift() ?? 0) as Slot };
      return launched({
        database,
        sessionSql: {} as RunningDatabase['sessionSql'],
        info: () => ({ pid: 1, socketDir: '', port: 1, version: null }),
        onExit: (listener) => {
          exit = listener;
        },
        probe: () => Promise.resolve(),
        restart: () => Promise.resolve(void story.push('restart')),
        stop: () => Promise.resolve(void story.push('stop')),
      });
    },
    directory: {
      inspect: () => Promise.resolve(state),
      receive: () => Promise.resolve(),
      install: () => Promise.resolve(),
      condemn: (loss) => {
        condemned = loss;
        return Promise.resolve();
      },
      condemned: () => Promise.resolve(condemned),
    },
    transfer: async (_reason, roundsMax, signal) => {
      const outcome = outcomes.shift() ?? 'stopped';
      story.push(`transfer(${roundsMax ?? 'for ever'}): ${outcome}`);
      if (outcome === 'installed') {
        state = { kind: 'usable' };
        condemned = null;
      }
      if (outcome === 'stopped') await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return outcome;
    },
    tracker,
    logger,
    retryMinMs: 1,
    retryMaxMs: 1,
    probeMs: 60_000,
    probeTimeoutMs: 1000,
  });
}

beforeEach(() => {
  state = { kind: 'usable' };
  condemned = null;
  story = [];
  outcomes = [];
  pointers = [];
  failures = [];
  whole = false;
  mayBeginEmpty = false;
  purgedTo = 0;
  launched = (running) => Promise.resolve(running);
  exit = () => {};
  keeper = createKeeper();
});
afterEach(() => keeper.stop());

const listener: DatabaseListener = {
  logIsWhole: () => whole,
  mayBeginEmpty: () => mayBeginEmpty,
  logReaches: (pointer) => pointer >= purgedTo,
  causeOfMissing: () => 'databaseLost',
  onUp: (_database, { pointer }, copied) => story.push(`up at ${pointer}${copied ? ', copied' : ''}`),
  onDown: () => story.push('down'),
};

async function until(last: string): Promise<string[]> {
  await vi.waitFor(() => expect(story.at(-1)).toBe(last));
  return story;
}

describe('a keeper', () => {
  it('that is stopped during a launch leaves no PostgreSQL running', async () => {
    let go = (): void => {};
    launched = (running) =>
      new Promise((resolve) => {
        go = () => resolve(running);
      });
    keeper.start(listener);
    await until('launch');
    const stopped = keeper.stop();
    go();
    await stopped;
    expect(story).toEqual(['launch', 'stop']);
  });

  it('starts what is there, and starts it again when it has died', async () => {
    keeper.start(listener);
    await until('up at 0');
    exit('killed');
    expect(await until('up at 0')).toEqual(['launch', 'up at 0', 'down', 'restart', 'up at 0']);
  });

  it.each([
    { kind: 'missing' } as const,
    { kind: 'lost', reason: 'no pg_control' } as const,
    { kind: 'foreign', reason: 'of another group' } as const,
  ])('has what is $kind replaced before anything is started', async (found) => {
    state = found;
    outcomes = ['installed'];
    keeper.start(listener);
    expect(await until('up at 0, copied')).toEqual([
      'transfer(for ever): installed',
      'launch',
      'up at 0, copied',
    ]);
  });

  it('makes an empty database only where the log has everything and nobody else has more', async () => {
    state = { kind: 'missing' };
    mayBeginEmpty = true;
    keeper.start(listener);
    expect(await until('up at 0')).toEqual(['launch', 'up at 0']);
  });

  it('makes one from a whole log, too, when nobody has a copy', async () => {
    state = { kind: 'missing' };
    whole = true;
    outcomes = ['gaveUp'];
    mayBeginEmpty = false;
    keeper.start(listener);
    expect(await until('up at 0')).toEqual(['transfer(3): gaveUp', 'launch', 'up at 0']);
  });

  it('never starts what is condemned, also after a crash in between', async () => {
    condemned = { cause: 'diverged', reason: 'a row differs' };
    outcomes = ['stopped'];
    keeper.start(listener);
    await until('transfer(for ever): stopped');
    await keeper.stop();
    expect(story).not.toContain('launch');
    keeper = createKeeper();
    outcomes = ['installed'];
    keeper.start(listener);
    await until('up at 0, copied');
  });

  it('replaces a database whose files turn out to be damaged', async () => {
    failures = [Object.assign(new Error('invalid page'), { code: 'databaseLost' })];
    outcomes = ['installed'];
    keeper.start(listener);
    const steps = ['launch', 'down', 'transfer(for ever): installed', 'launch', 'up at 0, copied'];
    expect(await until('up at 0, copied')).toEqual(steps);
    expect(condemned).toBeNull();
  });

  it('does not replace one that does not start for another reason', async () => {
    failures = [Object.assign(new Error('no rights'), { code: 'launchFailed' })];
    keeper.start(listener);
    expect(await until('up at 0')).toEqual(['launch', 'down', 'launch', 'up at 0']);
  });

  it('replaces one that is lost while it runs', async () => {
    keeper.start(listener);
    await until('up at 0');
    outcomes = ['installed'];
    keeper.lose({ cause: 'diverged', reason: 'a row differs' });
    await until('up at 0, copied');
    expect(story.slice(2)).toEqual([
      'down',
      'stop',
      'transfer(for ever): installed',
      'launch',
      'up at 0, copied',
    ]);
  });

  it('tells that a database is a copy, though its first start failed', async () => {
    state = { kind: 'lost', reason: 'torn' };
    outcomes = ['installed'];
    failures = [new Error('no memory just now')];
    keeper.start(listener);
    expect(await until('up at 0, copied')).toEqual([
      'transfer(for ever): installed',
      'launch',
      'down',
      'launch',
      'up at 0, copied',
    ]);
  });

  it('hands out no copy from which the log does not go on', async () => {
    state = { kind: 'missing' };
    purgedTo = 50;
    pointers = [40, 60];
    outcomes = ['installed', 'installed'];
    keeper.start(listener);
    await until('up at 60, copied');
    expect(story.filter((step) => step.startsWith('up'))).toEqual(['up at 60, copied']);
  });
});

it('the tracker tells each phase once, and what a recovery was about', () => {
  const told: (string | null)[] = [];
  let nowMs = 0;
  const tracker = new RecoveryTracker({
    nowMs: () => nowMs,
    logger,
    onEvent: ({ progress }) => told.push(progress === null ? null : `${progress.phase} ${progress.attempts}`),
  });
  tracker.begin('logLost', 'joining');
  tracker.begin('logLost', 'catchingUp');
  tracker.begin('databaseLost', 'copying');
  expect(tracker.current()?.cause).toBe('bothLost');
  tracker.attempt('r2' as ReplicaId);
  nowMs = 500;
  tracker.received(50, 200);
  expect(tracker.current()).toMatchObject({ percent: 25, bytes: 50, source: 'r2', sinceMs: 500 });
  tracker.received(300, 200);
  expect(tracker.current()?.percent).toBe(99);
  tracker.attempt('r3' as ReplicaId);
  expect(tracker.current()).toMatchObject({ bytes: 0, percent: null, source: 'r3' });
  tracker.starting();
  tracker.catchingUp(100 as Slot, 200 as Slot);
  tracker.catchingUp(150 as Slot, 200 as Slot);
  expect(tracker.current()?.percent).toBe(50);
  tracker.done();
  tracker.done();
  expect(tracker.current()).toBeNull();
  const phases = [
    'joining 0',
    'catchingUp 0',
    'copying 0',
    'copying 1',
    'copying 2',
    'starting 2',
    'catchingUp 2',
  ];
  expect(told).toEqual([...phases, null]);
});
