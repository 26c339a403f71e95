/**
 * Runs one `barista` command: joins what can be typed to what is done, and turns every outcome into an exit code.
 *
 * How a replica is founded, restored and started is handed in, so that the whole command line runs in tests without PostgreSQL.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { resolveTarget } from './admin/admin-client.ts';
import { runBackup } from './admin/backup-command.ts';
import { runListBackups, runVerifyBackup } from './admin/backups-command.ts';
import { runCertificates } from './admin/certificates-command.ts';
import type { Founding } from '../main/found-replica.ts';
import { runInit, runInitOnDatabase, runRestore } from './admin/founding-commands.ts';
import { runEndSession } from './admin/sessions-command.ts';
import { runTransfer } from './admin/leader-command.ts';
import { runMembers } from './admin/members-command.ts';
import { createProgressLine, megabytes, type ProgressLine } from './admin/progress-line.ts';
import { runVerify } from './admin/verify-command.ts';
import { tableOf } from '../demo/cluster-report.ts';
import type { BackUp } from '../demo/demo-backups.ts';
import { demoHost } from '../demo/layout.ts';
import { packageRoot } from '../demo/dashboard-build.ts';
import type { ReplicaCommand } from '../demo/replica-process.ts';
import { runDemo } from '../demo/run-demo.ts';
import { runDoctor } from './doctor/doctor-command.ts';
import { fetchProcesses, fetchReport, findDemo, sendFault } from './demo-client.ts';
import { exitCodes, type ExitCode } from '../main/errors.ts';
import { wordsOf } from '../main/failure-words.ts';
import { buildProgram, type Commands } from './program.ts';
import { serve, type StartReplica } from '../main/serve.ts';
import { visible } from './visible.ts';

export interface ReplicaMaker extends Founding {
  readonly start: StartReplica;
}

/** For the page of a demo, by its own server. */
const backUpDemo: BackUp = ({ port, headers, file }, onBytes) =>
  runBackup(
    { kind: 'demo', id: null, host: demoHost, port, headers, tls: null, verifyMinutes: 0 },
    file,
    false,
    { update: onBytes, clear: () => undefined },
    untilEnded(),
  );

/** `argv` as in process.argv. Returns the exit code; throws nothing. */
export async function runCli(argv: readonly string[], maker: ReplicaMaker): Promise<ExitCode> {
  const print = (line: string): void => void process.stdout.write(`${visible(line)}\n`);
  let code: ExitCode = exitCodes.ok;
  const commands: Commands = {
    async demo({ dashboard, load, ...options }) {
      const command = replicaCommand(argv[1] ?? '');
      code = await runDemo({ options, dashboard, load, command, found: maker.found, backUp: backUpDemo });
    },
    async serve(configFile) {
      code = await serve(configFile, maker.start);
    },
    async status(target, json) {
      const report = await fetchReport(await findDemo(target.dashboardPort, target.dataDir));
      print(json ? JSON.stringify(report, null, 2) : tableOf(report));
    },
    async fault(target, request) {
      print(await sendFault(await findDemo(target.dashboardPort, target.dataDir), request));
    },
    async healAll(target) {
      const port = await findDemo(target.dashboardPort, target.dataDir);
      for (const { id, process } of await fetchProcesses(port)) {
        if (process === 'paused') print(await sendFault(port, { action: 'resume', replica: id }));
        if (process === 'stopped') print(await sendFault(port, { action: 'restart', replica: id }));
      }
      print(await sendFault(port, { action: 'heal' }));
    },
    certificates: (args) => runCertificates(args, print),
    init: (configFile, cluster) => runInit(configFile, cluster, maker, print),
    initOnDatabase: (configFile, sure) => runInitOnDatabase(configFile, sure, maker, print),
    restore: (configFile, from) => runRestore(configFile, from, maker, print, progressOf('Unpacked')),
    transferLeadership: async (where, args) => runTransfer(await resolveTarget(where), args, print),
    endSession: async (where, pid) => runEndSession(await resolveTarget(where), pid, print),
    members: async (where, action) => runMembers(await resolveTarget(where), action, print),
    async verify(where, args) {
      code = await runVerify(await resolveTarget(where), args, print);
    },
    async doctor(configFile, json) {
      code = await runDoctor(configFile, json, print);
    },
    listBackups: (directory, configFile, json) => runListBackups(directory, configFile, json, print),
    verifyBackup: (args) =>
      runVerifyBackup(args, { say: print, progress: progressOf('Unpacked'), signal: untilEnded() }),
    async backup(where, file, replace) {
      const { bytes, header } = await runBackup(
        await resolveTarget(where),
        file,
        replace,
        progressOf('Received'),
        untilEnded(),
      );
      print(
        `${file}: ${megabytes(bytes)}, group ${header.group} at slot ${header.position.slot} or later, checked.`,
      );
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

/** What is to be cleared away must not be left behind by Ctrl-C. */
function untilEnded(): AbortSignal {
  const control = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () => control.abort(new Error(`ended by ${name}`)));
  return control.signal;
}

/** To standard error, so that what a command prints can be piped. */
function progressOf(what: string): ProgressLine {
  return createProgressLine({
    what,
    write: (text) => void process.stderr.write(text),
    terminal: process.stderr.isTTY,
    nowMs: () => performance.now(),
  });
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
  const { text, exitCode } = wordsOf(error);
  process.stderr.write(`${visible(text)}\n`);
  return exitCode;
}
