/**
 * Trace events: what an action did, in the words of the spec.
 *
 * Responsible for: building events from the effects that an action has gathered. Changes no state, and costs nothing when the
 * configuration has tracing off.
 */
import { entryLabel } from './entry.ts';
import type { Run } from './run.ts';
import { snapshot } from './state.ts';
import type {
  ActionName,
  CoreTraceEvent,
  LogRecord,
  Message,
  ReplicaId,
  StepDownReason,
  TraceMessage,
  Vote,
} from './types.ts';

type TraceVote = NonNullable<CoreTraceEvent['votes']>[number];

interface Details {
  readonly from?: ReplicaId;
  readonly message?: Message;
  /** Records made durable (Fsync) or found (Restart), rather than written by the action. */
  readonly records?: readonly LogRecord[];
  readonly reason?: StepDownReason;
}

/** Closes an action: everything gathered since the last call is told as done by it. */
export function traceAction(run: Run, name: ActionName, details: Details = {}): void {
  if (!run.state.config.trace) return;
  const gathered = run.effects.slice(run.mark);
  const sent = gathered.flatMap((effect) =>
    effect.kind === 'send' ? [{ to: effect.to, message: traceMessage(effect.message) }] : [],
  );
  const records =
    details.records ?? gathered.flatMap((effect) => (effect.kind === 'persist' ? effect.records : []));
  const votes = records.flatMap(traceRecord);
  const event: CoreTraceEvent = {
    name,
    ...(details.from !== undefined && { from: details.from }),
    ...(details.message !== undefined && { message: traceMessage(details.message) }),
    ...(sent.length > 0 && { sent }),
    ...(votes.length > 0 && { votes }),
    ...(details.reason !== undefined && { reason: details.reason }),
    state: snapshot(run.state),
  };
  run.effects.push({ kind: 'trace', event });
  run.mark = run.effects.length;
}

function traceRecord(record: LogRecord): TraceVote[] {
  if (record.kind === 'vote') return [[record.slot, record.ballot, entryLabel(record.entry)]];
  if (record.kind === 'chosen') return [[record.slot, null, entryLabel(record.entry)]];
  return [];
}

function traceVote(vote: Vote): TraceVote {
  return [vote.slot, vote.ballot, entryLabel(vote.entry)];
}

function traceMessage(message: Message): TraceMessage {
  const { kind, ballot } = message;
  switch (message.kind) {
    case 'PreVote':
    case 'PreVoteReply':
      return { kind, ballot };
    case 'Prepare':
    case 'Heartbeat':
    case 'HeartbeatAck':
      return { kind, ballot, commitPoint: message.commitPoint };
    case 'Promise':
      return { kind, ballot, commitPoint: message.commitPoint, votes: message.votes.map(traceVote) };
    case 'Reject':
      return { kind, ballot, promised: message.promised };
    case 'Accept':
    case 'CatchUpReply':
      return {
        kind,
        ballot,
        commitPoint: message.commitPoint,
        firstSlot: message.firstSlot,
        labels: message.entries.map(entryLabel),
      };
    case 'Accepted':
      return {
        kind,
        ballot,
        commitPoint: message.commitPoint,
        firstSlot: message.firstSlot,
        lastSlot: message.lastSlot,
      };
    case 'CatchUpRequest':
      return { kind, ballot, firstSlot: message.fromSlot, lastSlot: message.toSlot };
    default:
      return message satisfies never;
  }
}
