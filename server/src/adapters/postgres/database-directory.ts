/**
 * A replica's database on disk, behind the port DatabaseDirectory:
 *
 *   postgres/                  in use; `data`, `state.json` (directory-state.ts), and `cluster`, which names the group whose data it holds
 *   postgres.condemned.json    what is in `postgres` must be replaced before anything is started
 *
 * Invariant: a directory without the name of this very cluster is never used: data of another group, such as one that was restored from a backup since, would be taken for the group's own.
 */
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type {
  DatabaseDirectory,
  DirectoryContents,
  DirectoryState,
  Loss,
} from '../../ports/database-directory.ts';
import type { Lsn, Timeline } from '../../wal/lsn.ts';
import { positionNone, type WalPosition } from '../../wal/position.ts';
import { makeDirectories, syncPath, writeDurably, readFile } from '../file-system.ts';
import { isMountPoint } from '../mount-point.ts';
import type { PgBinaries } from './binaries.ts';
import { initializeData } from './data-directory.ts';
import { DirectoryStateError, readDirectoryState, writeDirectoryState } from './directory-state.ts';
import { inspectDataDirectory } from './inspect-data-directory.ts';
import { chooseLaunchUser, openPassage, preparePlace } from './launch-user.ts';
import { setDatabaseAside, type SetAside } from './set-aside.ts';
import { endOfWal, missingWal, readWalFile, settlePromotion } from './wal-directory.ts';

export interface Places {
  readonly dataDir: string;
  readonly postgres: string;
  /** PostgreSQL's own. */
  readonly data: string;
  readonly cluster: string;
  readonly condemned: string;
}

export function placesOf(dataDir: string): Places {
  const postgres = join(dataDir, 'postgres');
  return {
    dataDir,
    postgres,
    data: join(postgres, 'data'),
    cluster: join(postgres, 'cluster'),
    condemned: join(dataDir, 'postgres.condemned.json'),
  };
}

export interface DatabaseDirectoryOptions {
  readonly places: Places;
  /** By which a cluster is told from every other. */
  readonly cluster: string;
  readonly binaries: PgBinaries;
  /** Told of what was moved out of the way: it may be the last that is left of something. */
  readonly onSetAside: (what: SetAside) => void;
}

/** Why no copy could ever be put in the place of the database, and what to do; null if one can. */
export async function whyNotReplaceable({ postgres }: Places): Promise<string | null> {
  if (!(await isMountPoint(postgres))) return null;
  return (
    `${postgres} is a mount point: what is in it cannot be set aside, nor a copy of another replica's database be put in its place. ` +
    `Mount the volume at ${dirname(postgres)} or above it instead, with "postgres" as an ordinary directory on it.`
  );
}

/** `cluster` null: not known yet; whatever is there counts. */
export async function inspectDatabase(places: Places, cluster: string | null): Promise<DirectoryContents> {
  const files = await inspectDataDirectory(places.postgres);
  if (files === 'missing') return { kind: 'missing' };
  // Half a copy has no control file, on purpose.
  const isHalf = files !== 'usable' && (await isHalfCopied(places));
  if (files !== 'usable' && !isHalf) return { kind: 'lost', reason: files.lost };
  const owner = await ownerOf(places);
  if (cluster !== null && owner !== cluster) {
    const whose = owner === '' ? 'does not say of which group' : `holds the data of another group (${owner})`;
    return { kind: 'foreign', reason: `${places.postgres} ${whose}` };
  }
  const state = await readDirectoryState(places.postgres).catch((error: unknown) => {
    if (error instanceof DirectoryStateError && error.code === null) return error;
    throw error;
  });
  if (state instanceof DirectoryStateError) return { kind: 'lost', reason: state.message };
  if (state !== null) return { kind: 'usable', state };
  return { kind: 'lost', reason: `${places.postgres} does not say what is in it (state.json is missing)` };
}

async function isHalfCopied({ postgres }: Places): Promise<boolean> {
  const state = await readDirectoryState(postgres).catch(() => null);
  return state?.role.kind === 'copying';
}

/** The cluster whose data it is; empty: it does not say. */
export async function ownerOf({ cluster }: Places): Promise<string> {
  return (await readFile(cluster, 'utf8').catch(() => '')).trim();
}

/** From here on `postgres` holds this group's data. */
export async function claimDatabase(places: Places, cluster: string): Promise<void> {
  await makeDirectories(places.postgres, 0o700);
  await writeDurably(places.cluster, `${cluster}\n`);
}

export function openDatabaseDirectory(options: DatabaseDirectoryOptions): DatabaseDirectory {
  return new Directory(options);
}

class Directory implements DatabaseDirectory {
  private readonly options: DatabaseDirectoryOptions;

  constructor(options: DatabaseDirectoryOptions) {
    this.options = options;
  }

  async inspect(): Promise<DirectoryContents> {
    const { places, cluster } = this.options;
    // A log that is elsewhere, such as in ZooKeeper, has made none.
    await makeDirectories(places.dataDir);
    // Before anything is started or copied: it would be found out when a recovery is all but done.
    const why = await whyNotReplaceable(places);
    if (why !== null) throw new Error(why);
    return inspectDatabase(places, cluster);
  }

  write(state: DirectoryState): Promise<void> {
    return writeDirectoryState(this.options.places.postgres, state);
  }

  async create(ended: AbortSignal): Promise<DirectoryState> {
    const { places, cluster, binaries } = this.options;
    const user = await chooseLaunchUser();
    await openPassage(places.dataDir);
    await preparePlace(user, places.postgres);
    await claimDatabase(places, cluster);
    const state: DirectoryState = {
      role: { kind: 'founder', isNew: true },
      position: positionNone,
      configuration: null,
    };
    // Before there is a database: one without it would count as lost.
    await this.write(state);
    await initializeData(binaries, user, places.data, ended);
    return state;
  }

  endOfWal(timeline: Timeline, from: Lsn): Promise<Lsn> {
    return endOfWal(this.options.places.data, timeline, from);
  }

  settlePromotion(from: Timeline, timeline: Timeline): Promise<'done' | 'none' | 'other'> {
    return settlePromotion(this.options.places.data, from, timeline);
  }

  readWal(from: Lsn, timeline: Timeline, bytesMax: number): Promise<Buffer> {
    return readWalFile(this.options.places.data, from, timeline, bytesMax);
  }

  missingWal(position: WalPosition): Promise<string | null> {
    return missingWal(this.options.places.data, position);
  }

  condemn(loss: Loss): Promise<void> {
    return this.note({ loss, isAside: false });
  }

  private note(condemnation: Condemnation): Promise<void> {
    return writeDurably(this.options.places.condemned, JSON.stringify(condemnation));
  }

  async condemned(): Promise<Loss | null> {
    const noted = await this.readNote();
    if (noted === null) return null;
    const { places } = this.options;
    const state = await readDirectoryState(places.postgres).catch(() => null);
    // What was condemned is elsewhere, and a whole copy is here: only this note was left.
    if (!noted.isAside || state?.role.kind !== 'standby') return noted.loss;
    await this.acquit();
    return null;
  }

  private async readNote(): Promise<Condemnation | null> {
    const text = await readFile(this.options.places.condemned, 'utf8').catch(() => null);
    return text === null ? null : condemnationOf(text);
  }

  async setAside(): Promise<void> {
    const { places, onSetAside } = this.options;
    const noted = await this.readNote();
    if (noted === null || noted.isAside) return;
    onSetAside(await setDatabaseAside(places.postgres));
    await this.note({ ...noted, isAside: true });
  }

  async acquit(): Promise<void> {
    const { condemned, dataDir } = this.options.places;
    await rm(condemned, { force: true });
    await syncPath(dataDir);
  }
}

interface Condemnation {
  readonly loss: Loss;
  /** It is not here any more. */
  readonly isAside: boolean;
}

/** Whatever its words are: that the file is there is enough. */
function condemnationOf(text: string): Condemnation {
  try {
    const { loss, isAside } = JSON.parse(text) as Partial<Condemnation>;
    if (typeof loss?.cause === 'string') return { loss, isAside: isAside === true };
  } catch {
    // Torn when it was written, or by hand.
  }
  const loss: Loss = { cause: 'databaseLost', reason: 'it was given up before the replica was started' };
  return { loss, isAside: false };
}
