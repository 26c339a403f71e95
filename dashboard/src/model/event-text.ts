/**
 * A trace event in words: one line for the event list, and the slots that it is about.
 *
 * Names stay those of the specification; only what surrounds them is prose.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { TraceMessage } from '../../../server/src/multipaxos/types.ts';
import { formatBallot } from './cluster-view.ts';
import { unreachable } from './unreachable.ts';

export interface SlotRange {
  readonly from: number;
  readonly to: number;
}

/** Sent all the time and saying little; the event list leaves them out unless asked. */
export function isRoutine(event: TraceEvent): boolean {
  if (event.layer === 'apply') return event.name === 'FlushDatabase';
  if (event.layer !== 'consensus') return false;
  return event.name === 'HandleHeartbeat' || (event.name === 'Fsync' && (event.votes?.length ?? 0) === 0);
}

export function slotsOf(event: TraceEvent): SlotRange | null {
  switch (event.layer) {
    case 'consensus':
      return (
        slotsOfVotes(event.votes) ?? slotsOfMessage(event.message) ?? slotsOfMessage(event.sent?.[0]?.message)
      );
    case 'apply':
      if (event.name === 'CommitChosen') return { from: event.slot, to: event.slot };
      if (event.name === 'ApplyBatch') return { from: event.fromSlot, to: event.toSlot };
      if (event.name === 'MovePointer')
        return { from: event.applicationPointer, to: event.applicationPointer };
      return null;
    case 'operation':
      return null;
    default:
      return unreachable(event);
  }
}

function slotsOfVotes(votes: readonly (readonly [number, ...unknown[]])[] | undefined): SlotRange | null {
  if (votes === undefined || votes.length === 0) return null;
  const slots = votes.map(([slot]) => slot);
  return { from: Math.min(...slots), to: Math.max(...slots) };
}

function slotsOfMessage(message: TraceMessage | undefined): SlotRange | null {
  if (message?.firstSlot === undefined) return null;
  const count = message.labels?.length ?? 1;
  return { from: message.firstSlot, to: message.lastSlot ?? message.firstSlot + Math.max(0, count - 1) };
}

export function formatSlots(range: SlotRange): string {
  return range.from === range.to ? `slot ${range.from}` : `slots ${range.from}–${range.to}`;
}

export function describeEvent(event: TraceEvent): string {
  switch (event.layer) {
    case 'consensus':
      return describeConsensus(event);
    case 'apply':
      return describeApply(event);
    case 'operation':
      return describeOperation(event);
    default:
      return unreachable(event);
  }
}

function describeConsensus(event: Extract<TraceEvent, { layer: 'consensus' }>): string {
  const range = slotsOf(event);
  const to = [...new Set((event.sent ?? []).map((sent) => sent.to))];
  const parts = [
    event.from === undefined ? null : `from ${event.from}`,
    range === null ? null : formatSlots(range),
    event.reason === undefined ? null : event.reason,
    to.length > 0 ? `→ ${event.sent![0]!.message.kind} to ${to.join(', ')}` : null,
    event.name === 'AdvanceCommitPoint' ? `commit point ${event.state.commitPoint}` : null,
    showsBallot.has(event.name) ? `ballot ${formatBallot(event.state.ballot)}` : null,
  ];
  return parts.filter((part) => part !== null).join(' · ');
}

const showsBallot: ReadonlySet<string> = new Set([
  'StartElection',
  'HandlePrepare',
  'HandlePromise',
  'BecomeLeader',
  'Serve',
  'StepDown',
  'HandleReject',
  'Restart',
]);

function describeApply(event: Extract<TraceEvent, { layer: 'apply' }>): string {
  switch (event.name) {
    case 'Harvest':
      return `${event.label} · ${oneLine(event.sql)}`;
    case 'CommitChosen':
      return `slot ${event.slot} · ${event.label}`;
    case 'MovePointer':
      return `application pointer ${event.applicationPointer}`;
    case 'ApplyBatch':
      return `${formatSlots({ from: event.fromSlot, to: event.toSlot })} · ${oneLine(event.sql)}`;
    case 'FlushDatabase':
      return `durable up to ${event.durableApplicationPointer}`;
    case 'AbortTransaction':
      return event.label;
    case 'DatabaseDown':
      return event.reason;
    case 'DatabaseUp':
      return `application pointer ${event.applicationPointer}`;
    default:
      return unreachable(event);
  }
}

function describeOperation(event: Extract<TraceEvent, { layer: 'operation' }>): string {
  switch (event.name) {
    case 'ReplicaStarted':
      return `process ${event.pid}`;
    case 'PeerConnected':
    case 'PeerLost':
      return event.peer;
    case 'FaultChanged':
      return event.description;
    case 'LogFull':
    case 'LogResumed':
    case 'LogRefused':
      return event.reason;
    default:
      return unreachable(event);
  }
}

function oneLine(sql: readonly string[]): string {
  return sql.join('; ').replace(/\s+/g, ' ').trim();
}

const alarming: ReadonlySet<TraceEvent['name']> = new Set([
  'Crash',
  'StepDown',
  'DatabaseDown',
  'LogFull',
  'LogRefused',
  'PeerLost',
  'FaultChanged',
]);
const notable: ReadonlySet<TraceEvent['name']> = new Set([
  'StartElection',
  'BecomeLeader',
  'Serve',
  'Restart',
  'DatabaseUp',
  'ReplicaStarted',
  'PeerConnected',
  'LogResumed',
]);

/** Events worth a coloured mark: something changed hands, or broke. */
export function weightOf(event: TraceEvent): 'plain' | 'notable' | 'alarming' {
  if (alarming.has(event.name)) return 'alarming';
  return notable.has(event.name) ? 'notable' : 'plain';
}
