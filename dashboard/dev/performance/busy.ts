/** Development only: the process of a busy simulated group, as whoever measures sees it. */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { BusyGroupSetup, FromBusyGroup } from './busy-group.ts';

export interface Busy {
  readonly port: number;
  /** Requests that were answered so far, and how much of its time has passed. */
  readonly answered: () => { readonly requests: number; readonly simulatedMs: number };
  readonly end: () => void;
}

/** Its young objects are many: with room for them it leaves more of the machine to the page. */
const nodeOptions = ['--max-semi-space-size=64', '--import', 'tsx'];

/** `onTrouble`: something has happened in the group that must not; its figures are of no use. */
export async function beginBusyGroup(
  setup: BusyGroupSetup,
  onTrouble: (text: string) => void,
): Promise<Busy> {
  const child = fork(join(import.meta.dirname, 'busy-group.ts'), [JSON.stringify(setup)], {
    execArgv: nodeOptions,
  });
  let answered = { requests: 0, simulatedMs: 0 };
  const port = await new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`the group's process ended with ${code}`)));
    child.on('message', (message: FromBusyGroup) => {
      if (message.kind === 'ready') resolve(message.port);
      else if (message.kind === 'answered') answered = message;
      else onTrouble(message.text);
    });
  });
  return { port, answered: () => answered, end: () => void child.kill() };
}
