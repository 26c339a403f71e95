import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { RecoveryTracker } from '../database/recovery-progress.ts';
import { Watch } from './watch.ts';

const [r2, r3] = ['r2', 'r3'] as [ReplicaId, ReplicaId];

let nowMs: number;
let commitPoint: number;
let pointer: number;
let logBytes: number;
let lost: string[];
/** Whether it was urgent, each time. */
let pressures: boolean[];
let serving: boolean;
let needsLog: boolean;
let isHealthy: boolean;
let lines: { readonly msg: string }[];
let tracker: RecoveryTracker;
let watch: Watch;

beforeEach(() => {
  nowMs = 0;
  commitPoint = 89;
  pointer = 0;
  logBytes = 0;
  lost = [];
  pressures = [];
  serving = false;
  needsLog = true;
  isHealthy = true;
  lines = [];
  tracker = new RecoveryTracker({
    nowMs: () => nowMs,
    logger: pino({ level: 'silent' }),
    onEvent: () => undefined,
  });
  watch = new Watch({
    snapshot: () => ({ role: serving ? 'leader' : 'follower', serving, commitPoint: commitPoint as Slot }),
    pointer: () => pointer as Slot,
    logBytes: () => logBytes,
    logBytesMax: 1000,
    nowMs: () => nowMs,
    tracker,
    logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as { msg: string }) }),
    isUp: () => true,
    needsLog: () => needsLog,
    isHealthy: () => isHealthy,
    onLogPressure: (isUrgent) => void pressures.push(isUrgent),
    onLogPurged: (reason) => lost.push(reason),
  });
});

function tickAt(ms: number): void {
  nowMs = ms;
  watch.tick();
}

describe('a log that the others have purged', () => {
  it('is told when nothing else has come for a while', () => {
    watch.purgedByPeer(r2, 110 as Slot);
    tickAt(1000);
    watch.purgedByPeer(r3, 120 as Slot);
    watch.purgedByPeer(r2, 110 as Slot);
    tickAt(1999);
    expect(lost).toEqual([]);
    tickAt(2000);
    expect(lost).toEqual(["this replica's log ends at slot 89, and r2, r3 purged theirs up to slot 120"]);
    tickAt(9000);
    expect(lost).toHaveLength(1);
  });

  it('is of no interest once somebody else had what was asked for', () => {
    watch.purgedByPeer(r2, 120 as Slot);
    commitPoint = 90;
    tickAt(2000);
    expect(lost).toEqual([]);
    // From then on it counts anew.
    watch.purgedByPeer(r2, 120 as Slot);
    tickAt(3999);
    expect(lost).toEqual([]);
    tickAt(4000);
    expect(lost).toHaveLength(1);
  });

  it('is of no interest while there is no database that goes on with the log', () => {
    needsLog = false;
    watch.purgedByPeer(r2, 120 as Slot);
    tickAt(0);
    tickAt(2000);
    expect(lost).toEqual([]);
  });

  it('is of no interest to a leader that serves: it has all that it needs, whatever a peer says', () => {
    serving = true;
    watch.purgedByPeer(r2, 120 as Slot);
    tickAt(2000);
    expect(lost).toEqual([]);
    // What it heard as a leader is not held against it afterwards.
    serving = false;
    tickAt(2000);
    expect(lost).toEqual([]);
  });
});

it('a leader to whom a member says what cannot be names that member, and keeps its database', () => {
  serving = true;
  watch.disbelieved({ kind: 'disbelieved', member: r2, claimed: 42 as Slot, lastSlot: 9 as Slot });
  tickAt(2000);
  const named =
    /^r2 says .* slot 42 is chosen, .*nothing above slot 9: r2 holds data that is not this group's\..*Stop it/;
  expect(lines.map(({ msg }) => msg)).toEqual([expect.stringMatching(named)]);
  expect(watch.disbelief).toMatch(named);
  expect(lost).toEqual([]);
  // Another leader finds out for itself.
  serving = false;
  watch.tick();
  expect(watch.disbelief).toBeNull();
});

it('a log near its bound is told of at most once a second, until it is smaller, and whether it is urgent', () => {
  logBytes = 799;
  tickAt(0);
  expect(pressures).toEqual([]);
  logBytes = 800;
  tickAt(100);
  tickAt(1099);
  expect(pressures).toEqual([false]);
  logBytes = 899;
  tickAt(1100);
  expect(pressures).toEqual([false, false]);
  logBytes = 900;
  tickAt(2100);
  expect(pressures).toEqual([false, false, true]);
  logBytes = 0;
  tickAt(5000);
  expect(pressures).toHaveLength(3);
});

it('a recovery is over when what the group had within a second before is there, though others go on', () => {
  tracker.begin('databaseLost', 'catchingUp');
  pointer = 10;
  tickAt(100);
  // It took long to come to 89: others have gone far beyond.
  [pointer, commitPoint] = [95, 500];
  tickAt(1200);
  expect(tracker.current()).not.toBeNull();
  [pointer, commitPoint] = [480, 600];
  tickAt(1600);
  expect(tracker.current()).not.toBeNull();
  [pointer, commitPoint] = [590, 700];
  tickAt(2100);
  expect(tracker.current()).toBeNull();
});

it('a recovery is over when everything is there and the replica counts again', () => {
  tracker.begin('databaseLost', 'catchingUp');
  tickAt(100);
  pointer = 89;
  isHealthy = false;
  tickAt(200);
  expect(tracker.current()).not.toBeNull();
  isHealthy = true;
  tickAt(300);
  expect(tracker.current()).toBeNull();
});
