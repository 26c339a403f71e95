/** Builds the server of this checkout before it is measured. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BenchError } from './bench-error.ts';

const run = promisify(execFile);

export const ownCheckout = fileURLToPath(new URL('../..', import.meta.url));

/** What is measured is what is in the files now. */
export async function buildServer(progress: (line: string) => void): Promise<void> {
  progress('building the server');
  await run('npm', ['run', '--silent', 'build:server'], { cwd: ownCheckout }).catch((cause: unknown) => {
    const { stdout = '', stderr = '' } = cause as { readonly stdout?: string; readonly stderr?: string };
    throw new BenchError(`The server of this checkout does not build:\n${stdout}${stderr}`.trimEnd(), {
      cause,
    });
  });
}
