/** What is to be suspected of the blocks in a directory that is made equal to another replica's. Pure. */
import type { Suspicion } from '../adapters/postgres/copy/copy-basis.ts';
import type { Loss } from '../ports/database-directory.ts';

export function suspicionOf({ partedAt, hintsUntrusted }: Loss): Suspicion {
  return { hintsUntrusted: hintsUntrusted ?? false, parted: partedAt ?? null };
}
