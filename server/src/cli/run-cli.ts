/**
 * Runs one `barista` command: joins what can be typed to what is done, and turns every outcome into an exit code.
 *
 * How a replica is started is handed in, so that the whole command line runs in tests without PostgreSQL.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { ConfigError } from '../replica/config.ts';
import { tableOf } from './demo/cluster-report.ts';
import { packageRoot } from './demo/dashboard-build.ts';
import type { ReplicaCommand } from './demo/replica-process.ts';
import { runDemo } from './demo/run-demo.ts';
import { fetchReport, findDemo, sendFault } from './demo-client.ts';
import { CliError, exitCodes, type ExitCode } from './errors.ts';
import { buildProgram, type Commands } from './program.ts';
import { serve, type StartReplica } from './serve.ts';

/** `argv` as in process.argv. Returns the exit code; throws nothing. */
export async function runCli(argv: readonly string[], start: StartReplica): Promise<ExitCode> {
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  let code: ExitCode = exitCodes.ok;
  const commands: Commands = {
    async demo({ dashboard, ...options }) {
      code = await runDemo({ options, dashboard, command: replicaCommand(argv[1] ?? '') });
    },
    async serve(configFile) {
      code = await serve(configFile, start);
    },
    async status(target, json) {
      const report = await fetchReport(await findDemo(target.dashboardPort, target.dataDir));
      print(json ? JSON.stringify(report, null, 2) : tableOf(report));
    },
    async fault(target, request) {
      await sendFault(await findDemo(target.dashboardPort, target.dataDir), request);
    },
  };
  const program = buildProgram(commands, packageVersion());
  for (const each of [
    program,
    ...program.commands,
    ...program.commands.flatMap((command) => command.commands),
  ]) {
    each.exitOverride();
  }
  try {
    await program.parseAsync([...argv]);
    return code;
  } catch (error) {
    return explain(error);
  }
}

/** A replica of the demo runs the same program, under the same options of Node. */
function replicaCommand(entry: string): ReplicaCommand {
  return { command: process.execPath, args: [...process.execArgv, entry, 'serve', '--config'] };
}

function packageVersion(): string {
  const text = readFileSync(join(packageRoot, 'package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

function explain(error: unknown): ExitCode {
  // Commander has printed what is wrong, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof ConfigError) {
    process.stderr.write(`${error.message}\n`);
    return exitCodes.usage;
  }
  if (error instanceof CliError) {
    process.stderr.write(`${error.message}\n`);
    return error.exitCode;
  }
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return exitCodes.failed;
}
