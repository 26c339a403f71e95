/**
 * The checker beside the demo's cluster: a process that reads the traces of the replicas as they grow.
 *
 * Responsible for: starting and stopping it, and what it told last. Its protocol is api/check.ts. Whatever becomes of it, the cluster goes on.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { CheckStatus, ProcessesWord } from '../api/check.ts';
import type { ClusterReplica } from '../api/status.ts';
import { CliError, exitCodes } from '../main/errors.ts';

const TELL_MS = 250;
const GRACE_MS = 2000;
/** Of a busy machine. */
const BEGIN_MS = 60_000;

const count = z.number().min(0);
const checkStatus: z.ZodType<CheckStatus> = z.strictObject({
  checked: count,
  behind: count,
  behindMs: count,
  skipped: count,
  refused: z
    .strictObject({
      replica: z.string(),
      action: z.string(),
      reason: z.string(),
      run: z.string(),
      seq: count,
    })
    .nullable(),
  ended: z.string().nullable(),
});

export interface CheckerCommand {
  readonly command: string;
  readonly args: readonly string[];
}

export interface CheckerOptions {
  readonly command: CheckerCommand;
  /** Where it says what is wrong with itself. */
  readonly logFile: string;
  readonly cluster: () => readonly ClusterReplica[];
  /** One that has said nothing by then is ended. */
  readonly beginMs?: number;
}

export interface Checker {
  /** Settled once it knows what was recorded before, or has ended; it has so long (`beginMs`). What starts to record earlier may be taken for that, and never be read. */
  readonly watching: Promise<void>;
  status(): CheckStatus;
  stop(): Promise<void>;
}

/** It is part of the repository, not of an installed package. @throws CliError if it is not there */
export function checkerCommand(
  root: string,
  traceDirs: readonly string[],
  keepsTraces: boolean,
): CheckerCommand {
  const main = join(root, 'harness', 'conformance', 'live', 'main.ts');
  const loader = findLoader(root);
  if (!existsSync(main) || loader === null) {
    throw new CliError(
      '--check needs the specifications and the checker, which are in a checkout of the repository ("npm ci" there first), not in an installed package.',
      exitCodes.usage,
    );
  }
  const drop = keepsTraces ? [] : ['--drop'];
  return { command: process.execPath, args: ['--import', loader, main, ...drop, ...traceDirs] };
}

/** What runs TypeScript in the repository. */
function findLoader(root: string): string | null {
  try {
    return pathToFileURL(createRequire(join(root, 'package.json')).resolve('tsx')).href;
  } catch {
    return null;
  }
}

export function startChecker({ command, logFile, cluster, beginMs = BEGIN_MS }: CheckerOptions): Checker {
  let status: CheckStatus = { checked: 0, behind: 0, behindMs: 0, skipped: 0, refused: null, ended: null };
  const log = openSync(logFile, 'a', 0o600);
  const child: ChildProcess = spawn(command.command, [...command.args], {
    // Ctrl-C is for whoever started it.
    detached: true,
    stdio: ['pipe', 'pipe', log],
  });
  closeSync(log);
  const end = (why: string): void => {
    status = { ...status, ended: status.ended ?? why };
  };
  const gone = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      end(`the checker has ended (${signal ?? `exit code ${code}`}); its output is in ${logFile}`);
      resolve();
    });
    child.once('error', (error) => {
      end(`the checker cannot be started: ${error.message}`);
      resolve();
    });
  });
  const lines = createInterface({ input: child.stdout! });
  const hasBegun = new Promise<void>((resolve) => lines.once('line', () => resolve()));
  const late = setTimeout(() => {
    end(`the checker has not begun within ${beginMs} ms`);
    child.kill('SIGKILL');
  }, beginMs);
  const watching = Promise.race([gone, hasBegun]).then(() => clearTimeout(late));
  lines.on('line', (line) => {
    const told = checkStatus.safeParse(parsed(line));
    if (told.success) status = told.data;
    else end(`the checker said what cannot be read: ${line.slice(0, 200)}`);
  });
  child.stdin!.on('error', () => {});
  const timer = setInterval(() => {
    const word: ProcessesWord = {
      atUs: Number(process.hrtime.bigint() / 1000n),
      processes: Object.fromEntries(cluster().map((replica) => [replica.id, replica.process])),
    };
    if (child.stdin!.writable) child.stdin!.write(`${JSON.stringify(word)}\n`);
  }, TELL_MS);
  return {
    watching,
    status: () => status,
    async stop() {
      clearInterval(timer);
      child.stdin!.end();
      const kill = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
      await gone;
      clearTimeout(kill);
    },
  };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
