/**
 * Joins a play to the run that is shown: hands it what is told, sends its acts by the same requests as a click does, and holds the world at each chapter's end where it can be held.
 *
 * Responsible for: when a play is watched, and that it ends with its run. What a scenario is and says is play.ts.
 * Invariants: looks at the newest of the run, whatever moment the reader looks at; at most one play at a time; what is answered to a chapter's acts counts for that chapter alone.
 */
import type { FaultRequest } from '../../../server/src/api/status.ts';
import type { DashboardState } from '../model/dashboard-state.ts';
import type { RunRecord } from '../run/run-record.ts';
import type { RunStore } from '../run/run-store.ts';
import type { Ground } from './may-play.ts';
import {
  beginPlay,
  goOn,
  gonePlay,
  type Play,
  type Played,
  refusedPlay,
  unseenPlay,
  waitLonger,
  watchPlay,
} from './play.ts';
import type { Scenario } from './scenario.ts';
import { beginSeeing, type Seen, seeOn } from './seen.ts';

export interface ScenarioPlayer {
  readonly play: () => Play | null;
  readonly subscribe: (listener: () => void) => () => void;
  /** Where it would be played now. */
  readonly ground: () => Ground;
  /** `speed`: of the world, where it can be held. */
  readonly begin: (scenario: Scenario, guess: string, speed: number) => void;
  readonly goOn: (speed: number) => void;
  readonly waitLonger: (speed: number) => void;
  readonly leave: () => void;
}

const players = new WeakMap<RunStore, ScenarioPlayer>();

/** A run has one, whichever view of it is shown. */
export function playerOf(store: RunStore): ScenarioPlayer {
  const known = players.get(store) ?? openPlayer(store);
  players.set(store, known);
  return known;
}

function openPlayer(store: RunStore): ScenarioPlayer {
  const listeners = new Set<() => void>();
  let play: Play | null = null;
  let seen: Seen | null = null;
  let record: RunRecord | null = null;
  let watched: DashboardState | null = null;
  let stop: (() => void) | null = null;
  /** Counts the chapters that were begun, and plays that were ended. */
  let turn = 0;

  const setPlay = (next: Play | null): void => {
    if (next === play) return;
    play = next;
    listeners.forEach((listener) => listener());
  };
  const watch = (): void => {
    if (play === null || seen === null) return;
    if (store.record() !== record) {
      end(
        gonePlay(
          play,
          'The run was begun anew from another moment, or by another seed. Begin the scenario again.',
        ),
      );
      return;
    }
    if (store.get().state.connection.kind === 'lost') {
      setPlay(unseenPlay(play));
      return;
    }
    const { newest, lastMs } = store.record().history;
    // The store also tells of what a reader does.
    if (lastMs === null || newest === watched) return;
    watched = newest;
    seen = seeOn(seen, newest, lastMs);
    const before = play.stage.kind;
    const next = watchPlay(play, seen);
    if (before === 'waiting' && next.stage.kind !== 'waiting') store.source.world?.pause();
    setPlay(next);
  };
  const send = (acts: readonly FaultRequest[]): void => {
    const asked = turn;
    for (const act of acts)
      void store.source.requests?.fault(act).then((outcome) => {
        if (outcome.ok || turn !== asked || play?.stage.kind !== 'waiting') return;
        store.source.world?.pause();
        end(refusedPlay(play, outcome.error.message));
      });
  };
  /** Acts are sent ahead of letting time go on: they are done at this moment of the world. */
  const take = (played: Played, speed: number): void => {
    const isOver = played.play.stage.kind !== 'waiting';
    store.follow();
    setPlay(played.play);
    if (played.acts.length > 0) turn += 1;
    send(played.acts);
    if (isOver) end(played.play);
    else store.source.world?.run(speed);
  };
  const end = (last: Play | null): void => {
    stop?.();
    stop = null;
    turn += 1;
    setPlay(last);
  };

  return {
    play: () => play,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    ground: () => ({
      kind: store.source.kind,
      seen: seeNow(store),
      isPast: store.get().playhead.mode !== 'following',
      isLost: store.get().state.connection.kind === 'lost',
    }),
    begin(scenario, guess, speed) {
      end(null);
      seen = seeNow(store);
      if (seen === null) return;
      record = store.record();
      take(beginPlay(scenario, guess, seen), speed);
      stop = store.subscribe(watch);
    },
    goOn(speed) {
      if (play?.stage.kind === 'told') take(goOn(play), speed);
    },
    waitLonger(speed) {
      if (play?.stage.kind !== 'missed') return;
      take({ play: waitLonger(play, store.source.nowMs()), acts: [] }, speed);
      watch();
    },
    leave: () => end(null),
  };
}

function seeNow(store: RunStore): Seen | null {
  const { newest, lastMs } = store.record().history;
  return lastMs === null ? null : beginSeeing(newest, lastMs);
}
