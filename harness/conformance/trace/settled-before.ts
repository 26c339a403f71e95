/**
 * Slots that were settled before a trace began: what they hold is in no event, until somebody hands it out.
 *
 * Responsible for: what such a trace takes for granted, as it does the logs that replicas begin with. Whoever holds a slot from before holds what is handed out of it first.
 */
import type { EntryLabel } from '../../../server/src/multipaxos/types/names.ts';
import type { ConsensusEvent } from './read-trace.ts';
import { sendMessages, type SpecState } from './spec-state.ts';

/** Stands for an entry that nobody has told. */
export const SETTLED: EntryLabel = 'settled before';

/** Everything at or below was settled for somebody before the trace began. */
export function settledBefore({ replicas }: Pick<SpecState, 'replicas'>): number {
  return Math.max(0, ...[...replicas.values()].map(({ base }) => base));
}

/** A reply that hands out entries from before the trace says what they are. */
export function learnSettled(state: SpecState, { name, message }: ConsensusEvent): void {
  if (name !== 'HandleCatchUpReply') return;
  const before = settledBefore(state);
  for (const [i, label] of (message?.labels ?? []).entries()) {
    const slot = (message?.firstSlot ?? 0) + i;
    if (slot > before || state.chosen.has(slot)) continue;
    sendMessages(state, [{ type: 'CatchUpReply', slot, label }], -1);
    for (const { base, log, durableLog, role } of state.replicas.values()) {
      if (slot > base) continue;
      if (role !== 'down' && !log.has(slot)) log.set(slot, { ballot: null, label });
      if (!durableLog.has(slot)) durableLog.set(slot, { ballot: null, label });
    }
  }
}
