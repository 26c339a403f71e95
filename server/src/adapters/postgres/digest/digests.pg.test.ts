/** Digests of PostgreSQL, held against the contract that those of the model are held against. */
import { beforeAll } from 'vitest';
import { describeDigests, type DigestFixture } from '../../../ports/testing/digest-contract.ts';
import type { PgBinaries } from '../binaries.ts';
import { testBinaries } from '../copy/testing/plain-postgres.ts';
import { openRealFixture, type RealFixture } from '../testing/real-fixture.ts';
import { createDigestSource } from './digest-source.ts';

let binaries: PgBinaries;
beforeAll(async () => {
  binaries = await testBinaries();
});

function withDigests(fixture: RealFixture): DigestFixture {
  const clone = fixture.clone.bind(fixture);
  return Object.assign(fixture, {
    digests: () =>
      createDigestSource({ socketDir: fixture.server.instance.socketDir, version: binaries.version }),
    clone: async () => withDigests(await clone()),
  });
}

describeDigests('PostgreSQL', async () => withDigests(await openRealFixture(binaries)));
