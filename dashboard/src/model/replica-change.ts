/** What is told of the change of the replicas that was asked for last, and what may be asked meanwhile. Pure; the server carries it out, whether or not somebody looks. */
import type { ReplicaChangeRequest, ReplicaChangeStatus } from '../../../server/src/api/replica-changes.ts';

export interface ReplicaChangeView {
  readonly state: ReplicaChangeStatus['state'];
  readonly text: string;
  /** It is looked at again and again. */
  readonly isUnderWay: boolean;
}

/** `status` null: it was not told yet. `sent`: what this page has asked for and has no answer to. `problem`: why its last request came to nothing; null: it came to something. */
export function viewOfChange(
  status: ReplicaChangeStatus | null,
  sent: ReplicaChangeRequest | null,
  problem: string | null,
): ReplicaChangeView {
  const isUnderWay = sent !== null || status?.state === 'asked' || status?.state === 'joining';
  if (sent !== null && status?.state !== 'asked') return { state: 'asked', text: sentText(sent), isUnderWay };
  if (problem !== null && !isUnderWay) return { state: 'failed', text: problem, isUnderWay };
  if (status === null) return { state: 'idle', text: 'The demo is asked how far it is…', isUnderWay };
  return { state: status.state, text: status.text, isUnderWay };
}

/** While a new one joins nothing else comes or goes, but it itself may go: that gives a replacement up. */
export function mayAsk(
  status: ReplicaChangeStatus | null,
  sent: ReplicaChangeRequest | null,
  request: ReplicaChangeRequest,
): boolean {
  if (status === null || sent !== null || status.state === 'asked') return false;
  if (status.state !== 'joining') return true;
  return request.action === 'remove' && request.replica === status.added;
}

function sentText(request: ReplicaChangeRequest): string {
  return request.action === 'remove'
    ? `${request.replica} is taken from the members…`
    : 'The leader is asked to let another replica in…';
}
