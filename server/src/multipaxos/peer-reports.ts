/**
 * What a leader knows of the other members, for people. Nothing rests on it.
 */
import type { State } from './state.ts';
import type { ReplicaId, Slot } from './types/names.ts';

export interface PeerReport {
  /** An incarnation. */
  readonly id: ReplicaId;
  /** Since the leader sent the newest message that it has answered, or since this leadership came to know it. */
  readonly silentMs: number;
  /** What it knows to be chosen; null: it has answered nothing in this leadership. */
  readonly commitPoint: Slot | null;
  readonly durableApplicationPointer: Slot | null;
}

/** `nowMs`: by the clock of the inputs. Empty: this replica does not lead. */
export function peerReports({ leadership }: State, nowMs: number): readonly PeerReport[] {
  if (leadership === null) return [];
  return leadership.peers.map(({ id, ackedSentAtMs, sinceMs, commitPoint, durableApplicationPointer }) => ({
    id,
    silentMs: nowMs - Math.max(ackedSentAtMs, sinceMs),
    commitPoint: ackedSentAtMs === Number.NEGATIVE_INFINITY ? null : commitPoint,
    durableApplicationPointer,
  }));
}
