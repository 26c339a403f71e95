/**
 * Carries a schedule out: each fault at its time, ended after its duration, whatever the others do; then heals everything.
 *
 * Invariant: when `run` has resolved nothing of its doing is left but replicas that are on their way back.
 */
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { writeClock } from './clock-faults.ts';
import { Deserters } from './deserters.ts';
import { inject } from './inject.ts';
import { faultIfPossible, releaseClaims, replicasNow, report, Skipped, sleep, type Scene } from './scene.ts';
import type { FaultKind, PlannedFault } from './schedule.ts';

export interface FaultTally {
  planned: number;
  tookEffect: number;
  /** Asked for, and not seen to be so. */
  withoutEffect: number;
  skipped: number;
}

export interface NemesisEvent {
  readonly atMs: number;
  readonly number: number;
  readonly kind: FaultKind;
  readonly event: 'begun' | 'ended' | 'skipped' | 'failed';
  readonly what: string;
}

export interface NemesisResult {
  readonly tally: ReadonlyMap<FaultKind, FaultTally>;
  /** Reasons why faults were left out, with their counts. */
  readonly skips: ReadonlyMap<string, number>;
}

export interface NemesisOptions {
  readonly scene: Scene;
  readonly schedule: readonly PlannedFault[];
  readonly nowMs: () => number;
  readonly onEvent: (event: NemesisEvent) => void;
}

export async function runNemesis(options: NemesisOptions): Promise<NemesisResult> {
  const { scene, schedule, nowMs } = options;
  const result = { tally: new Map<FaultKind, FaultTally>(), skips: new Map<string, number>() };
  for (const { kind } of schedule)
    result.tally.set(kind, { planned: 0, tookEffect: 0, withoutEffect: 0, skipped: 0 });
  const running: Promise<void>[] = [];
  const stopLooking = lookForDeserters(scene);
  for (const planned of schedule) {
    await sleep(planned.atMs - nowMs());
    running.push(strike(options, planned, result));
  }
  await Promise.all(running);
  stopLooking();
  await healEverything(scene);
  return result;
}

const lookMs = 2_000;

function lookForDeserters(scene: Scene): () => void {
  const deserters = new Deserters();
  const isStruck = (id: string): boolean => scene.claims.has(id) || scene.losses.has(id);
  const look = async (): Promise<void> => {
    for (const id of deserters.look(await replicasNow(scene), isStruck))
      report(scene, 'ended-by-itself', `${id} has ended though no fault had it; its log says why`);
  };
  // A demo that does not answer is found by others.
  const timer = setInterval(() => void look().catch(() => undefined), lookMs);
  return () => clearInterval(timer);
}

async function strike(
  { scene, nowMs, onEvent }: NemesisOptions,
  planned: PlannedFault,
  { tally, skips }: { tally: Map<FaultKind, FaultTally>; skips: Map<string, number> },
): Promise<void> {
  const { number, kind } = planned;
  const counts = tally.get(kind)!;
  counts.planned++;
  const tell = (event: NemesisEvent['event'], what: string): void =>
    onEvent({ atMs: nowMs(), number, kind, event, what });
  try {
    const begun = await inject(scene, planned);
    if (begun.tookEffect) counts.tookEffect++;
    else counts.withoutEffect++;
    tell('begun', begun.tookEffect ? begun.what : `${begun.what} (without effect)`);
    await sleep(planned.durationMs);
    await begun.end();
    tell('ended', begun.what);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    counts.skipped++;
    skips.set(`${kind}: ${reason}`, (skips.get(`${kind}: ${reason}`) ?? 0) + 1);
    tell(error instanceof Skipped ? 'skipped' : 'failed', reason);
  } finally {
    releaseClaims(scene, number);
  }
}

async function healEverything(scene: Scene): Promise<void> {
  await faultIfPossible(scene, { action: 'heal' });
  for (const id of scene.clocks.keys()) await writeClock(scene, id, { rate: 1, wallMs: 0 });
  for (const { id, process } of await replicasNow(scene)) {
    const replica: ReplicaId = id;
    if (process === 'paused') await faultIfPossible(scene, { action: 'resume', replica });
    if (process === 'stopped') await faultIfPossible(scene, { action: 'restart', replica });
  }
}
