/** A process for tests to kill: starts a PostgreSQL in the directory given, says its pid, and waits for ever. */
import { startPostgres } from '../postgres-server.ts';
import { testBinaries } from './replicated-pair.ts';

async function main(directory: string): Promise<void> {
  const server = await startPostgres({ directory, binaries: await testBinaries() });
  process.stdout.write(`${server.pid()}\n`);
  setInterval(() => undefined, 60_000);
}

void main(process.argv[2] ?? '');
