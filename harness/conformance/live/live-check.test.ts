import { beforeAll, describe, expect, it } from 'vitest';
import type { CheckStatus } from '../../../server/src/api/check.ts';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { incarnationOf, replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { recordGroup } from '../fresh/record-group.ts';
import { mutate } from '../trace/mutate.ts';
import type { MutantKind } from '../trace/mutants.ts';
import { newLiveCheck, type LiveCheck } from './live-check.ts';

/** Between two events of what a simulator recorded. */
const STEP_US = 5000;
const TURN_EVENTS = 50;
/** Some of these runs replace a replica that lost its log. */
const SEEDS_MAX = 20;
/** So long after others is read what one replica recorded. */
const LATE_US = 5_000_000;

function timed(events: readonly TraceEvent[]): TraceEvent[] {
  const sorted = [...events].sort((a, b) => a.atUs - b.atUs);
  return sorted.map((event, index) => Object.assign({}, event, { atUs: index * STEP_US }));
}

const hasReplacement = (events: readonly TraceEvent[]): boolean =>
  events.some(({ replica }) => incarnationOf(replica) > 1);

/** The first run in which a replica is replaced and votes again. */
async function recordReplacement(): Promise<readonly TraceEvent[]> {
  for (let seed = 5; seed < 5 + SEEDS_MAX; seed++) {
    const events = await recordGroup(seed);
    if (hasReplacement(events)) return events;
  }
  throw new Error(`no run of ${SEEDS_MAX} replaces a replica`);
}

/** Adds them as a cluster that runs would record them, and goes on until nothing more comes of it. */
async function play(events: readonly TraceEvent[], check: LiveCheck): Promise<CheckStatus> {
  let nowUs = 0;
  for (let i = 0; i < events.length; i += TURN_EVENTS) {
    for (const event of events.slice(i, i + TURN_EVENTS)) {
      check.add(event);
      nowUs = event.atUs;
    }
    await check.work(nowUs);
  }
  for (let i = 0; i < 100; i++) {
    nowUs += 500_000;
    await check.work(nowUs);
  }
  return check.report(nowUs);
}

const ofConsensus = (events: readonly TraceEvent[]): number =>
  events.filter(({ layer }) => layer === 'consensus').length;

describe('the check of a cluster that runs', () => {
  let group: readonly TraceEvent[];

  beforeAll(async () => {
    group = await recordGroup(2);
  });

  it('accepts all that groups of whole replicas record, and is not behind when nothing comes any more', async () => {
    for (const events of [group, await recordGroup(8), await recordGroup(10, 'losses')]) {
      for (const forgetAfterMs of [3000, undefined]) {
        const check = newLiveCheck('typescript', forgetAfterMs === undefined ? {} : { forgetAfterMs });
        expect(await play(timed(events), check)).toEqual({
          checked: ofConsensus(events),
          behind: 0,
          behindMs: 0,
          skipped: 0,
          refused: null,
          ended: null,
        });
      }
    }
  });

  it.each<MutantKind>(['serve-early', 'commit-point', 'forgets-promise'])(
    'refuses an altered event, names it, and goes on: %s',
    async (kind) => {
      const { events, original } = mutate(await recordGroup(10, 'losses'), kind);
      const { refused, ended, checked } = await play(timed(events), newLiveCheck('typescript'));
      expect(refused).toMatchObject({ run: original.run, replica: original.replica });
      expect(refused!.seq).toBeGreaterThanOrEqual(original.seq);
      expect(ended).toBeNull();
      expect(checked).toBeGreaterThan(0);
    },
  );

  it('ends at a gap, and says which', async () => {
    const missing = group.find(({ layer, seq }) => layer === 'consensus' && seq > 10);
    const rest = timed(group.filter((event) => event !== missing));
    const { ended, refused } = await play(rest, newLiveCheck('typescript'));
    expect(ended).toMatch(/has a gap: event \d+ comes after \d+/);
    expect(refused).toBeNull();
  });

  it('tells how far it is behind', async () => {
    const check = newLiveCheck('typescript');
    const events = timed(group);
    for (const event of events) check.add(event);
    const first = events.find(({ layer }) => layer === 'consensus');
    expect(check.report(first!.atUs + 4_321_000)).toMatchObject({
      checked: 0,
      behind: ofConsensus(events),
      behindMs: 4321,
    });
  });

  it('waits for what it reads later, however long ago it was recorded', async () => {
    const check = newLiveCheck('typescript');
    const events = timed(group);
    const [late] = new Set(events.map(({ replica }) => replica));
    const nowUs = events.at(-1)!.atUs + 60_000_000;
    for (const event of events.filter(({ replica }) => replica !== late)) check.add(event);
    while (await check.work(nowUs));
    for (const event of events.filter(({ replica }) => replica === late)) check.add(event);
    while (await check.work(nowUs + 1_000_000));
    expect(check.report(nowUs)).toMatchObject({ refused: null, ended: null });
    expect(check.report(nowUs).checked).toBeGreaterThan(0);
  });

  it('waits for whoever told of the configuration in which a log begins, and for what is heard of a new voter', async () => {
    const events = timed(await recordReplacement());
    for (const late of new Set(events.map(({ replica }) => replicaOf(replica)))) {
      const check = newLiveCheck('typescript');
      const read = events.map((event) => ({
        event,
        atUs: event.atUs + (replicaOf(event.replica) === late ? LATE_US : 0),
      }));
      let nowUs = 0;
      for (const [index, { event, atUs }] of read.toSorted((a, b) => a.atUs - b.atUs).entries()) {
        check.add(event);
        nowUs = atUs;
        if (index % TURN_EVENTS === 0) await check.work(nowUs);
      }
      for (let turn = 0; turn < 40; turn++) await check.work((nowUs += 500_000));
      const { refused, ended, behind } = check.report(nowUs);
      expect({ late, refused, ended, behind }).toEqual({ late, refused: null, ended: null, behind: 0 });
    }
  });

  it('makes nothing up for a process that did not run when it was last looked at, and was started since', async () => {
    const events = timed(group);
    const recordedUs = events.at(-1)!.atUs;
    for (const late of ['r1', 'r2', 'r3'] as ReplicaId[]) {
      const isLate = ({ replica }: TraceEvent): boolean => replicaOf(replica) === late;
      const others = events.filter((event) => !isLate(event));
      const check = newLiveCheck('typescript');
      check.setProcesses({ ended: new Set([late]), areSomeFrozen: false, atUs: events[0]!.atUs });
      for (const event of events.filter(isLate).slice(0, 10)) check.add(event);
      for (const event of others) check.add(event);
      while (await check.work(recordedUs + 5_000_000));
      for (const event of events.filter(isLate).slice(10)) check.add(event);
      check.setProcesses({ ended: new Set(), areSomeFrozen: false, atUs: recordedUs + 5_500_000 });
      while (await check.work(recordedUs + 6_000_000));
      const { refused, ended, checked } = check.report(recordedUs);
      expect({ late, refused, ended }).toEqual({ late, refused: null, ended: null });
      expect(checked).toBeGreaterThan(0);
    }
  });

  it('waits for what nobody tells no longer than ten seconds in all, however many events take some of it', async () => {
    const events = timed(group);
    const isLost = lostFrom(events, 'r1' as ReplicaId);
    const kept = events.filter((event) => !isLost(event));
    const check = newLiveCheck('typescript');
    for (const event of kept) check.add(event);
    const readUs = kept.at(-1)!.atUs + 1_000_000;
    const waits: number[] = [];
    for (let nowUs = readUs; nowUs < readUs + 12_000_000; nowUs += 1_000_000) {
      while (await check.work(nowUs));
      waits.push(check.report(nowUs).behind);
    }
    expect(waits.slice(0, 9).every((behind) => behind > 50)).toBe(true);
    expect(waits.at(-1)).toBe(0);
    expect(check.report(readUs).refused).not.toBeNull();
  });

  it('waits for what a process has to tell that was frozen, from when it goes on', async () => {
    const events = timed(group);
    const isLate = lostFrom(events, 'r1' as ReplicaId);
    const check = newLiveCheck('typescript');
    let nowUs = events.at(-1)!.atUs + 1_000_000;
    check.setProcesses({ ended: new Set(), areSomeFrozen: true, atUs: nowUs });
    for (const event of events) if (!isLate(event)) check.add(event);
    for (let turn = 0; turn < 30; turn++) while (await check.work((nowUs += 1_000_000)));
    check.setProcesses({ ended: new Set(), areSomeFrozen: false, atUs: nowUs });
    while (await check.work((nowUs += 1_000_000)));
    for (const event of events) if (isLate(event)) check.add(event);
    for (let turn = 0; turn < 5; turn++) while (await check.work((nowUs += 1_000_000)));
    expect(check.report(nowUs)).toMatchObject({
      checked: ofConsensus(events),
      behind: 0,
      refused: null,
      ended: null,
    });
  });

  it('leaves out what is too much, and judges what comes behind it', async () => {
    const check = newLiveCheck('typescript', { stepsKeptMax: 300 });
    const events = timed(group);
    for (const event of events) check.add(event);
    const nowUs = events.at(-1)!.atUs + 10_000_000;
    while (await check.work(nowUs));
    const { checked, skipped, behind, refused } = check.report(nowUs);
    expect({ all: checked + skipped + behind, behind, refused }).toEqual({
      all: ofConsensus(events),
      behind: 0,
      refused: null,
    });
    expect(skipped).toBeGreaterThan(0);
    expect(checked).toBeGreaterThan(0);
  });

  it('accepts what lacks the last moments of killed processes, those that do not come back too', async () => {
    const recorded = await recordGroup(10, 'losses');
    const killed = withoutLastMoments(recorded);
    expect(killed.length).toBeLessThan(recorded.length);
    const check = newLiveCheck('typescript');
    const ended = new Set(recorded.map(({ replica }) => replica));
    check.setProcesses({ ended, areSomeFrozen: false, atUs: Infinity });
    expect(await play(timed(killed), check)).toMatchObject({
      checked: ofConsensus(killed),
      refused: null,
      ended: null,
    });
  });
});

/** All that this member records from the middle of the run on. */
function lostFrom(events: readonly TraceEvent[], member: ReplicaId): (event: TraceEvent) => boolean {
  const { atUs } = events[Math.floor(events.length / 2)]!;
  return (event) => replicaOf(event.replica) === member && event.atUs > atUs;
}

/** A process that is killed tells neither its end nor the flush that it let through, nor what it did just before. */
function withoutLastMoments(events: readonly TraceEvent[]): TraceEvent[] {
  const ends = new Map<string, number>();
  for (const event of events) {
    if (event.layer !== 'consensus' || event.name !== 'Crash') continue;
    const before = events.find(({ run, seq }) => run === event.run && seq === event.seq - 1);
    const isFlush = before?.layer === 'consensus' && before.name === 'Fsync' && before.sent === undefined;
    ends.set(event.run, event.seq - (isFlush ? 2 : 1));
  }
  return events.filter(({ run, seq }) => seq <= (ends.get(run) ?? Infinity));
}
