/** Runs a program of a suite to its end, with everything that it started itself. */
import { spawn } from 'node:child_process';

export interface CommandOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

export interface CommandOutput {
  /** Null: ended by a signal. */
  readonly code: number | null;
  /** Standard output and error together. */
  readonly text: string;
}

/** Whatever its exit code. @throws Error if it cannot be started; the signal's reason */
export async function commandOutput(
  program: string,
  args: readonly string[],
  { cwd, env, signal }: CommandOptions,
): Promise<CommandOutput> {
  signal.throwIfAborted();
  // A process group of its own, so that it can be ended with its children.
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const end = (): void => {
    if (child.pid !== undefined) endGroup(child.pid);
  };
  signal.addEventListener('abort', end);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', (cause) =>
        reject(new Error(`${program} did not start: ${cause.message}`, { cause })),
      );
      child.once('close', (ended) => resolve(ended));
    });
    signal.throwIfAborted();
    return { code, text };
  } finally {
    signal.removeEventListener('abort', end);
  }
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // They have ended.
  }
}
