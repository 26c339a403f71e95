/** Finds out, before anything is started, whether the demo's ports are free. */
import { createServer } from 'node:net';
import { CliError } from '../main/errors.ts';
import { demoHost, type PortUse } from './layout.ts';

/** `isSettled`: of a cluster that keeps the ports of its replicas. @throws CliError that names the port, what it is for, and the option that moves it */
export async function requireFreePorts(uses: readonly PortUse[], isSettled = false): Promise<void> {
  for (const use of uses) {
    const problem = await tryPort(use.port);
    if (problem !== null) throw new CliError(portProblem(use, problem, isSettled));
  }
}

/** Children of a supervisor that was killed need a moment to notice and stop: wait for their ports, up to `waitMs`. */
export async function awaitFreePorts(
  uses: readonly PortUse[],
  waitMs: number,
  isSettled: boolean,
): Promise<void> {
  const until = performance.now() + waitMs;
  for (;;) {
    try {
      return await requireFreePorts(uses, isSettled);
    } catch (error) {
      if (performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

/** Whether all of them are free. */
export async function areFree(ports: readonly number[]): Promise<boolean> {
  for (const port of ports) if ((await tryPort(port)) !== null) return false;
  return true;
}

export function portProblem({ port, purpose, option }: PortUse, code: string, isSettled: boolean): string {
  const why = code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used (${code})`;
  const other =
    isSettled && option === '--port'
      ? 'The cluster in this directory keeps its ports: for others, start a new one with --data-dir and --port.'
      : `Or choose other ports with ${option}.`;
  return `Port ${port}, needed for ${purpose}, ${why}. Stop that program. ${other}`;
}

function tryPort(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host: demoHost, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
