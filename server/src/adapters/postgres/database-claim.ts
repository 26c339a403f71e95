/**
 * The claim of a database, in the root of its own directory: a name by which the group goes on from this very database (specs/StatementAdoption.tla); and, once it does, the slot of that adoption.
 *
 * Invariant: no copy has it, since copies leave out what is not PostgreSQL's, and what takes the place of the directory does not have it either.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { readFile, writeDurably } from './account-files.ts';

const shape = z.object({ name: z.string(), adoptedAt: z.int().nullable().default(null) });
export type Claim = z.infer<typeof shape>;

const pathIn = (data: string): string => join(data, 'barista-claim.json');

export function writeClaim(data: string, claim: Claim): Promise<void> {
  return writeDurably(pathIn(data), `${JSON.stringify(claim)}\n`);
}

/** Null: there is none. What cannot be read is none: another one will be made. */
export async function readClaim(data: string): Promise<Claim | null> {
  try {
    return shape.parse(JSON.parse(await readFile(pathIn(data), 'utf8')));
  } catch {
    return null;
  }
}
