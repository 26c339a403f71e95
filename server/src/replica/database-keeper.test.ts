import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryDatabase } from '../apply/testing/memory-database.ts';
import type { ReplicaId, Slot } from '../multipaxos/types.ts';
import {
  DatabaseKeeper,
  type DatabaseKeeperOptions,
  type DatabaseListener,
  type DirectoryState,
  type Loss,
  type RunningDatabase,
} from './database-keeper.ts';
import { RecoveryTracker } from './database/recovery-progress.ts';
import type { TransferOutcome } from './database/state-transfer.ts';

const logger = pino({ level: 'silent' });

let state: DirectoryState;
let condemned: Loss | null;
/** What happened, in order. */
let story: string[];
let outcomes: TransferOutcome['kind'][];
/** Who was to be asked last, and what was to become of the old database, at each transfer. */
let requests: string[];
/** Who gives the copies, in order. */
let givers: string[];
let pointers: number[];
let failures: Error[];
let whole: boolean;
let mayBeginEmpty: boolean;
let alone: boolean;
let purgedTo: number;
let launched: (running: RunningDatabase) => Promise<RunningDatabase>;
/** What PostgreSQL never answers, until it is started again. */
let hangsAt: 'applicationPointer' | 'flush' | null;
let exit: (reason: string) => void;
let keeper: DatabaseKeeper;
let tracker: RecoveryTracker;

function createKeeper(changes: Partial<DatabaseKeeperOptions> = {}): DatabaseKeeper {
  tracker = new RecoveryTracker({ nowMs: () => 0, logger, onEvent: () => {} });
  return new DatabaseKeeper({
    launch: () => {
      story.push('launch');
      const failure = failures.shift();
      if (failure !== undefined) return Promise.reject(failure);
      const database = new MemoryDatabase();
      database.contents = { ...database.contents, pointer: (pointers.shift() ?? 0) as Slot };
      const hung = hangsAt;
      if (hung !== null) database[hung] = () => new Promise<never>(() => {});
      return launched({
        database,
        sessionSql: {} as RunningDatabase['sessionSql'],
        info: () => ({ pid: 1, socketDir: '', port: 1, version: null }),
        onExit: (listener) => {
          exit = listener;
        },
        probe: () => Promise.resolve(),
        restart: () => {
          story.push('restart');
          if (hung !== null) Reflect.deleteProperty(database, hung);
          return Promise.resolve();
        },
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
      freeSpace: () => Promise.resolve({ bytes: 1e9, path: '/nowhere' }),
      setAside: () => {
        story.push(`set aside what is ${state.kind}`);
        state = { kind: 'missing' };
        return Promise.resolve();
      },
      acquit: () => {
        condemned = null;
        return Promise.resolve();
      },
    },
    transfer: async (_loss, { patience, askedLast, old }, signal) => {
      const outcome = outcomes.shift() ?? 'stopped';
      story.push(`transfer(${patience?.rounds ?? 'for ever'}): ${outcome}`);
      requests.push([...askedLast, old].join(' '));
      if (outcome === 'installed') {
        state = { kind: 'usable' };
        condemned = null;
      }
      if (outcome === 'stopped') await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return outcome === 'installed'
        ? { kind: outcome, from: (givers.shift() ?? 'r2') as ReplicaId }
        : { kind: outcome };
    },
    tracker,
    logger,
    retryMinMs: 1,
    retryMaxMs: 1,
    probeMs: 60_000,
    probeTimeoutMs: 1000,
    answerTimeoutMs: 40,
    ...changes,
  });
}

beforeEach(() => {
  state = { kind: 'usable' };
  condemned = null;
  story = [];
  outcomes = [];
  requests = [];
  givers = [];
  pointers = [];
  failures = [];
  whole = false;
  mayBeginEmpty = false;
  alone = false;
  purgedTo = 0;
  launched = (running) => Promise.resolve(running);
  hangsAt = null;
  exit = () => {};
  keeper = createKeeper();
});
afterEach(() => keeper.stop());

const listener: DatabaseListener = {
  logIsWhole: () => whole,
  mayBeginEmpty: () => mayBeginEmpty,
  isAlone: () => alone,
  logReaches: (pointer) => pointer >= purgedTo,
  causeOfMissing: () => 'databaseLost',
  onUp: (_database, { pointer }, replaced) => story.push(`up at ${pointer}${replaced ? ', replaced' : ''}`),
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
    ['before it says how far it is', 'applicationPointer', 'usable', []],
    ['before a copy is durable', 'flush', 'missing', ['transfer(for ever): installed']],
  ] as const)('starts a PostgreSQL again that hangs %s', async (_, at, kind, before) => {
    hangsAt = at;
    state = { kind };
    outcomes = ['installed'];
    keeper.start(listener);
    const up = kind === 'missing' ? 'up at 0, replaced' : 'up at 0';
    expect(await until(up)).toEqual([...before, 'launch', 'down', 'restart', up]);
  });

  it('that is stopped does not wait for a PostgreSQL that hangs', async () => {
    keeper = createKeeper({ answerTimeoutMs: 60_000 });
    hangsAt = 'applicationPointer';
    keeper.start(listener);
    await until('launch');
    await keeper.stop();
    expect(story).toEqual(['launch', 'stop', 'stop']);
  });

  it.each([
    { kind: 'missing' } as const,
    { kind: 'lost', reason: 'no pg_control' } as const,
    { kind: 'foreign', reason: 'of another group' } as const,
  ])('has what is $kind replaced before anything is started', async (found) => {
    state = found;
    outcomes = ['installed'];
    keeper.start(listener);
    expect(await until('up at 0, replaced')).toEqual([
      'transfer(for ever): installed',
      'launch',
      'up at 0, replaced',
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
    expect(await until('up at 0, replaced')).toEqual([
      'transfer(3): gaveUp',
      'set aside what is missing',
      'launch',
      'up at 0, replaced',
    ]);
  });

  it.each([
    ['is damaged', { kind: 'lost', reason: 'pg_control holds zeros' }, null],
    ['is of another group', { kind: 'foreign', reason: 'another' }, null],
    ['differs', { kind: 'usable' }, { cause: 'diverged', reason: 'a row differs' }],
  ] as const)(
    'sets one that %s aside and makes one from a whole log when nobody has a copy in the end',
    async (_, found, loss) => {
      state = found;
      condemned = loss;
      whole = true;
      outcomes = ['gaveUp'];
      keeper.start(listener);
      const aside = `set aside what is ${found.kind}`;
      expect(await until('up at 0, replaced')).toEqual([
        'transfer(20): gaveUp',
        aside,
        'launch',
        'up at 0, replaced',
      ]);
      expect(condemned).toBeNull();
    },
  );

  it.each([
    ['is damaged', { kind: 'lost', reason: 'pg_control holds zeros' }, null],
    ['is missing, and was damaged before,', { kind: 'missing' }, { cause: 'databaseLost', reason: 'torn' }],
  ] as const)('that is alone asks nobody when its database %s', async (_, found, loss) => {
    state = found;
    condemned = loss;
    whole = true;
    alone = true;
    mayBeginEmpty = true;
    keeper.start(listener);
    expect(await until('up at 0, replaced')).toEqual([
      `set aside what is ${found.kind}`,
      'launch',
      'up at 0, replaced',
    ]);
    expect(condemned).toBeNull();
  });

  it('makes nothing from a log of which the others have purged what it lacks', async () => {
    condemned = { cause: 'logPurged', reason: 'r2 purged its log' };
    whole = true;
    keeper.start(listener);
    expect(await until('transfer(for ever): stopped')).toHaveLength(1);
  });

  it('that is alone makes nothing from a log that is not whole', async () => {
    state = { kind: 'lost', reason: 'pg_control holds zeros' };
    alone = true;
    keeper.start(listener);
    expect(await until('transfer(for ever): stopped')).toHaveLength(1);
  });

  it('does not take what it makes then for what was condemned before', async () => {
    condemned = { cause: 'diverged', reason: 'a row differs' };
    state = { kind: 'missing' };
    whole = true;
    outcomes = ['gaveUp'];
    keeper.start(listener);
    await until('up at 0, replaced');
    state = { kind: 'usable' };
    exit('killed');
    await until('up at 0');
    expect(story).toEqual([
      'transfer(3): gaveUp',
      'set aside what is missing',
      'launch',
      'up at 0, replaced',
      'down',
      'restart',
      'up at 0',
    ]);
    await keeper.stop();
    story = [];
    keeper = createKeeper();
    keeper.start(listener);
    expect(await until('up at 0')).toEqual(['launch', 'up at 0']);
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
    await until('up at 0, replaced');
  });

  it('replaces a database whose files turn out to be damaged', async () => {
    failures = [Object.assign(new Error('invalid page'), { code: 'databaseLost' })];
    outcomes = ['installed'];
    keeper.start(listener);
    const steps = ['launch', 'down', 'transfer(for ever): installed', 'launch', 'up at 0, replaced'];
    expect(await until('up at 0, replaced')).toEqual(steps);
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
    await until('up at 0, replaced');
    expect(story.slice(2)).toEqual([
      'down',
      'stop',
      'transfer(for ever): installed',
      'launch',
      'up at 0, replaced',
    ]);
  });

  it('tells that a database is a copy, though its first start failed', async () => {
    state = { kind: 'lost', reason: 'torn' };
    outcomes = ['installed'];
    failures = [new Error('no memory just now')];
    keeper.start(listener);
    expect(await until('up at 0, replaced')).toEqual([
      'transfer(for ever): installed',
      'launch',
      'down',
      'launch',
      'up at 0, replaced',
    ]);
  });

  it('hands out no copy from which the log does not go on', async () => {
    state = { kind: 'missing' };
    purgedTo = 50;
    pointers = [40, 60];
    outcomes = ['installed', 'installed'];
    keeper.start(listener);
    await until('up at 60, replaced');
    expect(story.filter((step) => step.startsWith('up'))).toEqual(['up at 60, replaced']);
  });

  it('asks whose copies were too old after all others, and sets none of those aside', async () => {
    state = { kind: 'lost', reason: 'torn' };
    purgedTo = 50;
    pointers = [40, 40, 60];
    outcomes = ['installed', 'installed', 'installed'];
    givers = ['r2', 'r3', 'r1'];
    keeper.start(listener);
    await until('up at 60, replaced');
    expect(requests).toEqual(['setAside', 'r2 removed', 'r2 r3 removed']);
    expect(tracker.current()?.lastFailure).toMatchObject({
      reason: "the database ends at slot 40, and this replica's log begins above",
      source: 'r3',
    });
  });

  it('asks somebody else when the log of the others does not go on from a copy, either', async () => {
    outcomes = ['installed', 'installed'];
    keeper.start(listener);
    await until('up at 0');
    keeper.lose({ cause: 'logPurged', reason: 'r3 purged its log' });
    await until('up at 0, replaced');
    keeper.lose({ cause: 'logPurged', reason: 'r3 purged its log' });
    await vi.waitFor(() => expect(requests).toEqual(['setAside', 'r2 removed']));
  });
});

it('the tracker keeps the last failure of a recovery, in one line, until it is over', () => {
  let nowMs = 0;
  const one = new RecoveryTracker({ nowMs: () => nowMs, logger, onEvent: () => {} });
  one.failed('nothing is being recovered', null);
  one.begin('databaseLost', 'copying');
  expect(one.current()?.lastFailure).toBeNull();
  one.failed('first', 'r2' as ReplicaId);
  nowMs = 2000;
  one.failed('PostgreSQL could not be started: no memory. Its last words:\nFATAL', null);
  nowMs = 5000;
  const reason = 'PostgreSQL could not be started: no memory.';
  expect(one.current()?.lastFailure).toEqual({ reason, source: null, agoMs: 3000 });
  one.failed('x'.repeat(10_000), null);
  expect(one.current()?.lastFailure?.reason).toHaveLength(500);
  one.done();
  one.begin('databaseLost', 'copying');
  expect(one.current()?.lastFailure).toBeNull();
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
