/**
 * The directory of a modelled database as one life of its replica's process sees it: the port DatabaseDirectory over a disk in memory.
 *
 * Invariants: those of the port; what is written when the process dies is there or not.
 */
import type { Timers } from '../../../ports/clock.ts';
import type {
  DatabaseDirectory,
  DirectoryContents,
  DirectoryState,
  Loss,
} from '../../../ports/database-directory.ts';
import type { Random } from '../../../ports/testing/random.ts';
import { formatLsn, segmentBytes, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import { findEndOfWal } from '../../../wal/record/end-of-wal.ts';
import { positionNone } from '../../../wal/position.ts';
import { encodeRecord } from '../../../wal/record/testing/encode-record.ts';
import { type ModelDisk, nothingSettled } from './model-disk.ts';
import { recordOf } from './model-records.ts';

/** Where the WAL of a new database begins. */
const firstLsn = segmentBytes as Lsn;
const firstXid = 700n;

export class ModelDirectory implements DatabaseDirectory {
  private readonly disk: ModelDisk;
  private readonly there: Timers;
  private readonly random: Random;

  constructor(disk: ModelDisk, there: Timers, random: Random) {
    this.disk = disk;
    this.there = there;
    this.random = random;
  }

  /** The disk has done it, and the process has heard so: it may die in between. */
  private async io<T>(work: () => T): Promise<T> {
    await this.pause();
    const result = work();
    await this.pause();
    return result;
  }

  private pause(): Promise<void> {
    const { random } = this;
    const ms = random.chance(0.02) ? random.next() * 30 : random.next();
    return new Promise((resolve) => this.there.after(ms, resolve));
  }

  inspect(): Promise<DirectoryContents> {
    return this.io(() => {
      const { control, state } = this.disk;
      if (control === null && state === null) return { kind: 'missing' };
      if (control === null && state?.role.kind === 'founder') return { kind: 'missing' };
      if (control === null && state?.role.kind !== 'copying')
        return { kind: 'lost', reason: 'pg_control is missing' };
      return state === null ? { kind: 'lost', reason: 'state.json is missing' } : { kind: 'usable', state };
    });
  }

  write(state: DirectoryState): Promise<void> {
    return this.io(() => {
      this.disk.state = state;
    });
  }

  async create(ended: AbortSignal): Promise<DirectoryState> {
    const state: DirectoryState = {
      role: { kind: 'founder', isNew: true },
      position: positionNone,
      configuration: null,
    };
    await this.write(state);
    ended.throwIfAborted();
    await this.io(() => makeDatabase(this.disk, BigInt(1 + this.random.below(2 ** 30))));
    ended.throwIfAborted();
    return state;
  }

  async endOfWal(timeline: Timeline, from: Lsn): Promise<Lsn> {
    await this.pause();
    const { control } = this.disk;
    // WAL of before a checkpoint may be removed, and was whole.
    const isRemoved = control !== null && control.redoTimeline === timeline && control.redo.redo > from;
    const start = isRemoved ? control.redo.redo : from;
    const read = (at: Lsn, bytesMax: number): Promise<Uint8Array> =>
      Promise.resolve(this.disk.wal.read(at, timeline, bytesMax));
    const found = await findEndOfWal(read, start);
    await this.pause();
    if (found.code === 'found') return found.end;
    throw new Error(
      `the WAL of timeline ${timeline} is not whole up to ${formatLsn(start)}: ${found.fault?.text}`,
    );
  }

  settlePromotion(from: Timeline, timeline: Timeline): Promise<'done' | 'none' | 'other'> {
    return this.io(() => {
      const reached = this.disk.control?.timeline ?? 0;
      if (reached > from) return reached === timeline ? 'done' : 'other';
      this.disk.wal.removeAbove(from);
      return 'none';
    });
  }

  readWal(from: Lsn, timeline: Timeline, bytesMax: number): Promise<Buffer> {
    return this.io(() => this.disk.wal.read(from, timeline, bytesMax));
  }

  missingWal(): Promise<string | null> {
    return this.io(() => (this.disk.isUnfit ? 'pg_wal lacks WAL that is needed' : null));
  }

  condemn(loss: Loss): Promise<void> {
    return this.io(() => {
      this.disk.condemned = loss;
      this.disk.isAside = false;
    });
  }

  condemned(): Promise<Loss | null> {
    return this.io(() => {
      const { condemned, isAside, state } = this.disk;
      if (condemned === null || !isAside || state?.role.kind !== 'standby') return condemned;
      this.disk.condemned = null;
      return null;
    });
  }

  setAside(): Promise<void> {
    return this.io(() => {
      const { disk } = this;
      if (disk.condemned === null || disk.isAside) return;
      if (disk.control !== null || disk.state !== null) disk.setAside += 1;
      disk.wipe();
      disk.isAside = true;
    });
  }

  acquit(): Promise<void> {
    return this.io(() => {
      this.disk.condemned = null;
      this.disk.isAside = false;
    });
  }
}

/** As initdb leaves it: one checkpoint. */
export function makeDatabase(disk: ModelDisk, system: bigint): void {
  disk.removeData();
  const redo = { redo: firstLsn, nextXid: firstXid, running: [] };
  const timeline = 1 as Timeline;
  const place = { at: firstLsn, previous: 0 as Lsn, timeline, system };
  const { bytes } = encodeRecord(place, recordOf({ kind: 'checkpoint', facts: redo, isShutdown: true }));
  disk.wal.write(timeline, firstLsn, bytes);
  disk.wal.syncAll();
  disk.control = {
    system,
    timeline,
    redo,
    redoTimeline: timeline,
    mustReach: 0 as Lsn,
    settled: nothingSettled,
  };
}
