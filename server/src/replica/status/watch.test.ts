import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createOrderedApply } from '../../apply/ordered-apply.ts';
import { MemoryDatabase } from '../../apply/testing/memory-database.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types.ts';
import { Handover } from '../handover.ts';
import { RecoveryTracker } from '../database/recovery-progress.ts';
import { foundedBy } from '../testing/memory-member.ts';
import { Watch } from './watch.ts';

const logger = pino({ level: 'silent' });
const r2 = 'r2' as ReplicaId;

describe('a log that the others have purged', () => {
  let nowMs: number;
  let commitPoint: number;
  let base: number[];
  let lost: string[];
  let serving: boolean;
  let lines: { readonly msg: string }[];
  let handover: Handover;
  let watch: Watch;

  beforeEach(() => {
    nowMs = 0;
    commitPoint = 0;
    base = [];
    lost = [];
    serving = false;
    lines = [];
    const apply = createOrderedApply({
      log: { read: () => Promise.resolve([]) },
      commitPoint: 0 as Slot,
      onApplied: () => {},
      onEvent: () => {},
      onDiverged: () => {},
      onDatabaseDown: () => {},
      batchEntriesMax: 1,
      batchBytesMax: 1,
      queueEntriesMax: 1,
    });
    handover = new Handover({
      apply,
      logger,
      commitPoint: () => commitPoint as Slot,
      configuration: () => foundedBy([r2]),
      restored: (slot) => base.push((commitPoint = slot)),
      leadershipKnown: () => {},
      suspect: () => {},
      retryMs: 1000,
    });
    watch = new Watch({
      snapshot: () => ({ role: serving ? 'leader' : 'follower', serving, commitPoint: commitPoint as Slot }),
      pointer: () => 0 as Slot,
      logBytes: () => 0,
      logBytesMax: 1,
      databaseStallMs: 1000,
      nowMs: () => nowMs,
      tracker: new RecoveryTracker({ nowMs: () => nowMs, logger, onEvent: () => {} }),
      logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as { msg: string }) }),
      isApplying: () => handover.isApplying,
      needsLog: () => handover.needsLog,
      isHealthy: () => true,
      onStalled: () => {},
      onLogPressure: () => {},
      onLogPurged: (reason) => lost.push(reason),
    });
  });
  afterEach(() => handover.stop());

  /** A copy at slot 100 that waits for the last part of a transaction whose first is in slot 90. */
  async function comeUp(): Promise<void> {
    const database = new MemoryDatabase();
    const keep = { keepFrom: 90 as Slot, leadership: ballotNone, configuration: null };
    database.contents = { ...database.contents, pointer: 100 as Slot, keep };
    handover.up(database, await database.applicationPointer(), true);
    await vi.waitFor(() => expect(database.sessionsEnded).toBe(1));
  }

  it('is noticed, too, while a copied database waits for the parts of a transaction', async () => {
    await comeUp();
    expect(base).toEqual([89]);
    expect(handover.isApplying).toBe(false);
    watch.purgedByPeer(r2, 120 as Slot);
    watch.tick();
    expect(lost).toEqual([]);
    nowMs = 2000;
    watch.tick();
    expect(lost).toEqual(["this replica's log ends at slot 89, and r2 purged theirs up to slot 120"]);
  });

  it('is of no interest while the database is away', async () => {
    await comeUp();
    handover.down();
    watch.purgedByPeer(r2, 120 as Slot);
    watch.tick();
    nowMs = 2000;
    watch.tick();
    expect(lost).toEqual([]);
  });

  it('is of no interest to a leader that serves: it has all that it needs, whatever a peer says', async () => {
    await comeUp();
    serving = true;
    watch.purgedByPeer(r2, 120 as Slot);
    nowMs = 2000;
    watch.tick();
    expect(lost).toEqual([]);
    // What it heard as a leader is not held against it afterwards.
    serving = false;
    watch.tick();
    expect(lost).toEqual([]);
  });

  it('is not what a leader loses its database for when a member says what cannot be: that member is named', () => {
    serving = true;
    watch.disbelieved({ kind: 'disbelieved', member: r2, claimed: 42 as Slot, lastSlot: 9 as Slot });
    watch.tick();
    const named =
      /^r2 says .* slot 42 is chosen, .*nothing above slot 9: r2 holds data that is not this group's\..*Stop it/;
    expect(lines.map(({ msg }) => msg)).toEqual([expect.stringMatching(named)]);
    expect(watch.disbelief).toMatch(named);
    // Another leader finds out for itself.
    serving = false;
    watch.tick();
    expect(watch.disbelief).toBeNull();
  });

  it('is of no interest any more once the parts have come', async () => {
    await comeUp();
    watch.purgedByPeer(r2, 95 as Slot);
    commitPoint = 100;
    nowMs = 2000;
    watch.tick();
    expect(lost).toEqual([]);
    await vi.waitFor(() => expect(handover.isApplying).toBe(true));
  });
});
