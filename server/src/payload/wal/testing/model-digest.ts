/** Digests of a modelled database, for comparisons: the list of each key is an object, as a table is. */
import type { Slot } from '../../../multipaxos/types/names.ts';
import type { DataDigest, DigestObject } from '../../../ports/control.ts';
import type { Timers } from '../../../ports/clock.ts';
import type { DigestSnapshot, DigestSource, PreparedDigest, SnapshotView } from '../../../ports/digest.ts';
import type { ModelPostgres, ModelRun } from './model-postgres.ts';

const againMs = 2;
const triesMax = 500;

export class ModelDigests implements DigestSource {
  private readonly postgres: ModelPostgres;
  /** Time of the replica's process. */
  private readonly there: Timers;

  constructor(postgres: ModelPostgres, there: Timers) {
    this.postgres = postgres;
    this.there = there;
  }

  async prepare(): Promise<PreparedDigest> {
    await this.pause(this.postgres.latencyMs());
    const run = this.runNow();
    return {
      open: (slot, isMissing, signal) => this.open(run, slot, isMissing, signal),
      close: () => Promise.resolve(),
    };
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.there.after(ms, resolve));
  }

  private runNow(): ModelRun {
    const { run } = this.postgres;
    if (run === null || !run.letsIn) throw new Error('PostgreSQL is away');
    return run;
  }

  private async open(
    run: ModelRun,
    slot: Slot,
    isMissing: (view: SnapshotView) => boolean,
    signal: AbortSignal,
  ): Promise<DigestSnapshot> {
    for (let tries = 0; tries < triesMax; tries++) {
      await this.pause(againMs);
      signal.throwIfAborted();
      this.assertIs(run);
      const { hidden = new Set<bigint>() } = run.primary ?? {};
      const view = { end: run.buffers.nextXid, running: new Set([...run.buffers.running, ...hidden]) };
      if (isMissing(view)) continue;
      const objects = objectsOf(run, view);
      return {
        views: [view],
        digest: (given) => this.digest(run, { slot, objects }, given),
        close: () => Promise.resolve(),
      };
    }
    throw new Error('what is chosen does not come to show');
  }

  /** @throws Error if what the snapshot is of has gone */
  private assertIs(run: ModelRun): void {
    if (this.runNow() !== run) throw new Error('the connection was lost');
  }

  private async digest(
    run: ModelRun,
    read: Pick<DataDigest, 'slot' | 'objects'>,
    signal: AbortSignal,
  ): Promise<DataDigest> {
    await this.pause(this.postgres.latencyMs());
    signal.throwIfAborted();
    this.assertIs(run);
    return { ...read, skipped: [], hasSequences: false };
  }
}

function objectsOf({ buffers }: ModelRun, { end, running }: SnapshotView): readonly DigestObject[] {
  return buffers.keys().flatMap((name) => {
    const rows = buffers.list(name, (xid) => xid < end && !running.has(xid));
    // Nobody can tell it from one that is not there, which it is where it was vacuumed.
    if (rows.length === 0) return [];
    return [{ database: 'app', kind: 'table', name, rows: rows.length, digest: rows.join('\n') }];
  });
}
