/** PostgreSQL behind the database ports, held against their contract. BARISTA_TEST_PG_BIN names another PostgreSQL than the embedded one. */
import { beforeAll } from 'vitest';
import { describeDatabase } from '../../ports/testing/database-server-contract.ts';
import { locateBinaries, type PgBinaries } from './binaries.ts';
import { openRealFixture } from './testing/real-fixture.ts';

let binaries: PgBinaries;
beforeAll(async () => {
  const pgBin = process.env['BARISTA_TEST_PG_BIN'];
  binaries = await locateBinaries(pgBin === undefined ? {} : { pgBin });
});

describeDatabase('PostgreSQL', () => openRealFixture(binaries));
