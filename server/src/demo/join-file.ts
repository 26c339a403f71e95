/**
 * The replica that is waited for until it votes, as it is written down in the demo's directory: a demo that ends meanwhile goes on with it when it is started again.
 *
 *   joining.json   who was added and whom it replaces; not there: nobody is waited for
 */
import { rm } from 'node:fs/promises';
import { join as pathOf } from 'node:path';
import { z } from 'zod';
import { syncPath } from '../adapters/file-system.ts';
import { replicaName } from '../config/config-schema.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { Join } from './joining.ts';
import { readJson, writeJson } from './json-file.ts';

const replicaId = replicaName.transform((text) => text as ReplicaId);
const joinSchema = z
  .strictObject({
    added: replicaId,
    replaced: replicaId.nullable(),
    sinceVersion: z.int().min(0),
  })
  // It would be removed, with its data.
  .refine(({ added, replaced }) => added !== replaced);

const fileIn = (dir: string): string => pathOf(dir, 'joining.json');

/** Null: nothing was waited for, or it cannot be told, which `say` tells: the demo starts all the same. */
export async function readJoin(dir: string, say: (line: string) => void): Promise<Join | null> {
  const file = fileIn(dir);
  const tell = (problem: string): null => {
    say(
      `${file} ${problem}: if a replica was being replaced, that does not go on. Look at the members, and replace it again.`,
    );
    return null;
  };
  try {
    const found = await readJson(file);
    if (found === null) return null;
    const join = joinSchema.safeParse(found);
    return join.success ? join.data : tell('is not what a demo wrote');
  } catch (error) {
    return tell(`cannot be read (${(error as Error).message})`);
  }
}

/** As a whole or not at all. Null: nobody is waited for. @throws Error for people */
export async function noteJoin(dir: string, join: Join | null): Promise<void> {
  const file = fileIn(dir);
  try {
    if (join === null) {
      await rm(file, { force: true });
      await syncPath(dir);
    } else await writeJson(file, join);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`Cannot write ${file}, where it is kept which replica is waited for: ${message}`, {
      cause: error,
    });
  }
}
