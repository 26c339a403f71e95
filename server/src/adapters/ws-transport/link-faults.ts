/**
 * What happens to a message on a faulty link: a pure decision, so that the same seed gives the same faults.
 *
 * Responsible for: the decision and the seeded random numbers. Sends nothing and knows no clock.
 */
import type { LinkFault } from '../../api/status.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';

export const delayMsMax = 60_000;

/** A link without faults. */
export function healthyLink(from: ReplicaId, to: ReplicaId): LinkFault {
  return { from, to, cut: false, delayMs: 0, drop: 0, duplicate: 0 };
}

export function isHealthy(fault: LinkFault): boolean {
  return !fault.cut && fault.delayMs === 0 && fault.drop === 0 && fault.duplicate === 0;
}

/** Why a fault cannot be set, or null. */
export function faultProblem(fault: LinkFault): string | null {
  const { delayMs, drop, duplicate } = fault;
  if (!(delayMs >= 0 && delayMs <= delayMsMax))
    return `delayMs must be a number from 0 to ${delayMsMax}, and is ${delayMs}`;
  if (!(drop >= 0 && drop <= 1)) return `drop must be a probability from 0 to 1, and is ${drop}`;
  if (!(duplicate >= 0 && duplicate <= 1))
    return `duplicate must be a probability from 0 to 1, and is ${duplicate}`;
  return null;
}

/** In words. */
export function describeFault({ from, to, cut, delayMs, drop, duplicate }: LinkFault): string {
  const what = [
    cut ? 'cut' : '',
    delayMs > 0 ? `delayed by ${delayMs} ms` : '',
    drop > 0 ? `drops ${Math.round(drop * 100)} %` : '',
    duplicate > 0 ? `duplicates ${Math.round(duplicate * 100)} %` : '',
  ].filter((text) => text !== '');
  return `link ${from} to ${to}: ${what.join(', ') || 'healthy'}`;
}

/** After how many milliseconds each copy of one message leaves. Empty: the message is lost. `random` yields [0, 1). */
export function decideFault(fault: LinkFault, random: () => number): readonly number[] {
  if (fault.cut) return [];
  // Both numbers are drawn whatever the probabilities are, so that one knob does not change another's outcomes.
  const lost = random() < fault.drop;
  const twice = random() < fault.duplicate;
  if (lost) return [];
  return twice ? [fault.delayMs, fault.delayMs] : [fault.delayMs];
}

/** A small seeded generator of numbers in [0, 1) (splitmix32). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}
