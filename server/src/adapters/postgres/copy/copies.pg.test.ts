/** Copies of PostgreSQL, held against the contract that those of the model are held against. */
import { beforeAll } from 'vitest';
import { describeCopies } from '../../../ports/testing/copy-contract.ts';
import type { PgBinaries } from '../binaries.ts';
import { testBinaries } from './testing/plain-postgres.ts';
import { openRealCopies } from './testing/real-copies.ts';

let binaries: PgBinaries;
beforeAll(async () => {
  binaries = await testBinaries();
});

describeCopies('PostgreSQL', () => openRealCopies(binaries));
