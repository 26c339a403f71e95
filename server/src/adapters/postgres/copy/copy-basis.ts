/**
 * What is known of the blocks in a directory into which a copy is being made, durably: `copy.json` beside `data`.
 *
 * A copy that was interrupted goes on with what is there. What the next attempt may believe of it depends on what the directory was before the first one, and on the sources since: this file
 * says so, for the directory's role (directory-state.ts) says only that a copy is being made.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeDurably, readFile } from '../../file-system.ts';

/** `byPosition`: whole pages of relations may be compared by the position of their last change; else everything is compared by hash. `system`: the identifier of the cluster that the files are of; null: there are none yet, or it is not known. */
export interface CopyBasis {
  readonly byPosition: boolean;
  readonly system: bigint | null;
}

const fileName = 'copy.json';
const formatVersion = 2;
const shape = z.strictObject({
  version: z.literal(formatVersion),
  byPosition: z.boolean(),
  system: z.string().regex(/^\d+$/).transform(BigInt).nullable(),
});

/** Of the attempt that was interrupted. What cannot be read, or is of another version, says that nothing is known. */
export async function readBasis(directory: string): Promise<CopyBasis> {
  const text = await readFile(join(directory, fileName), 'utf8').catch(() => '');
  const parsed = shape.safeParse(jsonOf(text));
  if (!parsed.success) return { byPosition: false, system: null };
  const { byPosition, system } = parsed.data;
  return { byPosition, system };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export async function writeBasis(directory: string, { byPosition, system }: CopyBasis): Promise<void> {
  const document = { version: formatVersion, byPosition, system: system === null ? null : String(system) };
  await writeDurably(join(directory, fileName), `${JSON.stringify(document)}\n`);
}

export async function removeBasis(directory: string): Promise<void> {
  await rm(join(directory, fileName), { force: true });
}
