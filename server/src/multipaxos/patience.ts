/** When what was not answered is sent again. */
import type { State } from './state.ts';

/**
 * True a quarter sooner or later than `retransmitMs` behind `sentAtMs`, as chance has it: what is always sent after the same time may meet a link that comes and goes in the same time only while
 * it is away.
 */
export function isPatienceOver(state: State, sentAtMs: number): boolean {
  const { retransmitMs } = state.config;
  return state.nowMs >= sentAtMs + retransmitMs * (0.75 + state.random / 2);
}
