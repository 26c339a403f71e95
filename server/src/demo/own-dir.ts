/** Whether a directory is one that a demo may write into: one that a demo made, or one with nothing in it. */
import { readdir } from 'node:fs/promises';
import { CliError, exitCodes } from '../main/errors.ts';

/** Every demo has written this, before anything of its replicas. */
const marker = 'demo.json';

/** What a demo leaves that ended before it wrote its marker, and what a new file system has of its own. */
const leftEarly = /^(lock\.\d+\..*|demo\.json\.new|lost\+found)$/;

const namesMax = 3;

/** Writes nothing, and creates nothing. @throws CliError if the directory is somebody else's; errors of the system but that it is not there */
export async function requireOwnDir(dir: string): Promise<void> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (names.includes(marker)) return;
  const foreign = names.filter((name) => !leftEarly.test(name)).toSorted();
  if (foreign.length === 0) return;
  const more = foreign.length - namesMax;
  const list = foreign.slice(0, namesMax).join(', ') + (more > 0 ? ` and ${more} more` : '');
  throw new CliError(
    `${dir} is not empty, and no demo has made it: it holds ${list}, and no ${marker}. Nothing was written there. ` +
      'Use a new or an empty directory (--data-dir).',
    exitCodes.usage,
  );
}
