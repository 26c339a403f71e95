/** The trace events of the core of single-decree Paxos: each action of specs/Paxos.tla as it is taken, with what the replica then knows. */
import type { Slot } from '../multipaxos/types/names.ts';
import type { PaxosRun } from './run.ts';
import type { PaxosState, SlotState } from './state.ts';
import type { PaxosActionName, PaxosTraceEvent, TracedSlot } from './types/trace.ts';

type Fields = Omit<PaxosTraceEvent, 'name' | 'state'>;

export function traceAction(run: PaxosRun, name: PaxosActionName, fields: Fields = {}): void {
  if (!run.state.config.trace) return;
  run.effects.push({ kind: 'trace', event: { name, ...fields, state: tracedState(run.state) } });
}

export function traceRestart(run: PaxosRun): void {
  run.state.restartTraced = true;
  traceAction(run, 'Restart');
}

function tracedState(state: PaxosState): PaxosTraceEvent['state'] {
  const { commitPoint, purgedTo, done } = state;
  const held = [...state.slots.values()].sort((left, right) => left.slot - right.slot);
  return { commitPoint, purgedTo, done, slots: held.map(tracedSlot) };
}

function tracedSlot({ slot, promised, ballot, label, decided, own, open }: SlotState): TracedSlot {
  return {
    slot: slot satisfies Slot,
    promised: promised.round === 0 ? null : promised,
    ballot,
    label,
    decided,
    own: own?.label ?? null,
    phase: open?.phase ?? 'none',
  };
}
