import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { positionNone } from '../../wal/position.ts';
import { CopyError, type CopiedDatabase, type CopyErrorCode } from '../../ports/copy.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { RecoveryTracker } from './recovery-progress.ts';
import { rankSources, transferState, type Candidates } from './state-transfer.ts';

const named = (text: string): ReplicaId[] => text.split(' ').filter((id) => id !== '') as ReplicaId[];
const ranked = (connected: string, rest: Partial<Candidates> = {}): string =>
  rankSources({
    connected: named(connected),
    leader: null,
    voters: named('r1 r2 r3 r4 r5'),
    equal: null,
    ...rest,
  }).join(' ');

const [r2, r3] = named('r2 r3');

it('whose log or database was lost asks the leader last', () => {
  expect(ranked('r2 r3 r4', { leader: r3! })).toBe('r2 r4 r3');
});

it('who joins asks the leader before those that join, too', () => {
  expect(ranked('r2 r3 r1', { leader: named('r1')[0]!, voters: named('r1') })).toBe('r1 r2 r3');
});

it('who differs asks nobody that was not found equal', () => {
  const equal = named('r3 r4 r5');
  expect(ranked('r2 r3 r4 r5', { equal })).toBe('r3 r4 r5');
  expect(ranked('r2 r3 r4', { equal, leader: r3! })).toBe('r4 r3');
});

it('who differs waits for those that were found equal', () => {
  expect(ranked('r2', { equal: named('r3 r4 r5'), leader: r2! })).toBe('');
});

it('who differs asks others, too, once those that were found equal are no majority any more', () => {
  const voters = named('r1 r2 r5 r6 r7');
  expect(ranked('r6 r2 r5', { equal: named('r3 r4 r5'), voters })).toBe('r5 r6 r2');
  expect(ranked('r6 r2', { equal: named('r3 r4 r5'), voters, leader: named('r6')[0]! })).toBe('r2 r6');
});

describe('a copy', () => {
  let time: SimulatedTime;
  let end: AbortController;
  let tracker: RecoveryTracker;
  /** What was asked of whom, and how it ended. */
  let story: string[];
  let sources: () => readonly ReplicaId[];
  /** Nothing of it comes at all. */
  let refuses: Readonly<Record<string, CopyErrorCode>>;
  /** It breaks off in the middle. */
  let breaks: Readonly<Record<string, CopyErrorCode>>;
  let copied: CopiedDatabase | null | 'under way';

  beforeEach(() => {
    time = new SimulatedTime();
    end = new AbortController();
    tracker = new RecoveryTracker({ nowMs: () => time.nowMs(), logger, onEvent: () => undefined });
    tracker.begin('databaseLost', 'copying');
    story = [];
    sources = () => named('r2 r3');
    refuses = {};
    breaks = {};
  });

  const logger = pino({ level: 'silent' });

  /** As it is after `ms`. */
  async function transfer(ms = 0): Promise<typeof copied> {
    copied = 'under way';
    void transferState(
      {
        fetcher: {
          open: (from) => {
            const code = refuses[from];
            if (code !== undefined) story.push(`${from} refuses at ${time.nowMs()}`);
            return code === undefined
              ? Promise.resolve(new PassThrough())
              : Promise.reject(new CopyError(code, `${from}: ${code}`));
          },
        },
        receive: (_channel, from, onProgress) => {
          onProgress({ bytesCompared: 50, bytesToCompare: 100, bytesReceived: 1 });
          const code = breaks[from];
          story.push(`${from} ${code === undefined ? 'gives' : 'breaks off'} at ${time.nowMs()}`);
          if (code !== undefined) return Promise.reject(new CopyError(code, `it came to ${code}`));
          const sizes = { bytesReceived: 1, bytesTotal: 2, blocksReceived: 3 };
          return Promise.resolve({ from, position: positionNone, configuration: null, ...sizes });
        },
        sources: () => sources(),
        tracker,
        logger,
        timers: time,
        retryMs: 10,
        retryMsMax: 40,
        failedMsMax: 80,
      },
      end.signal,
    ).then((copy) => {
      copied = copy;
    });
    await time.pass(ms);
    return copied;
  }

  it('that came whole is the end of it', async () => {
    expect(await transfer()).toMatchObject({ from: 'r2' });
    expect(story).toEqual(['r2 gives at 0']);
    expect(tracker.current()).toMatchObject({ percent: 100, attempts: 1, source: 'r2' });
  });

  it('that breaks off is asked of the next one at once, and why is told', async () => {
    breaks = { r2: 'transferFailed' };
    expect(await transfer()).toMatchObject({ from: 'r3' });
    expect(story).toEqual(['r2 breaks off at 0', 'r3 gives at 0']);
    expect(tracker.current()).toMatchObject({ attempts: 2, lastFailure: { source: 'r2' } });
    expect(tracker.current()?.lastFailure?.reason).toBe('it came to transferFailed');
  });

  it('that is refused names its source once', async () => {
    refuses = { r2: 'sourceBusy' };
    sources = () => named('r2');
    await transfer();
    expect(tracker.current()?.lastFailure).toMatchObject({ source: 'r2', reason: 'sourceBusy' });
  });

  it('that was too old is asked for after all others in the next round', async () => {
    breaks = { r2: 'tooOld', r3: 'transferFailed' };
    await transfer(15);
    expect(story).toEqual([
      'r2 breaks off at 0',
      'r3 breaks off at 0',
      'r3 breaks off at 10',
      'r2 breaks off at 10',
    ]);
  });

  it('for which there is no space here is asked of nobody else in this round', async () => {
    breaks = { r2: 'noSpace' };
    await transfer(9);
    expect(story).toEqual(['r2 breaks off at 0']);
  });

  it('is asked for as soon as there is somebody to ask', async () => {
    sources = () => (time.nowMs() < 35 ? [] : named('r3'));
    expect(await transfer(40)).toMatchObject({ from: 'r3' });
    expect(story).toEqual(['r3 gives at 40']);
  });

  it('that is refused is asked for again soon, and one that breaks off ever more seldom', async () => {
    sources = () => named('r2');
    refuses = { r2: 'sourceBusy' };
    await transfer(200);
    const refused = [0, 10, 30, 70, 110, 150, 190].map((at) => `r2 refuses at ${at}`);
    expect(story).toEqual(refused);
    end.abort(new Error('it stops'));
    await time.pass(100);
    story = [];
    time = new SimulatedTime();
    end = new AbortController();
    refuses = {};
    breaks = { r2: 'transferFailed' };
    await transfer(400);
    expect(story).toEqual([0, 10, 30, 70, 150, 230, 310, 390].map((at) => `r2 breaks off at ${at}`));
  });

  it('is not waited for any longer once the replica stops', async () => {
    refuses = { r2: 'sourceBusy', r3: 'sourceBusy' };
    expect(await transfer(15)).toBe('under way');
    end.abort(new Error('the replica is stopping'));
    await time.pass(0);
    expect(copied).toBeNull();
    const { length } = story;
    await time.pass(1000);
    expect(story).toHaveLength(length);
  });
});
