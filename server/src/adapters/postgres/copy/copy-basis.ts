/**
 * What is known of the blocks in a directory into which a copy is being made, durably: `copy.json` beside `data`.
 *
 * A copy that was interrupted goes on with what is there. What the next attempt may believe of it depends on what the directory was before the first one, and on the sources since: this file
 * says so, for the directory's role (directory-state.ts) says only that a copy is being made.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Lsn } from '../../../payload/wal/lsn.ts';
import { writeDurably } from '../../file-system.ts';

/** `hintsUntrusted`: blocks must be compared by hash. `parted`: the history of what is here may differ from the source's above it; null: nowhere. */
export interface Suspicion {
  readonly hintsUntrusted: boolean;
  readonly parted: Lsn | null;
}

/** `system`: the identifier of the cluster that the files are of; null: there are none yet, or it is not known. */
export interface CopyBasis extends Suspicion {
  readonly system: bigint | null;
}

export const noSuspicion: Suspicion = { hintsUntrusted: false, parted: null };

export function bothSuspicions(one: Suspicion, other: Suspicion): Suspicion {
  const parted = [one.parted, other.parted].filter((at) => at !== null);
  return {
    hintsUntrusted: one.hintsUntrusted || other.hintsUntrusted,
    parted: parted.length === 0 ? null : (Math.min(...parted) as Lsn),
  };
}

const fileName = 'copy.json';
const shape = z.strictObject({
  version: z.literal(1),
  hintsUntrusted: z.boolean(),
  parted: z.int().min(0).nullable(),
  system: z.string().regex(/^\d+$/).transform(BigInt).nullable(),
});

/** Of the attempt that was interrupted. What cannot be read says that nothing is known. */
export async function readBasis(directory: string): Promise<CopyBasis> {
  const text = await readFile(join(directory, fileName), 'utf8').catch(() => '');
  const parsed = shape.safeParse(jsonOf(text));
  if (!parsed.success) return { hintsUntrusted: true, parted: null, system: null };
  const { hintsUntrusted, parted, system } = parsed.data;
  return { hintsUntrusted, parted: parted as Lsn | null, system };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export async function writeBasis(
  directory: string,
  { hintsUntrusted, parted, system }: CopyBasis,
): Promise<void> {
  const document = { version: 1, hintsUntrusted, parted, system: system === null ? null : String(system) };
  await writeDurably(join(directory, fileName), `${JSON.stringify(document)}\n`);
}

export async function removeBasis(directory: string): Promise<void> {
  await rm(join(directory, fileName), { force: true });
}
