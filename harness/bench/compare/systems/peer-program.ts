/** What the systems that others wrote have in common: where their programs are, how they are started, and how they end. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { endWithUs } from '../../watchdog.ts';
import type { System } from './system.ts';

const startMsMax = 60_000;
const endMsMax = 10_000;

export interface Peer {
  readonly system: System;
  readonly version: string;
  /** Every process is gone when it returns. */
  stop(): Promise<void>;
}

/** Debian has programs of this kind outside of a user's PATH. */
export function installed(program: string): string | null {
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return directories.map((directory) => join(directory, program)).find((path) => existsSync(path)) ?? null;
}

export interface PeerOptions {
  readonly root: string;
  /** First of the ports that it may take, as many as `portsNeeded`. */
  readonly port: number;
  readonly replicas: number;
  readonly clientsMax: number;
  /** Of its PostgreSQLs. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface Supervised {
  /** Its last words, if it has ended by itself. */
  ended(): string | null;
  stop(): Promise<void>;
}

/** A server's main process, which ends with us. `end`: what ends it in order. */
export function supervise(child: ChildProcess, end: 'SIGINT' | 'SIGTERM' = 'SIGINT'): Supervised {
  let words = '';
  child.stderr?.on('data', (chunk: Buffer) => (words = (words + chunk.toString()).slice(-4000)));
  const release = child.pid === undefined ? () => undefined : endWithUs(child.pid, 'QUIT');
  let over: string | null = null;
  const ended = new Promise<void>((resolve) => {
    const note = (why: string): void => {
      over ??= `${why}\n${words}`;
      resolve();
    };
    child.once('exit', (code, signal) => note(`it ended with ${signal ?? code}`));
    child.once('error', (error) => note(error.message));
  });
  return {
    ended: () => over,
    stop: async () => {
      if (over === null) child.kill(end);
      const force = setTimeout(() => child.kill('SIGKILL'), endMsMax);
      await ended;
      clearTimeout(force);
      release();
    },
  };
}

/** @throws Error with its last words, if it does not answer in time */
export async function untilAnswers(ask: () => Promise<unknown>, server: Supervised): Promise<void> {
  const deadline = performance.now() + startMsMax;
  for (;;) {
    try {
      await ask();
      return;
    } catch (cause) {
      const words = server.ended();
      if (words !== null) throw new Error(`it did not start: ${words}`, { cause });
      if (performance.now() > deadline)
        throw new Error(`it did not answer within ${startMsMax} ms: ${(cause as Error).message}`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Such as `4.3.5`. */
export async function programVersion(program: string): Promise<string> {
  const child = spawn(program, ['--version'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await new Promise((resolve) => child.once('close', resolve));
  return /\d+\.\d+(\.\d+)*/.exec(said)?.[0] ?? said.trim();
}
