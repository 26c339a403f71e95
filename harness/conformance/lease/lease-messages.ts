/** Which messages of a run nobody takes any more, so that no judge need carry them along. Pure. */
import type { LeaseStep } from './lease-event.ts';

const every = 200;

/** Puts in a step now and then that drops what was sent before the oldest message that is still taken, ballot by ballot. */
export function losingMessages(steps: readonly LeaseStep[], ballots: number): readonly LeaseStep[] {
  const result: LeaseStep[] = [];
  const floors = floorsBehind(steps, ballots);
  for (const [index, step] of steps.entries()) {
    result.push(step);
    const f = floors.get(index);
    if (f !== undefined) result.push({ action: 'Lose', fields: { f }, event: null });
  }
  return result;
}

/** Of some steps: for each ballot the lowest time of sending among the messages that are taken behind it; of one that is taken no more a high one. */
function floorsBehind(steps: readonly LeaseStep[], ballots: number): ReadonlyMap<number, readonly number[]> {
  const floors = new Map<number, readonly number[]>();
  const lowest = Array.from({ length: ballots }, () => 2 ** 31 - 1);
  for (let index = steps.length - 1; index >= 0; index--) {
    if ((index + 1) % every === 0) floors.set(index, [...lowest]);
    const { action, fields } = steps[index]!;
    if (action !== 'HandleHeartbeat' && action !== 'HandleHeartbeatAck') continue;
    const ballot = Number(fields['b']);
    if (ballot > 0) lowest[ballot - 1] = Math.min(lowest[ballot - 1]!, Number(fields['s']));
  }
  return floors;
}
