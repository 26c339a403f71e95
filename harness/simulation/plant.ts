/**
 * How a bug is planted: hooks around the real core that change its state, its inputs or its effects. The core itself has no
 * switch for any bug.
 */
import type { LogSlot, State } from '../../server/src/multipaxos/state.ts';
import type { Effect, Input } from '../../server/src/multipaxos/types/effects.ts';
import type { Message } from '../../server/src/multipaxos/types/messages.ts';
import type { RecoveredLog } from '../../server/src/multipaxos/types/records.ts';
import { realCore, type Core } from './core.ts';
import type { Rule } from './rules.ts';
import type { SimulationOptions } from './options.ts';

export interface PlantedBug {
  readonly core: Core;
  /** The rules that may be the first to notice. */
  readonly caughtBy: readonly Rule[];
  /** Faults under which the bug shows soon; none: the usual mix. */
  readonly options: Partial<SimulationOptions>;
}

export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

export interface Hooks {
  readonly recovered?: (recovered: RecoveredLog) => RecoveredLog;
  readonly created?: (state: Mutable<State>) => void;
  /** Before a step; returns the input that the step gets. */
  readonly before?: (state: Mutable<State>, input: Input) => Input | null;
  readonly after?: (state: Mutable<State>, effects: Effect[]) => Effect[];
  readonly leaseHeld?: (state: State, nowMs: number) => boolean;
}

export function plant(name: string, caughtBy: readonly Rule[], hooks: Hooks): PlantedBug {
  const core: Core = {
    name,
    createState(config, recovered, nowMs, random) {
      const state = realCore.createState(config, hooks.recovered?.(recovered) ?? recovered, nowMs, random);
      hooks.created?.(state);
      return state;
    },
    step(state, input) {
      const changed = hooks.before === undefined ? input : hooks.before(state, input);
      if (changed === null) return { state, effects: [] };
      const result = realCore.step(state, changed);
      if (hooks.after === undefined) return result;
      return { state: result.state, effects: hooks.after(result.state, result.effects) };
    },
    leaseHeld: (state, nowMs) => hooks.leaseHeld?.(state, nowMs) ?? realCore.leaseHeld(state, nowMs),
  };
  return { core, caughtBy, options: {} };
}

/** A hook for messages alone: returns what the core gets instead. */
export function onMessage(change: (state: Mutable<State>, message: Message) => Message | null): Hooks {
  return {
    before(state, input) {
      if (input.kind !== 'Receive') return input;
      const message = change(state, input.message);
      return message === null ? null : { ...input, message };
    },
  };
}

export function slotsAbove(state: State, slot: number): Mutable<LogSlot>[] {
  return [...state.log.values()].filter((held) => held.slot > slot);
}
