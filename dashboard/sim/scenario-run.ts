/**
 * A scenario played to its end by nobody in particular over a simulated world in this process: goes on as soon as a chapter has come about. For tests.
 *
 * Acts are done at the very moment of the world at which the play asks for them, so a seed and the choice give the same run each time.
 */
import { type DashboardState, initialState, reduceDashboard } from '../src/model/dashboard-state.ts';
import { beginPlay, goOn, type Play, type Played, watchPlay } from '../src/scenarios/play.ts';
import { refusalOf } from '../src/scenarios/may-play.ts';
import type { Scenario } from '../src/scenarios/scenario.ts';
import { beginSeeing, type Seen, seeOn } from '../src/scenarios/seen.ts';
import type { Act } from '../src/run/simulated/acts.ts';
import type { RunSetup } from '../src/run/simulated/run-address.ts';
import { Pacer } from './pacer.ts';
import { World } from './world.ts';

export interface PlayedScenario {
  readonly play: Play;
  readonly acts: readonly Act[];
  readonly troubles: readonly string[];
}

export interface ScenarioRun {
  readonly scenario: Scenario;
  readonly setup: Omit<RunSetup, 'acts'>;
  /** Takes the first one by default. */
  readonly guess?: string;
  readonly onSeen?: (play: Play | null, state: DashboardState) => void;
}

const worldMsMax = 900_000;

/** @throws Error if the world fails, or it cannot be begun */
export async function playScenario({ scenario, setup, guess, onSeen }: ScenarioRun): Promise<PlayedScenario> {
  let state = initialState;
  let seen: Seen | null = null;
  let play: Play | null = null;
  let isOver = false;
  const troubles: string[] = [];
  const take = (played: Played): void => {
    play = played.play;
    for (const act of played.acts)
      pacer.act(act, (answer) => {
        if ('error' in answer) troubles.push(JSON.stringify(answer));
      });
  };
  const world = new World(
    { ...setup, acts: [] },
    {
      onFrames(frames, atMs) {
        state = reduceDashboard(state, { kind: 'frames', frames, atMs });
        if (world.beganMs === null || isOver) return;
        seen = seen === null ? beginSeeing(state, atMs) : seeOn(seen, state, atMs);
        if (seen === null) return;
        if (play === null) {
          if (refusalOf(scenario, { kind: 'simulated', seen, isPast: false, isLost: false }) === null)
            take(
              beginPlay(scenario, guess ?? scenario.question(seen).choices[0]!.id, { ...seen, events: [] }),
            );
        } else {
          play = watchPlay(play, seen);
          if (play.stage.kind === 'told') take(goOn(play));
        }
        onSeen?.(play, state);
        const stage = play?.stage.kind;
        isOver = stage === 'answered' || stage === 'missed' || stage === 'gone' || atMs > worldMsMax;
      },
      onTrouble: (text) => troubles.push(text),
    },
  );
  const pacer = new Pacer({
    time: world.group.time,
    acts: [],
    perform: (deed, onDone) => void world.act(deed).then((answer) => onDone?.(answer)),
    happened: () => world.told,
    isHeldBack: () => false,
    onPace: () => undefined,
    wallMs: () => performance.now(),
  });
  pacer.set({ mode: 'running', speed: Number.POSITIVE_INFINITY, toMs: Number.POSITIVE_INFINITY });
  await world.live(() => isOver);
  pacer.end();
  if (play === null) throw new Error('the scenario was never begun: the group has not come up');
  return { play, acts: pacer.acts, troubles };
}
