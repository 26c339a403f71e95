/** A process for tests to kill: starts the PostgreSQL of the directory given, says its pid, and waits for ever. */
import { openTestInstance } from './test-instance.ts';

async function main(directory: string): Promise<void> {
  const instance = await openTestInstance(directory);
  await instance.start({ kind: 'primary' });
  process.stdout.write(`${instance.pid()}\n`);
  setInterval(() => undefined, 60_000);
}

void main(process.argv[2] ?? '');
