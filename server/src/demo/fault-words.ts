/** What was done to a demo, and what is now so, in words for those who asked for it. */
import type { LinkFault } from '../api/status.ts';
import { describeFault } from '../adapters/ws-transport/link-faults.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { ProcessState } from './replica-process.ts';
import type { Wiped } from './wipe.ts';

const wiped = {
  log: 'its log is',
  database: 'its PostgreSQL is',
  both: 'its log and its PostgreSQL are',
} as const;

export function wipedWords(id: ReplicaId, what: Wiped): string {
  return `${id}: ${wiped[what]} gone, as with a lost disk, and it was started again. "barista status" shows how it comes back.`;
}

export function crashedWords(id: ReplicaId): string {
  return `${id}: its process was killed (kill -9). It is down until "barista fault restart ${id}".`;
}

export function pausedWords(id: ReplicaId): string {
  return `${id}: its process is frozen (SIGSTOP) until "barista fault resume ${id}".`;
}

export function resumedWords(id: ReplicaId): string {
  return `${id}: its process is thawed (SIGCONT) and runs.`;
}

/** `before`: what its process was. */
export function restartedWords(id: ReplicaId, before: ProcessState): string {
  return before === 'stopped'
    ? `${id}: its process was down, and was started.`
    : `${id}: its process was ${before === 'paused' ? 'frozen; it was thawed, stopped' : 'stopped'} and started again.`;
}

const afterKill = {
  running: 'The replica runs on, and starts it again.',
  paused: 'The replica is frozen, and starts it again once it is resumed.',
  stopped: 'The replica is down, too.',
} as const;

export function postgresKilledWords(id: ReplicaId, state: ProcessState): string {
  return `${id}: its PostgreSQL was killed (kill -9). ${afterKill[state]}`;
}

/** `links`: as they are now. */
export function isolatedWords(id: ReplicaId, links: readonly LinkFault[]): string {
  const lines = links.map((link) => `  ${describeFault(link)}`);
  return [`${id}: every link to and from it is cut, until "barista fault heal".`, ...lines].join('\n');
}

/** `links`: those that had faults, as they were. */
export function healedWords(links: readonly LinkFault[]): string {
  if (links.length === 0) return 'All links are healthy. None had a fault.';
  const lines = links.map((link) => `  ${describeFault(link)}`);
  return ['All links are healthy. These had faults:', ...lines].join('\n');
}

/** What faults of links leave as it is. `members`: with their processes. */
export function stillDownWords(
  members: readonly { readonly id: ReplicaId; readonly process: ProcessState }[],
): string {
  const down = members.filter(({ process }) => process !== 'running');
  if (down.length === 0) return '';
  const lines = down.map(({ id, process }) =>
    process === 'paused'
      ? `  ${id} is frozen: barista fault resume ${id}`
      : `  ${id} is down: barista fault restart ${id}`,
  );
  return ['', 'Not running (all of them at once: "barista fault heal --all"):', ...lines].join('\n');
}

/** Of replicas that do not have their faults yet. */
export function untoldWords(ids: readonly ReplicaId[]): string {
  if (ids.length === 1) return `${ids.join()} does not answer, and is told as soon as it does.`;
  return `${ids.join(', ')} do not answer, and are told as soon as they do.`;
}
