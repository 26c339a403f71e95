/** The `barista` command as it is installed; bin/barista.js calls it. */
import type { ExitCode } from '../main/errors.ts';
import { databaseToKeep, foundReplica, keepDatabase, restoreReplica } from '../main/found-replica.ts';
import { runCli } from './run-cli.ts';
import { startReplica } from '../main/start-replica.ts';

/** `argv` as in process.argv. Resolves with the exit code when the command is done. */
export function run(argv: readonly string[]): Promise<ExitCode> {
  return runCli(argv, {
    start: startReplica,
    found: foundReplica,
    restore: restoreReplica,
    databaseToKeep,
    keepDatabase,
  });
}
