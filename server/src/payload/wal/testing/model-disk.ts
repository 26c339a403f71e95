/**
 * What is on the disk of a modelled PostgreSQL: pages of data as they were last written, transactions' outcomes, the control file, the WAL; and what its replica has noted beside it.
 *
 * Plain data, changed by the parts of the model. Survives every process; `wipe` loses it.
 */
import type { Random } from '../../../ports/testing/random.ts';
import type { DirectoryState, Loss } from '../../../ports/database-directory.ts';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import type { CheckpointFacts } from './model-records.ts';
import { WalFiles } from './wal-files.ts';

/** A value that a transaction has put at the end of a key's list; null: it has dropped all that was in it. It counts if the transaction is committed. */
export interface Row {
  readonly xid: bigint;
  readonly value: string | null;
}

/** `lsn`: the end of the record that changed it last. A recovery leaves alone what is newer than its record. */
export interface Page {
  readonly lsn: Lsn;
  readonly rows: readonly Row[];
}

export type Outcome = 'committed' | 'aborted';

/** Transactions whose outcomes were let go of: `ended` of them, all below `below`. Those of them that have rows on a page that a recovery from here on finds are committed. */
export interface Settled {
  readonly below: bigint;
  readonly ended: number;
}

export const nothingSettled: Settled = { below: 0n, ended: 0 };

export interface Control {
  readonly system: bigint;
  /** The newest timeline that was come to. */
  readonly timeline: Timeline;
  /** Of the last checkpoint: a recovery begins here, on this timeline. */
  readonly redo: CheckpointFacts;
  readonly redoTimeline: Timeline;
  /** Below this a recovery must not end: pages on disk may be as new. */
  readonly mustReach: Lsn;
  readonly settled: Settled;
}

export class ModelDisk {
  readonly wal = new WalFiles();
  control: Control | null = null;
  pages = new Map<string, Page>();
  outcomes = new Map<bigint, Outcome>();
  /** Names of prepared transactions. */
  prepared = new Map<string, bigint>();
  state: DirectoryState | null = null;
  condemned: Loss | null = null;
  isAside = false;
  /** No start succeeds with these files, and PostgreSQL does not say that they are damaged. */
  isUnfit = false;
  /** PostgreSQL has not noticed yet. */
  lacksFile = false;
  /** PostgreSQL runs, and lets in no session: a catalog is damaged that it needs for one. */
  refusesSessions = false;
  /** How often a database was moved out of the way. */
  setAside = 0;

  /** A recovery begins there from now on, and needs no outcomes of before. */
  checkpointed(control: Control): void {
    this.control = control;
    for (const xid of this.outcomes.keys()) if (xid < control.settled.below) this.outcomes.delete(xid);
  }

  /** The files of PostgreSQL are gone, and what was said of them. */
  wipe(): void {
    this.removeData();
    this.state = null;
  }

  removeData(): void {
    this.control = null;
    this.isUnfit = false;
    this.lacksFile = false;
    this.refusesSessions = false;
    this.wal.removeAll();
    this.pages = new Map();
    this.outcomes = new Map();
    this.prepared = new Map();
  }

  /** The other has the same then, as by copying all files. */
  copyTo(other: ModelDisk): void {
    other.removeData();
    this.wal.copyTo(other.wal);
    other.control = this.control;
    other.pages = new Map(this.pages);
    other.outcomes = new Map(this.outcomes);
    other.prepared = new Map(this.prepared);
    other.state = this.state;
  }

  /** All processes have died, or the machine: of WAL that was not synced some is left. */
  crash(random: Random): void {
    const { from, to } = this.wal.unsynced;
    if (to > from) this.wal.lose(random.between(from, to) as Lsn);
  }
}
