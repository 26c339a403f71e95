/**
 * What the directory of a copy's target says before, during and after.
 *
 * Responsible for: whose it is, what its blocks may be believed of, and the marks, in the order in which they are made. Copies nothing.
 * Invariants: when `markCopying` has resolved, a crash at any instant leaves a directory that is known to be half a copy, and in which no PostgreSQL starts; what is known of its blocks is not forgotten
 * before the copy is complete.
 */
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import { positionNone } from '../../../wal/position.ts';
import { CopyError } from '../../../ports/copy.ts';
import { lstat, makeDirectories, readFile, rm, syncPath, writeDurably } from '../account-files.ts';
import {
  type DirectoryState,
  DirectoryStateError,
  readDirectoryState,
  writeDirectoryState,
} from '../directory-state.ts';
import { processesIn } from '../process-identity.ts';
import type { SourceKind } from './backup-session.ts';
import { type ControlFacts, ControlFileError, readControlFacts } from './control-file.ts';
import { type CopyBasis, readBasis, removeBasis, writeBasis } from './copy-basis.ts';
import type { CopyOwner } from './copy-source.ts';
import { rememberedNames } from '../remembered/remembered-file.ts';
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
  readonly from: ReplicaId;
  readonly source: SourceKind;
  readonly sourceControl: ControlFacts;
}

/** From here on there is no database in the directory. Returns whether its pages may be compared by position. @throws CopyError if it is half a copy of another cluster */
export async function markCopying(options: MarkOptions): Promise<boolean> {
  const { directory, owner, before, from, source, sourceControl } = options;
  const basis = await basisOf(directory, before);
  const { system, checksums } = sourceControl;
  if (basis.system !== null && basis.system !== system) {
    const of = `half a copy of the cluster with the identifier ${basis.system}, not ${system}`;
    throw new CopyError('unlike', `${directory} is ${of}`);
  }
  // What a primary sends may hold effects and hints of WAL that is never chosen, if the copy does not become whole.
  const byPosition = basis.byPosition && source !== 'primary';
  await makeDirectories(directory, 0o700);
  await writeDurably(join(directory, 'cluster'), `${owner.cluster}\n`);
  await writeBasis(directory, { byPosition, system });
  // What the files of the database before had says nothing of those that come.
  for (const name of Object.values(rememberedNames)) await rm(join(directory, name), { force: true });
  const { position = positionNone, configuration = null } = before.state ?? {};
  await writeDirectoryState(directory, { role: { kind: 'copying', from }, position, configuration });
  await syncPath(dirname(directory));
  await makeDirectories(join(directory, 'data'), 0o700);
  await rm(join(directory, 'data', controlFile), { force: true });
  return checksums && basis.byPosition;
}

/** Only a standby has nothing but chosen WAL: whatever else a directory says of itself, its blocks may tell of more. */
async function basisOf(directory: string, { isThere, state, control }: Before): Promise<CopyBasis> {
  if (!isThere) return { byPosition: true, system: null };
  const role = state?.role.kind;
  const said =
    role === 'copying' ? await readBasis(directory) : { byPosition: role === 'standby', system: null };
  const system = control?.system ?? said.system;
  const hasChecksums = control === null || control.checksums;
  return { byPosition: said.byPosition && system !== null && hasChecksums, system };
}

/** Everything is here, and durable: the directory is a standby's. */
export async function markStandby(directory: string, state: DirectoryState): Promise<void> {
  await syncPath(directory);
  await writeDirectoryState(directory, state);
  await removeBasis(directory);
}
