/** Finds out, before anything is started, whether the demo's ports are free. */
import { createServer } from 'node:net';
import { CliError } from '../main/errors.ts';
import { demoHost, type PortUse } from './layout.ts';

/** @throws CliError that names the port, what it is for, and the option that moves it */
export async function requireFreePorts(uses: readonly PortUse[]): Promise<void> {
  for (const use of uses) {
    const problem = await tryPort(use.port);
    if (problem !== null) throw new CliError(portProblem(use, problem));
  }
}

/** Children of a supervisor that was killed need a moment to notice and stop: wait for their ports, up to `waitMs`. */
export async function awaitFreePorts(uses: readonly PortUse[], waitMs: number): Promise<void> {
  const until = performance.now() + waitMs;
  for (;;) {
    try {
      return await requireFreePorts(uses);
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

export function portProblem(use: PortUse, code: string): string {
  const why = code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used (${code})`;
  return `Port ${use.port}, needed for ${use.purpose}, ${why}. Stop that program, or choose other ports with ${use.option}.`;
}

function tryPort(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host: demoHost, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
