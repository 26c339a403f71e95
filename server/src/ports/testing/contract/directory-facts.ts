/** Facts about the directory of a database that does not run. */
import { expect, it } from 'vitest';
import { sameBallot } from '../../../multipaxos/ballot.ts';
import { decodeWalEntry } from '../../../payload/wal/wal-entry.ts';
import { timelineFile } from '../../../wal/timeline-file.ts';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import { RecordReader } from '../../../wal/record/record-reader.ts';
import { beginWalkAt } from '../../../wal/record/walk-position.ts';
import type { DirectoryState } from '../../database-directory.ts';
import type { ContractContext } from '../database-server-contract.ts';
import { type FedStandby, never } from '../database-fixture.ts';
import { putAndCommit, valuesOf } from './standby-facts.ts';

export function directoryFacts({ primary: openPrimary, group, fixture }: ContractContext): void {
  it('is missing until it is created, and says what was written to it', async () => {
    const { directory } = await fixture();
    expect(await directory.inspect()).toEqual({ kind: 'missing' });
    const state = await directory.create(never);
    expect(state.role).toEqual({ kind: 'founder', isNew: true });
    expect(await directory.inspect()).toEqual({ kind: 'usable', state });
    const next: DirectoryState = {
      ...state,
      role: { kind: 'primary', leadership: { round: 3, replica: 'r1' as never } },
    };
    await directory.write(next);
    expect(await directory.inspect()).toEqual({ kind: 'usable', state: next });
  });

  it('remembers what was condemned, until another database has taken its place', async () => {
    const { directory } = await fixture();
    const state = await directory.create(never);
    const loss = { cause: 'databaseLost', reason: 'a test' } as const;
    expect(await directory.condemned()).toBeNull();
    await directory.condemn(loss);
    expect(await directory.condemned()).toEqual(loss);
    await directory.setAside();
    expect(await directory.inspect()).toEqual({ kind: 'missing' });
    expect(await directory.condemned()).toEqual(loss);
    await directory.create(never);
    expect(await directory.condemned()).toEqual(loss);
    await directory.write({ ...state, role: { kind: 'standby' } });
    expect(await directory.condemned()).toBeNull();
    await directory.acquit();
    expect(await directory.condemned()).toBeNull();
  });

  it.each(['immediate', 'kill'] as const)('the end of its WAL is found after a crash: %s', async (mode) => {
    const primary = await openPrimary();
    const { server, directory } = primary.fixture;
    const session = await primary.connect();
    await session.distrust();
    for (let n = 0; n < 10; n++) {
      await session.put(`value ${n}`);
      await session.commit();
    }
    const flushed = await primary.primary.flushed();
    await primary.untilReceived();
    const { timeline, end: from } = primary.log.position;
    await server.stop(mode);
    const end = await directory.endOfWal(timeline, from);
    expect(end).toBeGreaterThanOrEqual(flushed);
    expect(end).toBeGreaterThanOrEqual(primary.receivedTo);
    // It is the end of a record, and the next life goes on right there.
    const reader = new RecordReader(beginWalkAt(from), () => undefined, { checksums: true });
    for (let at = from; at < end; ) {
      const bytes = await directory.readWal(at, timeline, Math.min(8192, end - at));
      expect(reader.add(bytes)).toBeNull();
      at = (at + bytes.length) as Lsn;
    }
    expect(reader.lastRecordEnd).toBe(end);
    const again = await server.startPrimary(never);
    expect([again.timeline, again.system]).toEqual([timeline, primary.primary.system]);
    expect(await again.flushed()).toBeGreaterThanOrEqual(end);
    expect(await (await primary.fixture.connect()).values()).toHaveLength(10);
  });

  it('what was received of its WAL is in it', async () => {
    const primary = await openPrimary();
    const { timeline, end: from } = primary.log.position;
    primary.chooseAlways();
    await putAndCommit({ primary }, 'a', 'b');
    const { end, leadership } = primary.log.position;
    const pieces: Buffer[] = [];
    for (let at = from as number; at < end; ) {
      const piece = await primary.fixture.directory.readWal(at as Lsn, timeline, end - at);
      pieces.push(piece);
      at += piece.length;
    }
    const chosen = primary.log.entries.flatMap((entry) => {
      const command = entry.kind === 'command' ? decodeWalEntry(entry.payload) : null;
      return command?.kind === 'range' && sameBallot(command.leadership, leadership) ? [command.data] : [];
    });
    expect(Buffer.concat(pieces).equals(Buffer.concat(chosen))).toBe(true);
  });

  it('knows how far a promotion came', async () => {
    const { log, primary, standbys } = await group(1);
    const [standby] = standbys as [FedStandby];
    primary.chooseAlways();
    await putAndCommit({ primary }, 'a');
    await primary.fixture.server.stop('immediate');
    await standby.untilReplayed(log.position.end);
    const { server, directory } = standby.fixture;
    await server.stop('fast');
    const [one, two, three] = [1, 2, 3] as [Timeline, Timeline, Timeline];
    expect(await directory.settlePromotion(one, two)).toBe('none');
    log.lead(standby.replayed, { system: log.position.system });
    // Its first step was taken, and then it died.
    await standby.fixture.beginPromotion(two, timelineFile(log.position, two));
    expect(await directory.settlePromotion(one, two)).toBe('none');
    await standby.launch();
    await standby.untilReplayed(log.position.end);
    expect(await valuesOf(standby)).toEqual(['a']);
    standby.standby.shut();
    const history = (timeline: Timeline): string => timelineFile(log.position, timeline);
    log.lead(standby.replayed, { system: log.position.system });
    const promoted = await standby.standby.promote({ timeline: three, fork: log.position.end, history });
    expect(promoted.timeline).toBe(3);
    await server.stop('immediate');
    expect(await directory.settlePromotion(two, three)).toBe('done');
    expect(await directory.settlePromotion(one, two)).toBe('other');
    expect(await directory.endOfWal(three, log.position.end)).toBeGreaterThanOrEqual(log.position.end);
  });
}
