/**
 * Waiting until a cluster that was started serves, and saying what is waited for.
 *
 * Responsible for: when it is ready, when waiting is in vain, and what people are told meanwhile. Starts and stops nothing.
 * Generous on purpose: a new database is a thousand files, each of them brought to the disk, and disks can be slow; each replica says what it is doing.
 */
import type { ClusterReplica, ReplicaCondition, ReplicaStatus } from '../api/status.ts';
import { CliError } from '../main/errors.ts';
import { memberRole } from './cluster-report.ts';

export interface ReadinessOptions {
  readonly cluster: () => readonly ClusterReplica[];
  /** Why a replica whose process has ended did so. */
  readonly whyStopped: (id: string) => Promise<string>;
  /** Where a replica tells everything. */
  readonly logFileOf: (id: string) => string;
  readonly nowMs: () => number;
  readonly say: (line: string) => void;
}

export const readyMsMax = 180_000;
const pollMs = 100;
/** Most are ready before there is anything to tell. */
const tellEveryMs = 15_000;
/** What a replica said longer ago tells nothing about it any more. */
const freshMsMax = 3000;
/** States that waiting does not mend. */
const cannotServe: ReadonlySet<ReplicaCondition> = new Set(['logCorrupt', 'diverged', 'removed']);

/** Resolves when all serve, or a majority does and the others are waited for in vain. @throws CliError; the signal's reason */
export async function untilServing(options: ReadinessOptions, signal?: AbortSignal): Promise<void> {
  const { cluster, whyStopped, nowMs, say } = options;
  const startedAtMs = nowMs();
  let tellAtMs = startedAtMs + tellEveryMs;
  for (;;) {
    signal?.throwIfAborted();
    const replicas = cluster();
    for (const { id, process } of replicas) {
      if (process === 'stopped') throw new CliError(await whyStopped(id));
    }
    const serves = replicas.some(isReady);
    const waiting = replicas.filter((replica) => !isReady(replica) && !(serves && isUnheeded(replica)));
    if (waiting.length === 0) return;
    const waitedMs = nowMs() - startedAtMs;
    const inVain = waiting.every(({ status }) => status !== null && cannotServe.has(status.state));
    if (inVain || waitedMs > readyMsMax) {
      // Whoever is no member any more, as after a removal that was interrupted, is missed by nobody.
      const isMissed = (replica: ClusterReplica): boolean => replica.status?.state !== 'removed';
      const missed = { waiting: waiting.filter(isMissed).length, all: replicas.filter(isMissed).length };
      giveUp(options, waiting, (missed.all - missed.waiting) * 2 > missed.all);
      return;
    }
    if (nowMs() >= tellAtMs) {
      tellAtMs += tellEveryMs;
      say(`Not ready after ${Math.round(waitedMs / 1000)} s:\n${statesOf(waiting).join('\n')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** @throws CliError unless a majority serves: then what is there can be used. */
function giveUp(
  { logFileOf, say }: ReadinessOptions,
  waiting: readonly ClusterReplica[],
  isMajorityReady: boolean,
): void {
  const states = statesOf(waiting);
  if (isMajorityReady) {
    say(`The cluster serves, but not every replica does:\n${states.join('\n')}`);
    return;
  }
  const logs = waiting.map(({ id }) => logFileOf(id));
  throw new CliError(`The cluster does not serve.\n${states.join('\n')}\nMore is in ${logs.join(', ')}.`);
}

/** Serves, and would be missed: a learner that serves counts for nothing yet. */
function isReady({ status, ageMs }: ClusterReplica): boolean {
  return isFresh(ageMs) && status?.state === 'serving' && memberRole(status) === 'voter';
}

/** Where nothing is replicated, all but the primary hear nothing. */
function isUnheeded({ status, ageMs }: ClusterReplica): boolean {
  if (!isFresh(ageMs) || status === null || status.state !== 'noLeader') return false;
  return status.protocol.name === 'primary' && status.protocol.replication === 'none';
}

function isFresh(ageMs: number | null): boolean {
  return ageMs === null || ageMs <= freshMsMax;
}

function statesOf(waiting: readonly ClusterReplica[]): string[] {
  return waiting.map(({ id, status, ageMs }) => `  ${id}: ${stateOf(status, ageMs)}`);
}

function stateOf(status: ReplicaStatus | null, ageMs: number | null): string {
  if (status === null) return 'has not answered yet';
  if (!isFresh(ageMs)) return `has not answered for ${Math.round((ageMs ?? 0) / 1000)} s`;
  if (status.state === 'removed')
    return 'is no member any more: remove it in the operator’s view, and what is left of it here goes';
  return status.message ?? (status.state === 'serving' ? 'serves, but does not vote yet' : status.state);
}

const wordsMax = 12;
const warning = 40;

/** Of a replica's log: the last lines that tell of trouble, or that it did not write itself; if there are none, its end. */
export function lastWords(log: string): string {
  const lines = log.trimEnd().split('\n');
  const troubled = lines.filter((line) => levelOf(line) >= warning);
  return (troubled.length > 0 ? troubled : lines).slice(-wordsMax).join('\n');
}

function levelOf(line: string): number {
  try {
    const { level } = JSON.parse(line) as { readonly level?: number };
    return level ?? warning;
  } catch {
    return warning;
  }
}
