/**
 * The claim of a database, in the root of its own directory: a name by which the group goes on from this very database (specs/StatementAdoption.tla).
 *
 * Invariant: no copy has it, since copies leave out what is not PostgreSQL's, and what takes the place of the directory does not have it either.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { readFile, rm, writeDurably } from './account-files.ts';

const shape = z.object({ name: z.string() });
const pathIn = (data: string): string => join(data, 'barista-claim.json');

export function writeClaim(data: string, name: string): Promise<void> {
  return writeDurably(pathIn(data), `${JSON.stringify({ name })}\n`);
}

/** It is of no use any more. */
export function removeClaim(data: string): Promise<void> {
  return rm(pathIn(data), { force: true });
}

/** Null: there is none. What cannot be read is none: another one will be made. */
export async function readClaim(data: string): Promise<string | null> {
  try {
    return shape.parse(JSON.parse(await readFile(pathIn(data), 'utf8'))).name;
  } catch {
    return null;
  }
}
