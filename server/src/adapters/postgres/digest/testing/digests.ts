/** For tests: digests of several PostgreSQLs, and where they differ. */
import type { Slot } from '../../../../multipaxos/types/names.ts';
import type { DataDigest } from '../../../../ports/control.ts';
import type { DigestSnapshot, SnapshotView } from '../../../../ports/digest.ts';
import type { PlainPostgres } from '../../copy/testing/plain-postgres.ts';
import { createDigestSource } from '../digest-source.ts';

const never = new AbortController().signal;
const slot = 7 as Slot;

export interface OpenOptions {
  readonly isMissing?: (view: SnapshotView) => boolean;
  readonly slot?: number;
}

export async function openDigest(
  postgres: Pick<PlainPostgres, 'socketDir'>,
  version: string,
  options: OpenOptions = {},
): Promise<DigestSnapshot> {
  const prepared = await createDigestSource({ socketDir: postgres.socketDir, version }).prepare();
  return prepared.open((options.slot ?? slot) as Slot, options.isMissing ?? (() => false), never);
}

export async function digestOf(
  postgres: Pick<PlainPostgres, 'socketDir'>,
  version: string,
): Promise<DataDigest> {
  const snapshot = await openDigest(postgres, version);
  try {
    return await snapshot.digest(never);
  } finally {
    await snapshot.close();
  }
}

/** Names of what is not the same, or is in one only. What one of them has skipped, or sequences that one leaves out, count as equal. */
export function differing(one: DataDigest, other: DataDigest): string[] {
  const names = new Set<string>();
  for (const [here, there] of [
    [one, other],
    [other, one],
  ] as const) {
    const lines = new Set(there.objects.map((object) => JSON.stringify(object)));
    const skipped = new Set(there.skipped.map(({ database, name }) => `${database}: ${name}`));
    for (const object of here.objects) {
      const name = `${object.database}: ${object.name}`;
      const isOut = skipped.has(name) || skipped.has(`${object.database}: `);
      if (isOut || (object.kind === 'sequence' && !there.hasSequences)) continue;
      if (!lines.has(JSON.stringify(object))) names.add(name);
    }
  }
  return [...names].toSorted();
}
