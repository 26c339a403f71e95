/** What tests ask of replicas that come back: whether they are whole again, and which phases they went through. Judges nothing else. */
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecoveryProgress, ReplicaStatus } from '../../server/src/api/status.ts';
import { isWhole, type LocalCluster } from './local-cluster.ts';

const lookMs = 100;
const freshMs = 1500;

/** The replica's own word, if it is not an old one. */
export async function statusOf(cluster: LocalCluster, replica: string): Promise<ReplicaStatus | null> {
  const { replicas } = await cluster.status();
  const found = replicas.find(({ id }) => id === replica);
  const isFresh = found?.process === 'running' && found.ageMs !== null && found.ageMs < freshMs;
  return isFresh ? found.status : null;
}

/**
 * Waits for it, and until it has applied all that was chosen when this began: one that has just come back does not know yet what it lacks.
 * `incarnation`: which life of the replica must be whole.
 */
export async function healed(
  cluster: LocalCluster,
  replica: string,
  incarnation: number,
  timeoutMs: number,
): Promise<ReplicaStatus> {
  const deadline = Date.now() + timeoutMs;
  const { replicas } = await cluster.status();
  const chosen = Math.max(...replicas.map(({ status }) => status?.commitPoint ?? 0));
  for (;;) {
    const status = await statusOf(cluster, replica);
    if (status?.incarnation === incarnation && status.applicationPointer >= chosen && isWhole(status))
      return status;
    if (Date.now() > deadline) {
      const seen = JSON.stringify(status);
      throw new Error(
        `waited ${timeoutMs} ms for ${replica}, life ${incarnation}: ${seen}\n${cluster.output()}`,
      );
    }
    await sleep(lookMs);
  }
}

/** A place in a replica's own log, from which to read on later. */
export async function logMark(cluster: LocalCluster, replica: string): Promise<number> {
  return (await stat(logFile(cluster, replica))).size;
}

export interface Phase extends Pick<RecoveryProgress, 'phase' | 'cause'> {
  /** When it was entered, milliseconds since 1970. */
  readonly atMs: number;
}

/** The phases of recovery that the replica entered since the mark, each once in a row, as its log tells them. */
export async function phasesSince(cluster: LocalCluster, replica: string, mark: number): Promise<Phase[]> {
  const phases: Phase[] = [];
  for (const line of await linesSince(cluster, replica, mark)) {
    if (!line.includes('"recovery":{')) continue;
    const { time, recovery } = JSON.parse(line) as {
      readonly time: number;
      readonly recovery: RecoveryProgress;
    };
    const { phase, cause } = recovery;
    const last = phases.at(-1);
    if (last?.phase !== phase || last.cause !== cause) phases.push({ phase, cause, atMs: time });
  }
  return phases;
}

/** What came over the wire for a copy, and how large the database is that it makes. */
export interface CopySize {
  readonly bytesReceived: number;
  readonly bytesTotal: number;
}

/** The copies that the replica completed since the mark, as its log tells them. */
export async function copiesSince(cluster: LocalCluster, replica: string, mark: number): Promise<CopySize[]> {
  const lines = await linesSince(cluster, replica, mark);
  return lines
    .filter((line) => line.includes('"a copy of the database is here"'))
    .map((line) => JSON.parse(line) as CopySize);
}

async function linesSince(cluster: LocalCluster, replica: string, mark: number): Promise<readonly string[]> {
  const file = await open(logFile(cluster, replica));
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(size - mark), 0, size - mark, mark);
    return buffer.toString().split('\n');
  } finally {
    await file.close();
  }
}

function logFile(cluster: LocalCluster, replica: string): string {
  return join(cluster.dataDir, `${replica}.log`);
}
