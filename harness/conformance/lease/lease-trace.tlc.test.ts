/** Runs of whole replicas under faults are behaviours of Lease.tla; with any one place altered they are not. That TLC says so, too: judges.tlc.test.ts. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { recordGroup } from '../fresh/record-group.ts';
import { NothingToAlterError } from '../trace/nothing-to-alter.ts';
import { ballotKey, type LeaseEvent } from './lease-event.ts';
import { leaseMutants } from './lease-mutants.ts';
import { judgeLeaseRuns, leaseRunOf, type LeaseOutcome } from './lease-trace.ts';

/** What happens in a run changes with the code; in some of so many there is something for every alteration. */
const SEEDS = [9, 10, 11, 12, 13, 14];

interface Judged {
  readonly name: string;
  readonly altered: LeaseEvent;
  readonly outcome: LeaseOutcome;
}

/** Each in the first run that has something to alter; the specification alone judges, whatever the trace says elsewhere. */
async function judge(runs: readonly (readonly TraceEvent[])[]): Promise<readonly Judged[]> {
  const altered = Object.entries(leaseMutants).flatMap(([name, alter]) => {
    for (const run of runs) {
      try {
        return [{ name, ...alter(run) }];
      } catch (error) {
        if (!(error instanceof NothingToAlterError)) throw error;
      }
    }
    return [];
  });
  const outcomes = await judgeLeaseRuns(
    altered.map(({ events }) => ({ ...leaseRunOf(events)!, contradiction: null })),
  );
  return altered.map(({ name, altered: event }, index) => ({
    name,
    altered: event,
    outcome: outcomes[index]!,
  }));
}

/** A follower whose process is killed behind a word that it gave, and of which no event was kept from there on, though its leader tells of the word. Null: in this run there is none. */
function withLostWord(run: readonly TraceEvent[]): readonly TraceEvent[] | null {
  const told = run.filter((event) => event.layer === 'lease');
  for (const ack of told) {
    if (ack.name !== 'HandleHeartbeatAck') continue;
    const word = told.find(
      (event) =>
        event.name === 'HandleHeartbeat' &&
        event.replica === ack.from &&
        event.sentAtMs === ack.sentAtMs &&
        ballotKey(event.ballot) === ballotKey(ack.ballot),
    );
    if (word === undefined) continue;
    const isLost = (event: TraceEvent): boolean => event.run === word.run && event.seq >= word.seq;
    const isLast = told.every((event) => !isLost(event) || event.name === 'HandleHeartbeat');
    if (isLast) return run.filter((event) => !isLost(event));
  }
  return null;
}

describe('what is told of the leases of groups under faults', () => {
  let runs: (readonly TraceEvent[])[] = [];
  let judged: readonly Judged[] = [];

  beforeAll(async () => {
    runs = [];
    for (const seed of SEEDS) runs.push(await recordGroup(seed));
    judged = await judge(runs);
  });

  it('is accepted', async () => {
    const outcomes = await judgeLeaseRuns(runs.map((run) => leaseRunOf(run)!));
    expect(outcomes.map(({ kind }) => kind)).toEqual(SEEDS.map(() => 'accepted'));
  });

  it('is accepted where the last word of a killed follower is told by its leader alone', async () => {
    const lost = runs.map(withLostWord).filter((events) => events !== null);
    expect(lost).not.toEqual([]);
    const outcomes = await judgeLeaseRuns(lost.map((events) => leaseRunOf(events)!));
    expect(outcomes.map(({ kind }) => kind)).toEqual(lost.map(() => 'accepted'));
  });

  it('is rejected with any one place altered, at that place', () => {
    const places = judged.map(({ name, altered, outcome }) => ({
      name,
      isThere:
        outcome.kind === 'rejected' &&
        outcome.recorded?.run === altered.run &&
        outcome.recorded.seq === altered.seq,
    }));
    expect(places).toEqual(Object.keys(leaseMutants).map((name) => ({ name, isThere: true })));
  });
});
