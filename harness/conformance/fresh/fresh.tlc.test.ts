import { describe, expect, it } from 'vitest';
import { mutate } from '../trace/mutate.ts';
import { runFreshCommand } from './fresh-command.ts';
import { judgeSeeds, type Refused } from './judge-seeds.ts';
import { recordFresh, type FreshMix } from './record-fresh.ts';
import { recordGroup } from './record-group.ts';
import { seedOfHash } from './seed-of-hash.ts';
import { digestOf } from '../../../scripts/proofs/rests-on.ts';

const SEEDS = 32;
/** Others with every change of what these runs rest on, and the same for whoever has the same files. The runs of `groups` are those of the mix `default`, at all layers. */
const ofFiles = seedOfHash(
  digestOf({ entries: ['harness/conformance/fresh/fresh.tlc.test.ts'], folders: ['specs'] }),
);
const fresh: readonly FreshMix[] = ['losses', 'groups'];
/** Of each mix, to the other judge: it costs several times as much. */
const SEEDS_OF_TLC = 4;
/** Of a machine that is busy with much else. */
const TIMEOUT_MS = 900_000;

/** Each was refused once. What their runs are changes with the core. */
const refusedOnce: readonly (readonly [mix: FreshMix, seed: number, because: string])[] = [
  ['groups', 11, 'a directory is looked at again, and the log is folded on from what it says'],
  ['groups', 15, 'a copy is given up, and another one is begun'],
  ['groups', 36, 'an outcome is told before the beginning of the leadership that settles it'],
  ['groups', 40, 'an outcome is told by what was known before a copy came'],
  ['groups', 2000, 'part of a record is left at the end of a directory, which a look at it does not count'],
  ['groups', 7011, 'WAL that a new timeline leaves behind is replayed up to the fork'],
  ['groups', 1, 'a copy is asked of one that leads no more, and has not ended yet'],
  [
    'default',
    200_035,
    'a process dies between the word of its log and what it does about it, and its log is lost',
  ],
  ['losses', 135_800_138, 'a database comes up in the place of votes for what was not chosen'],
  ['groups', 7052, 'a log is dropped from where a copy has moved its beginning'],
  ['groups', 64010, 'what everybody has goes, but for a member that was removed'],
  ['groups', 700, 'all of a copy was sent before its source was promoted'],
  ['groups', 713, 'a directory says that it is a primary before clients are let in'],
  ['groups', 1003, 'what was sent at one tick is acknowledged twice, the second time late'],
  ['groups', 50049, 'a promise comes when its candidate leads already'],
  [
    'groups',
    760,
    'a machine fails behind a look at its directory, and its replica folds before it looks again',
  ],
  [
    'groups',
    301_000,
    'a member that ended before its log held anything made a database of its own when it came back',
  ],
  [
    'losses',
    311_160,
    'an Accept beyond the window tells less than its receiver would have to know by a Heartbeat',
  ],
  [
    'default',
    310_342,
    'a change of the members waits for a vote of one that waits for a copy, which waits for the change',
  ],
  [
    'groups',
    260_063_605,
    'a piece of a record was purged of which a later leadership had left the rest behind',
  ],
  [
    'groups',
    330_106,
    'a killed process had folded in more without WAL than its directory said, and the next one saved nothing',
  ],
  ['groups', 322_133, 'a leader counts by the configuration before the one that it has found among votes'],
  ['groups', 330_013, 'a directory is looked at again, and is as it was'],
  ['groups', 211_293_681, 'an acknowledgement waited for a write, and a copy had less by then'],
  ['groups', 61102, 'a replica was elected in the moment in which it found that its database was none'],
  [
    'groups',
    301_118,
    'a machine fails behind a look at its directory, and its replica goes on with less than was found',
  ],
  [
    'groups',
    303_031,
    'what a killed process saved is found when its successor was asked for outcomes already',
  ],
  [
    'groups',
    306_082,
    'a leadership ends before its beginning is folded in, and its replica is promoted later',
  ],
  ['groups', 306_235, 'a killed process had replayed more than it said of where its directory was'],
  ['groups', 306_180, 'a machine fails when a standby was sent once more what it had of an older timeline'],
  [
    'groups',
    330_463,
    'a leadership was never chosen, and a later one of its leader begins the same timeline',
  ],
  [
    'groups',
    341_711,
    'a leader goes on behind part of a record that it had shipped, and that was not chosen',
  ],
  ['groups', 240_419_037, 'a member is removed whose next write is to fail'],
  [
    'groups',
    400_763,
    'a copy is told as whole when its source leads no more, but has not said that its PostgreSQL has ended',
  ],
  ['groups', 303_224, 'a process is killed while its directory, found to be a standby, is to say so'],
  ['groups', 241_232_096, 'a leader resigns while its directory is being marked'],
];

/** Of groups whose processes are killed as a directory comes to say something else, which is what they do not tell then. */
const untold: readonly (readonly [seed: number, because: string])[] = [
  [10, 'a leadership began'],
  [57, 'a copy is whole'],
  [1028, 'PostgreSQL was promoted'],
  [1052, 'PostgreSQL was a primary again'],
  [1077, 'a directory that was found to be a standby went on from a slot without a command'],
];
const inTheMiddle = [
  'the process dies as its directory says something else',
  'the process dies',
  'loses its database',
];

it('seeds are drawn from all of a hash that a seed has room for', () => {
  expect(seedOfHash('fffffff000')).toBe(2 ** 28);
  expect(seedOfHash('0000000fff')).toBe(1);
});

describe('simulated runs', { timeout: TIMEOUT_MS }, () => {
  it.each(fresh)('of the mix %s are behaviours of the spec', async (mix) => {
    expect(await runFreshCommand({ mix, seeds: SEEDS, first: ofFiles, judge: 'typescript', jvms: 1 })).toBe(
      0,
    );
  });

  it.each(fresh)('of the mix %s are so to TLC, too', async (mix) => {
    expect(await runFreshCommand({ mix, seeds: SEEDS_OF_TLC, first: ofFiles, judge: 'tlc', jvms: 1 })).toBe(
      0,
    );
  });

  it('that were refused once are accepted', async () => {
    const record = (index: number) => {
      const [mix, seed] = refusedOnce[index - 1]!;
      return recordFresh(seed, mix);
    };
    expect(await refusedAmong(refusedOnce.length, record)).toEqual([]);
  });

  it('of which killed processes tell a part only are accepted by what is found later', async () => {
    const record = async (index: number) => {
      const [seed] = untold[index - 1]!;
      const only = seed === 1028 ? inTheMiddle.slice(1) : inTheMiddle;
      return { events: await recordGroup(seed, 'default', { only }), judgesAll: true };
    };
    expect(await refusedAmong(untold.length, record)).toEqual([]);
  });

  it('are refused one by one: those that the spec rejects, and those that no verdict can be had of', async () => {
    const record = async (seed: number) => {
      if (seed === 3) throw new Error('a rule is broken');
      const events = await recordGroup(seed);
      return { events: seed === 2 ? mutate(events, 'serve-early').events : events, judgesAll: false };
    };
    const refused = await refusedAmong(4, record);
    expect(new Set(refused.map(({ seed }) => seed))).toEqual(new Set([2, 3]));
    expect(refused.find(({ seed }) => seed === 2)?.why).toMatchObject({ recorded: { name: 'BecomeLeader' } });
    expect(refused.find(({ seed }) => seed === 3)?.why).toBe('a rule is broken');
  });
});

async function refusedAmong(
  seeds: number,
  record: Parameters<typeof judgeSeeds>[0]['record'],
): Promise<Refused[]> {
  const refused: Refused[] = [];
  const onRefused = (one: Refused): void => void refused.push(one);
  await judgeSeeds({
    record,
    first: 1,
    seeds,
    judge: 'typescript',
    jvms: 1,
    onRefused,
    onProgress: () => {},
  });
  return refused;
}
