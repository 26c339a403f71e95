/**
 * What faults act on: the cluster, who is struck by what at the moment, and how to choose whom to strike.
 *
 * Invariant: a replica's process is struck by one fault at a time, so that ending a fault undoes exactly what it did. Links are broken independently of that.
 */
import type { Anomaly } from '../checkers/anomaly.ts';
import type { ClusterReplica, FaultRequest, ReplicaStatus } from '../../server/src/api/status.ts';
import type { ClusterLogStore, LocalCluster } from '../cluster/local-cluster.ts';
import type { LinkTable } from './link-table.ts';
import { isHealed, lossForbidden, nameOf, wholeDatabases, type DiskLoss } from './safety.ts';
import type { PlannedFault } from './schedule.ts';

export interface Scene {
  readonly cluster: LocalCluster;
  readonly ids: readonly string[];
  readonly links: LinkTable;
  readonly logStore: ClusterLogStore;
  /** Replica and the number of the fault that has it. */
  readonly claims: Map<string, number>;
  readonly losses: Map<string, DiskLoss>;
  readonly clocks: Map<string, { rate: number; wallMs: number }>;
  /** What replicas record is judged in the end. */
  readonly isTraced: boolean;
  /** What the nemesis itself sees go wrong. */
  readonly anomalies: Anomaly[];
  /** False when the run is about to end: what has waited until then is left out. */
  readonly mayBegin: () => boolean;
  readonly say: (line: string) => void;
}

/** A fault that has begun. */
export interface Begun {
  /** Who was struck, and how. */
  readonly what: string;
  /** Seen to be so, not only asked for. */
  readonly tookEffect: boolean;
  readonly end: () => Promise<void>;
}

/** The fault cannot be had here or now, for a reason that is worth telling. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function replicasNow({ cluster }: Scene): Promise<readonly ClusterReplica[]> {
  return (await cluster.status()).replicas;
}

export async function replicaNow(scene: Scene, id: string): Promise<ClusterReplica> {
  const found = (await replicasNow(scene)).find((replica) => replica.id === id);
  if (found === undefined) throw new Error(`the demo does not know ${id}`);
  return found;
}

export function freshStatus({ process, status, ageMs }: ClusterReplica): ReplicaStatus | null {
  return process === 'running' && ageMs !== null && ageMs < 1500 ? status : null;
}

type Allowed = (id: string, status: ReplicaStatus) => boolean;
interface Target {
  readonly id: string;
  readonly status: ReplicaStatus;
}

const majorityWaitMs = 12_000;
/** The share of faults that do not care whether a majority stays up. */
const recklessShare = 0.25;

/** A replica to stop for a while. Mostly waits until a majority goes on without it: a group that is down tests little. @throws Skipped */
export async function claimStop(scene: Scene, planned: PlannedFault, allowed?: Allowed): Promise<Target> {
  const isReckless = (planned.choice * 16) % 1 < recklessShare;
  if (isReckless) return claimTarget(scene, planned, allowed);
  const most = Math.floor((scene.ids.length - 1) / 2);
  const stopped = (): number => new Set([...scene.claims.keys(), ...scene.losses.keys()]).size;
  for (const deadline = Date.now() + majorityWaitMs; stopped() >= most; await sleep(300)) {
    if (Date.now() > deadline || !scene.mayBegin())
      throw new Skipped('too many replicas are stopped already');
    await forgetHealed(scene);
  }
  return claimTarget(scene, planned, allowed);
}

/** Chooses a replica that runs and that no other fault has, and takes it. @throws Skipped */
export async function claimTarget(scene: Scene, planned: PlannedFault, allowed?: Allowed): Promise<Target> {
  return takeTarget(scene, planned, await replicasNow(scene), allowed ?? (() => true));
}

/** Waits for nothing, so that no two faults can take what only one may have. @throws Skipped */
export function takeTarget(
  scene: Pick<Scene, 'claims'>,
  { number, wish, choice }: PlannedFault,
  replicas: readonly ClusterReplica[],
  allowed: Allowed,
): Target {
  const free = replicas.flatMap((replica) => {
    const status = freshStatus(replica);
    const isFree = status !== null && !scene.claims.has(replica.id) && allowed(replica.id, status);
    return isFree ? [{ id: replica.id, status }] : [];
  });
  const leads = ({ role, state }: ReplicaStatus): boolean => role === 'leader' && state === 'serving';
  const wished = free.filter(({ status }) => wish === 'anyone' || leads(status) === (wish === 'leader'));
  const from = wished.length > 0 ? wished : free;
  const target = from[Math.floor(choice * from.length)];
  if (target === undefined) throw new Skipped('no replica is free for it');
  scene.claims.set(target.id, number);
  return target;
}

/** Releases whatever a fault has taken. */
export function releaseClaims(scene: Scene, fault: number): void {
  for (const [id, claimedBy] of scene.claims) if (claimedBy === fault) scene.claims.delete(id);
}

const lossWaitMs = 25_000;

/** A replica whose disk may be lost; waits for a while until others have theirs again. @throws Skipped */
export async function claimLoss(scene: Scene, planned: PlannedFault, logIsLost: boolean): Promise<Target> {
  for (const deadline = Date.now() + lossWaitMs; ; await sleep(500)) {
    try {
      return await claimLossNow(scene, planned, logIsLost);
    } catch (error) {
      if (!(error instanceof Skipped) || Date.now() > deadline || !scene.mayBegin()) throw error;
    }
  }
}

async function claimLossNow(scene: Scene, planned: PlannedFault, logIsLost: boolean): Promise<Target> {
  await forgetHealed(scene);
  return takeLoss(scene, planned, await replicasNow(scene), logIsLost);
}

/** Waits for nothing: see takeTarget. @throws Skipped */
export function takeLoss(
  scene: Pick<Scene, 'claims' | 'losses' | 'ids'>,
  planned: PlannedFault,
  replicas: readonly ClusterReplica[],
  logIsLost: boolean,
): Target {
  const losses = [...scene.losses.values()];
  const whole = wholeDatabases(replicas.map(freshStatus).filter((status) => status !== null));
  const reasons: string[] = [];
  const isAllowed: Allowed = (id, { membership }) => {
    const voters = membership.members.filter(({ role }) => role === 'voter').length;
    const forbidden = lossForbidden(id, scene.ids.length, losses, whole);
    if (forbidden !== null) reasons.push(forbidden);
    // A replica that is no voter yet is on its way back, whoever may have lost it.
    return forbidden === null && voters === scene.ids.length;
  };
  try {
    const target = takeTarget(scene, planned, replicas, isAllowed);
    const { incarnation } = target.status;
    scene.losses.set(target.id, { replica: target.id, incarnation, logIsLost });
    return target;
  } catch (error) {
    throw error instanceof Skipped && reasons[0] !== undefined ? new Skipped(reasons[0]) : error;
  }
}

export async function forgetHealed(scene: Scene): Promise<void> {
  const replicas = await replicasNow(scene);
  for (const [id, loss] of scene.losses) {
    const replica = replicas.find((each) => nameOf(each.id) === id);
    if (replica !== undefined && isHealed(loss, freshStatus(replica))) scene.losses.delete(id);
  }
}

export async function untilTrue(timeoutMs: number, test: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await sleep(150))
    if (await test()) return true;
  return false;
}

/** For requests that the state of things may have overtaken, such as starting what runs. */
export async function faultIfPossible(scene: Scene, request: FaultRequest): Promise<void> {
  await scene.cluster.fault(request).catch((error: unknown) => {
    scene.say(`  (${error instanceof Error ? error.message : String(error)})`);
  });
}

/** What the nemesis itself has seen go wrong. */
export function report({ anomalies }: Scene, kind: string, summary: string): void {
  anomalies.push({ kind, summary, detail: [] });
}
