/**
 * Two runs of one seed and the same acts, in lockstep: a world that lacks one rule, and the world as it is.
 *
 * Responsible for: what is asked of both, and the one store through which both are looked at: it is that of the world as it is, but what moves its playhead or its world moves the other's, too.
 */
import type { FaultRequest } from '../../../server/src/api/status.ts';
import type { RunRequests } from '../run/requests.ts';
import type { Act } from '../run/simulated/acts.ts';
import type { RunSetup } from '../run/simulated/run-address.ts';
import { type SimulatedSource, simulatedSource, type SimulatorPort } from '../run/simulated-source.ts';
import { openRun, type RunStore } from '../run/run-store.ts';
import type { WorldTime } from '../run/source.ts';
import { Lockstep } from './lockstep.ts';

export interface PairedRun {
  readonly naive: RunStore;
  readonly ours: RunStore;
  /** Of both: what is read from it is of the world as it is. */
  readonly both: RunStore;
  /** All that was done to both, or is to be. */
  readonly acts: () => readonly Act[];
  /** What keeps one of the two from going on, or must not be in the world as it is; what must not be in the other one is what it is shown for. Null: nothing. */
  readonly trouble: () => string | null;
  /** One of these is another one. Calling what it returns ends it. */
  readonly onChange: (listener: () => void) => () => void;
  readonly close: () => void;
}

export interface PairOptions {
  readonly naive: SimulatorPort;
  readonly ours: SimulatorPort;
  readonly setup: RunSetup;
  /** Both are made up to then as fast as it goes. */
  readonly fromMs: number;
  readonly goesOn: boolean;
}

const nobody = {
  ok: false,
  error: { code: 'unavailable', message: 'Two worlds side by side are only broken, not asked.' },
} as const;

export function openPair({ naive, ours, setup, fromMs, goesOn }: PairOptions): PairedRun {
  const lockstep = new Lockstep(fromMs, goesOn);
  const sources = [naive, ours].map((port) => simulatedSource(lockstep.join(port), setup, fromMs));
  const [naiveRun, oursRun] = sources.map((source) => openRun(source)) as [RunStore, RunStore];
  const ofOurs = sources[1]!;
  const each = (move: (store: RunStore) => void): void => [naiveRun, oursRun].forEach(move);
  const world: WorldTime = {
    pace: () => lockstep.pace(),
    subscribe: (listener) => lockstep.subscribe(listener),
    pause: () => lockstep.pause(),
    run: (speed) => lockstep.run(speed),
    step: () => lockstep.step(),
    fork: (atMs) =>
      lockstep.remade(atMs, () => Promise.all(sources.map(async (source) => source.world?.fork(atMs)))),
  };
  const both: RunStore = {
    ...oursRun,
    source: { ...ofOurs, world, requests: requestsOf(sources, lockstep) },
    follow: () => each((store) => store.follow()),
    standAt: (ms) => each((store) => store.standAt(ms)),
    play: (speed) => each((store) => store.play(speed)),
    step(direction) {
      oursRun.step(direction);
      naiveRun.standAt(oursRun.momentMs());
    },
  };
  return {
    naive: naiveRun,
    ours: oursRun,
    both,
    acts: () => ofOurs.setup().acts,
    trouble: () => troubleOf(sources),
    onChange(listener) {
      const stops = sources.map((source) => source.onChange(listener));
      return () => stops.forEach((stop) => stop());
    },
    close: () => each((store) => store.close()),
  };
}

function troubleOf([ofNaive, ofOurs]: readonly SimulatedSource[]): string | null {
  const [naive, ours] = [ofNaive!.failure(), ofOurs!.failure()];
  if (naive === null && ours === null) return ofOurs!.trouble();
  const which = naive === null ? 'as it is' : 'without the rule';
  return `The world ${which} goes on no more, so both stand: what is shown holds up to here. Begin again. (${naive ?? ours})`;
}

function requestsOf(sources: readonly SimulatedSource[], lockstep: Lockstep): RunRequests {
  return {
    async fault(request: FaultRequest) {
      // It would be done to one of them alone.
      if (sources.some((source) => source.failure() !== null))
        return { ok: false, error: { code: 'failed', message: troubleOf(sources)! } };
      const atMs = lockstep.actMs();
      const outcomes = await Promise.all(sources.map((source) => source.actAt(request, atMs)));
      // What one world cannot do is told, though the other may: what a rule prevents is not a fault.
      return outcomes.find(({ ok }) => !ok) ?? { ok: true };
    },
    sql: () => Promise.resolve(nobody),
    slot: () => Promise.resolve(nobody),
    verify: () => Promise.resolve(nobody),
  };
}
