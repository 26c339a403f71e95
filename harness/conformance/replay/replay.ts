/**
 * Leads the real core through behaviours that TLC made up, and compares its state with the spec's after every step.
 *
 * Responsible for: the comparison. The core does some actions of its own accord (it takes office, moves its commit point, steps down
 * when deposed) within the step that makes them possible; the behaviour has them as the next steps (Eager in ReplayMultiPaxos.tla).
 * They are matched, one by one, with the trace events of the core, and the states are compared when all of them are done.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Message } from '../../../server/src/multipaxos/types/messages.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { CoreTraceEvent } from '../../../server/src/multipaxos/types/trace.ts';
import { messageName } from '../trace/spec-message.ts';
import { createDriver, type CoreDriver } from './core-driver.ts';
import { nameOfNumber } from './replay-members.ts';
import {
  actionOf,
  asNumber,
  asSequence,
  messagesOf,
  replicaView,
  specMessagesOf,
  type ReplicaView,
  type SpecAction,
} from './spec-view.ts';
import type { TlaState } from './tla-value.ts';

export interface Divergence {
  readonly step: number;
  readonly action: string;
  readonly what: string;
  readonly spec: unknown;
  readonly core: unknown;
}

export interface ReplayOutcome {
  readonly steps: number;
  readonly actions: ReadonlyMap<string, number>;
  readonly divergence: Divergence | null;
}

export type DriverMaker = (id: ReplicaId) => CoreDriver;

export function replayBehaviour(
  behaviour: readonly TlaState[],
  makeDriver: DriverMaker = (id) => createDriver(id),
): ReplayOutcome {
  const states = withinModel(behaviour);
  const members = asSequence(states[0]?.role).map((_, i) => nameOfNumber(i + 1));
  const drivers = new Map(members.map((id) => [id, makeDriver(id)]));
  const actions = new Map<string, number>();
  let ahead: CoreTraceEvent[] = [];
  for (let i = 1; i < states.length; i++) {
    const state = states[i] as TlaState;
    const action = actionOf(state);
    const driver = drivers.get(action.replica) as CoreDriver;
    const diverges = (what: string, spec: unknown, core: unknown): ReplayOutcome => ({
      steps: i,
      actions,
      divergence: { step: i, action: `${action.name} of ${action.replica}`, what, spec, core },
    });
    const expected = ahead[0]?.name;
    if (expected === undefined) {
      // A leader serves once its database has everything: it is told so.
      if (states[i - 1]?.pending === true && action.name !== 'Serve')
        return diverges('the core does not do this of its own accord', action.name, 'nothing');
      const { events: all, sent } = driver.take(action);
      const events = withoutResignation(action, all);
      // The behaviour ends in the middle of what this step sets off.
      if (i + events.length > states.length) return { steps: i - 1, actions, divergence: null };
      const unsaid = sent.find(
        (message) => !maySend(state, action, message, states.slice(i + 1), events.length),
      );
      if (unsaid !== undefined)
        return diverges('the core sends what the spec does not', messagesOf(state), unsaid);
      ahead = [...events];
      if (isDeclined(action, events)) continue;
      if (action.name === 'Crash') ahead = [];
      else if (ahead.shift()?.name !== action.name)
        return diverges(
          'the core does something else',
          action.name,
          events.map(({ name }) => name),
        );
    } else if (expected === action.name) ahead.shift();
    else return diverges('the core goes on with something else', action.name, expected);
    actions.set(action.name, (actions.get(action.name) ?? 0) + 1);
    if (ahead.length > 0) continue;
    for (const [n, id] of members.entries()) {
      const spec = replicaView(state, n + 1);
      const core = (drivers.get(id) as CoreDriver).view();
      const field = firstDifference(spec, core);
      if (field !== null) return diverges(`${id}: ${field}`, spec, core);
    }
  }
  return { steps: states.length - 1, actions, divergence: null };
}

/** That a leader whose log is restored has been deposed is part of the spec's Restored. */
function withoutResignation(
  { name }: SpecAction,
  events: readonly CoreTraceEvent[],
): readonly CoreTraceEvent[] {
  return name === 'Restored' && events[0]?.name === 'StepDown' ? events.slice(1) : events;
}

/** A leader that was told to follow does not answer the Prepare once more: it may stay silent. */
function isDeclined(action: SpecAction, events: readonly CoreTraceEvent[]): boolean {
  return action.name === 'HandlePrepare' && events.length === 0;
}

/** Up to where a new leader's own first entry has no place in the model's short log, and before the step that made it leader. */
function withinModel(states: readonly TlaState[]): readonly TlaState[] {
  const leaves = states.findIndex((state) => {
    const slotsMax = asSequence(asSequence(state.log)[0]).length;
    return asSequence(state.startSlot).some((slot) => asNumber(slot) > slotsMax);
  });
  return leaves === -1 ? states : states.slice(0, leaves - 1);
}

/** What the core sends must be in the spec's messages once the actions that it took in this step are done. */
function maySend(
  state: TlaState,
  action: SpecAction,
  message: Message,
  later: readonly TlaState[],
  events: number,
): boolean {
  const after = later[events - 2] ?? state;
  const known = new Set(messagesOf(events > 1 ? after : state).map(messageName));
  return specMessagesOf(action.replica, message).every((one) => known.has(messageName(one)));
}

function firstDifference(spec: ReplicaView, core: ReplicaView): string | null {
  for (const field of Object.keys(spec) as (keyof ReplicaView)[]) {
    if (field === 'log') continue;
    if (!isDeepStrictEqual(spec[field], core[field])) return field;
  }
  // The core lets go of what is below its commit point.
  const slots = new Set([...Object.keys(spec.log), ...Object.keys(core.log)].map(Number));
  for (const slot of slots) {
    const isGone = core.log[slot] === undefined && slot <= core.commitPoint;
    if (!isGone && !isDeepStrictEqual(spec.log[slot], core.log[slot])) return `log slot ${slot}`;
  }
  return null;
}
