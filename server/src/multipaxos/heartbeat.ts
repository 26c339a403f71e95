/**
 * What a heartbeat says.
 *
 * Responsible for: its content, and the global application pointer: the lowest durable one of all members, learners and those of a change that is
 * under way included. One that is expected and has never joined does not count; one that has not been heard in this leadership counts as 0.
 */
import type { Leadership, State } from './state.ts';
import type { Heartbeat } from './types/messages.ts';
import type { Slot } from './types/names.ts';

export function heartbeatOf(state: State, leadership: Leadership): Heartbeat {
  return {
    kind: 'Heartbeat',
    group: state.config.group,
    ballot: leadership.ballot,
    commitPoint: state.commitPoint,
    sentAtMs: state.nowMs,
    globalApplicationPointer: globalPointer(state, leadership),
    configuration: state.configuration,
  };
}

function globalPointer(state: State, leadership: Leadership): Slot {
  let lowest = state.durableApplied;
  for (const peer of leadership.peers) {
    const pointer = peer.durableApplicationPointer ?? (0 as Slot);
    if (pointer < lowest) lowest = pointer;
  }
  return lowest;
}
