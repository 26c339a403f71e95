/**
 * One replica's process under the demo: started, killed, frozen, thawed, stopped.
 *
 * Responsible for: the child process and its signals. Knows nothing of what the replica does.
 * Invariants: the child has its own process group, so that Ctrl-C reaches only the supervisor, which stops the children in order; the child
 * has a channel to the supervisor and stops by itself when that closes; its pid is only signalled while it is ours.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { ReplicaPlan } from './layout.ts';

export type ProcessState = 'running' | 'paused' | 'stopped';

/** How to start a replica: the configuration file's path is added to `args`. */
export interface ReplicaCommand {
  readonly command: string;
  readonly args: readonly string[];
}

export interface ReplicaProcess {
  readonly plan: ReplicaPlan;
  state(): ProcessState;
  pid(): number | null;
  /** It is stopped, and nobody wanted it to be. */
  endedByItself(): boolean;
  start(): void;
  /** SIGKILL. Resolves when the process is gone. */
  crash(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Asks it to stop, and kills it if it has not after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

export interface ExitReport {
  readonly plan: ReplicaPlan;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** False if the supervisor made it stop. */
  readonly unexpected: boolean;
}

export function createReplicaProcess(
  plan: ReplicaPlan,
  command: ReplicaCommand,
  onExit: (report: ExitReport) => void,
): ReplicaProcess {
  let child: ChildProcess | null = null;
  let paused = false;
  let wanted = false;
  let gone: Promise<void> = Promise.resolve();

  const start = (): void => {
    if (child !== null) return;
    const log = openSync(plan.logFile, 'a', 0o600);
    const started = spawn(command.command, [...command.args, plan.configFile], {
      detached: true,
      stdio: ['ignore', log, log, 'ipc'],
    });
    closeSync(log);
    child = started;
    paused = false;
    wanted = true;
    gone = new Promise((resolve) => {
      const ended = (code: number | null, signal: NodeJS.Signals | null): void => {
        if (child !== started) return;
        child = null;
        paused = false;
        resolve();
        onExit({ plan, code, signal, unexpected: wanted });
      };
      started.once('exit', ended);
      started.once('error', () => ended(null, null));
    });
  };
  const signal = (name: NodeJS.Signals): void => {
    child?.kill(name);
  };

  return {
    plan,
    state: () => (child === null ? 'stopped' : paused ? 'paused' : 'running'),
    pid: () => child?.pid ?? null,
    endedByItself: () => child === null && wanted,
    start,
    async crash() {
      wanted = false;
      signal('SIGKILL');
      await gone;
    },
    pause() {
      paused = child !== null;
      signal('SIGSTOP');
    },
    resume() {
      paused = false;
      signal('SIGCONT');
    },
    async stop(graceMs) {
      if (child === null) return;
      wanted = false;
      // A frozen process cannot act on a request to stop.
      signal('SIGCONT');
      signal('SIGTERM');
      const timer = setTimeout(() => signal('SIGKILL'), graceMs);
      await gone;
      clearTimeout(timer);
    },
  };
}
