/** What an event of the layer `lease` says, in one line: who has given its word, and what leaves under whose lease. Pure. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { TracedLease } from '../../../server/src/multipaxos/types/lease-trace.ts';
import { formatBallot } from './cluster-view.ts';
import { unreachable } from './unreachable.ts';

type LeaseEvent = Extract<TraceEvent, { layer: 'lease' }>;

/** They come with every message, or with the answers to clients. */
export function isRoutineOfLease({ name }: LeaseEvent): boolean {
  return name === 'HandleHeartbeat' || name === 'HandleHeartbeatAck' || name === 'AnswerRead';
}

export function describeLease(event: LeaseEvent): string {
  switch (event.name) {
    case 'Restart':
      return `promises nothing for ${event.leaseMs} ms`;
    case 'HandleHeartbeat':
      return `gives its word to ${event.grant.to ?? 'nobody'} · ballot ${formatBallot(event.ballot)}`;
    case 'HandleHeartbeatAck':
      return `from ${event.from} · ${describeHold(event.lease, event.clockMs)}`;
    case 'GivePromise':
    case 'Resign':
    case 'HandleResigned':
      return `ballot ${formatBallot(event.ballot)}`;
    case 'Lead':
    case 'Learn':
    case 'AnswerRead':
    case 'RefuseAnswer':
      return describeHold(event.lease, event.clockMs);
    case 'RunRead':
      return `reads run under ballot ${formatBallot(event.leadership)}`;
    default:
      return unreachable(event);
  }
}

function describeHold(lease: TracedLease | null, clockMs: number): string {
  if (lease === null) return 'leads no more';
  const ballot = `ballot ${formatBallot(lease.ballot)}`;
  if (lease.untilMs === 'always') return `the only voter · ${ballot}`;
  const leftMs = lease.untilMs === 'never' ? 0 : Math.round(lease.untilMs - clockMs);
  return `${leftMs > 0 ? `lease for ${leftMs} ms` : 'no lease'} · ${ballot}`;
}
