/**
 * What the directory of a copy's target says before, during and after.
 *
 * Responsible for: whose it is, what its blocks may be believed of, and the marks, in the order in which they are made. Copies nothing.
 * Invariants: when `markCopying` has resolved, a crash at any instant leaves a directory that is known to be half a copy, and in which no PostgreSQL starts; what was suspected of its blocks is not forgotten
 * before the copy is complete.
 */
import { lstat, mkdir, readFile, realpath, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ReplicaId } from '../../../multipaxos/types.ts';
import { positionNone } from '../../../payload/wal/wal-history.ts';
import { CopyError } from '../../../ports/copy.ts';
import { syncPath, writeDurably } from '../../file-system.ts';
import {
  type DirectoryState,
  DirectoryStateError,
  readDirectoryState,
  writeDirectoryState,
} from '../directory-state.ts';
import { processesIn } from '../process-identity.ts';
import type { SourceKind } from './backup-session.ts';
import { type ControlFacts, ControlFileError, readControlFacts } from './control-file.ts';
import {
  bothSuspicions,
  type CopyBasis,
  noSuspicion,
  readBasis,
  removeBasis,
  type Suspicion,
  writeBasis,
} from './copy-basis.ts';
import type { CopyOwner } from './copy-source.ts';
import type { Trust } from './evidence.ts';
import { controlFile } from './file-class.ts';

export interface Before {
  /** Some files of a database. */
  readonly isThere: boolean;
  /** Null: it does not say, or cannot be understood. */
  readonly state: DirectoryState | null;
  /** Null: there is none, or it is damaged. */
  readonly control: ControlFacts | null;
}

/** `directory` holds `data`. @throws CopyError if it is somebody else's; Error if a PostgreSQL runs there */
export async function lookAt(directory: string, owner: CopyOwner): Promise<Before> {
  const data = join(directory, 'data');
  // The system tells where a process is by the directory's true name.
  if ((await processesIn(await realpath(data).catch(() => data))).length > 0)
    throw new Error(`a PostgreSQL runs in ${data}`);
  const isThere = (await lstat(data).catch(() => null)) !== null;
  const cluster = (await readFile(join(directory, 'cluster'), 'utf8').catch(() => '')).trim();
  if ((isThere || cluster !== '') && cluster !== owner.cluster) {
    const whose =
      cluster === '' ? 'does not say of which group it is' : `holds the data of cluster ${cluster}`;
    throw new CopyError('unlike', `${directory} ${whose}: move it away first`);
  }
  const state = await readDirectoryState(directory).catch((error: unknown) => {
    if (error instanceof DirectoryStateError) return null;
    throw error;
  });
  const control = await readFile(join(data, controlFile)).catch(() => null);
  return { isThere, state, control: control === null ? null : factsIn(control) };
}

function factsIn(bytes: Buffer): ControlFacts | null {
  try {
    return readControlFacts(bytes);
  } catch (error) {
    if (error instanceof ControlFileError) return null;
    throw error;
  }
}

export interface MarkOptions {
  readonly directory: string;
  readonly owner: CopyOwner;
  readonly before: Before;
  /** What the caller suspects of the blocks that are here. */
  readonly suspicion: Suspicion;
  readonly from: ReplicaId;
  readonly source: SourceKind;
  readonly sourceControl: ControlFacts;
}

/** From here on there is no database in the directory. Returns how far its blocks may be believed. @throws CopyError if it is half a copy of another cluster */
export async function markCopying(options: MarkOptions): Promise<Trust> {
  const { directory, owner, before, from, source, sourceControl } = options;
  const basis = await basisOf(directory, before, options.suspicion);
  const { system, checksums } = sourceControl;
  if (basis.system !== null && basis.system !== system) {
    const of = `half a copy of the cluster with the identifier ${basis.system}, not ${system}`;
    throw new CopyError('unlike', `${directory} is ${of}`);
  }
  // What a primary sends may hold effects and hints of WAL that is never chosen, if the copy does not become whole.
  const hintsUntrusted = basis.hintsUntrusted || source === 'primary';
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeDurably(join(directory, 'cluster'), `${owner.cluster}\n`);
  await writeBasis(directory, { ...basis, hintsUntrusted, system });
  const { position = positionNone, configuration = null } = before.state ?? {};
  await writeDirectoryState(directory, { role: { kind: 'copying', from }, position, configuration });
  await syncPath(dirname(directory));
  await mkdir(join(directory, 'data'), { recursive: true, mode: 0o700 });
  await rm(join(directory, 'data', controlFile), { force: true });
  return { positions: checksums && !basis.hintsUntrusted, parted: basis.parted };
}

async function basisOf(directory: string, before: Before, suspicion: Suspicion): Promise<CopyBasis> {
  const { isThere, state, control } = before;
  if (!isThere) return { ...noSuspicion, system: null };
  const isCopying = state?.role.kind === 'copying';
  const earlier = isCopying ? await readBasis(directory) : { ...noSuspicion, system: null };
  const system = control?.system ?? earlier.system;
  const both = bothSuspicions(earlier, suspicion);
  // A leader's directory has WAL of its own: where it parts must be known, or nothing of it is believed.
  const hasLed = state === null || state.role.kind === 'primary' || state.role.kind === 'promoting';
  const isUnknown = system === null || (hasLed && suspicion.parted === null);
  const saidSo = state?.role.kind === 'primary' && state.role.hintsUntrusted;
  const noChecksums = control !== null && !control.checksums;
  return { ...both, system, hintsUntrusted: both.hintsUntrusted || isUnknown || saidSo || noChecksums };
}

/** Everything is here, and durable: the directory is a standby's. */
export async function markStandby(directory: string, state: DirectoryState): Promise<void> {
  await syncPath(directory);
  await writeDirectoryState(directory, state);
  await removeBasis(directory);
}
