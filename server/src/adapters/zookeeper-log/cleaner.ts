/**
 * Removes nodes that mean nothing any more, many at a time.
 *
 * What it removes is named by nothing that is durable (slots at or below the base, pieces of entries that were replaced), so it does no harm if it is
 * cut short, done twice, or done by an opening that has lost the log: the next opening removes what is left.
 */
import { ANY_VERSION, codeOf, multi, remove } from './client/protocol.ts';
import { isBroken, type Link } from './link.ts';

const DELETES_MAX = 500;

/** @throws ZooKeeperError, LogStoreError */
export async function removeNodes(
  link: Pick<Link, 'request' | 'retried'>,
  paths: readonly string[],
): Promise<void> {
  for (let from = 0; from < paths.length; from += DELETES_MAX) {
    await removeSome(link, paths.slice(from, from + DELETES_MAX));
  }
}

async function removeSome(link: Pick<Link, 'request' | 'retried'>, paths: readonly string[]): Promise<void> {
  const ops = paths.map((path) => ({ kind: 'delete', path, version: ANY_VERSION }) as const);
  try {
    const failure = await link.request(multi(ops));
    if (failure === null) return;
    if (codeOf(failure.error) !== 'noNode') throw failure.error;
  } catch (error) {
    if (!isBroken(error)) throw error;
  }
  // Some are gone already, or that is unknown: one by one.
  await Promise.all(
    paths.map((path) =>
      link.retried(remove(path)).catch((error: unknown) => {
        if (codeOf(error) !== 'noNode') throw error;
      }),
    ),
  );
}
