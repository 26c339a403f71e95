/**
 * A trace event in words: one line for the event list, and the slots that it is about.
 *
 * Names stay those of the specification; only what surrounds them is prose.
 */
import type { PassedMessage, TraceEvent } from '../../../server/src/api/events.ts';
import type { RecoveryProgress, VerifyResult } from '../../../server/src/api/status.ts';
import type { TraceConfiguration, TraceMessage } from '../../../server/src/multipaxos/types/trace.ts';
import { formatBallot } from './cluster-view.ts';
import { describeLease, isRoutineOfLease } from './lease-event-text.ts';
import { causes } from './recovery-view.ts';
import { describeOperation as describeChosen } from './operation-text.ts';
import { unreachable } from './unreachable.ts';
import { describeWal } from './wal-event-text.ts';

export interface SlotRange {
  readonly from: number;
  readonly to: number;
}

/** Sent all the time and saying little; the event list leaves them out unless asked. */
export function isRoutine(event: TraceEvent): boolean {
  if (event.layer === 'apply') return event.name === 'FlushStandby' || event.name === 'Replay';
  if (event.layer === 'operation') return routineOperations.has(event.name);
  if (event.layer === 'lease') return isRoutineOfLease(event);
  if (event.layer === 'protocol') return true;
  return event.name === 'HandleHeartbeat' || (event.name === 'Fsync' && (event.votes?.length ?? 0) === 0);
}

const routineOperations: ReadonlySet<TraceEvent['name']> = new Set([
  'RunningTransactions',
  'SlotChosen',
  'MessagesPassed',
]);

export function slotsOf(event: TraceEvent): SlotRange | null {
  switch (event.layer) {
    case 'consensus':
      return (
        slotsOfVotes(event.votes) ?? slotsOfMessage(event.message) ?? slotsOfMessage(event.sent?.[0]?.message)
      );
    case 'apply':
      // The slot of a database's position says how far it is, not what this is about.
      return 'slot' in event && !positional.has(event.name) ? { from: event.slot, to: event.slot } : null;
    case 'operation':
      return event.name === 'SlotChosen' ? { from: event.slot, to: event.slot } : null;
    case 'lease':
    case 'protocol':
      return null;
    default:
      return unreachable(event);
  }
}

const positional: ReadonlySet<TraceEvent['name']> = new Set([
  'FlushStandby',
  'DatabaseUp',
  'CheckPrefix',
  'EndCopy',
  'Purge',
]);

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
      return describeWal(event);
    case 'lease':
      return describeLease(event);
    case 'protocol':
      return event.step.name;
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
    ...(event.configurations ?? []).slice(0, 2).map(describeConfiguration),
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

function describeOperation(event: Extract<TraceEvent, { layer: 'operation' }>): string {
  switch (event.name) {
    case 'ReplicaStarted':
      return `process ${event.pid}`;
    case 'PeerConnected':
    case 'PeerLost':
      return event.peer;
    case 'FaultChanged':
      return event.description;
    case 'RecoveryPhase':
      return describeRecovery(event.progress);
    case 'VerifyDone':
      return describeVerify(event.result);
    case 'RunningTransactions':
      return describeRunning(event.transactions.length + event.more);
    case 'SlotChosen': {
      const holds = event.what === null ? event.label : describeChosen(event.what, event.session);
      return `slot ${event.slot} · ${holds}`;
    }
    case 'MessagesPassed':
      return `heard ${namesOf(event.heard)} · sent ${namesOf(event.sent)}`;
    case 'PreparedRolledBack':
      return `'${event.gid}' (database ${event.database}) was prepared ${Math.round(event.ageMs / 60_000)} minutes ago`;
    case 'LogFull':
    case 'LogResumed':
    case 'LogRefused':
      return event.reason;
    default:
      return unreachable(event);
  }
}

const namesMax = 3;

function namesOf(messages: readonly PassedMessage[]): string {
  if (messages.length === 0) return 'nothing';
  const [shown, more] = [messages.slice(0, namesMax), messages.length - namesMax];
  const names = shown.map(({ kind, peer }) => `${kind} ${peer}`).join(', ');
  return more > 0 ? `${names} and ${more} more` : names;
}

function describeRunning(count: number): string {
  return count === 1 ? 'one open transaction' : `${count} open transactions`;
}

const phases: Readonly<Record<RecoveryProgress['phase'], string>> = {
  joining: 'asks the others to let it in',
  copying: 'copies another replica’s PostgreSQL',
  starting: 'starts PostgreSQL on the copy',
  catchingUp: 'catches up with the log',
};

function describeRecovery(progress: RecoveryProgress | null): string {
  if (progress === null) return 'recovered';
  const { phase, cause, source, attempts } = progress;
  const from = phase === 'copying' && source !== null ? `copies PostgreSQL of ${source}` : phases[phase];
  return `${from}: ${causes[cause]}${attempts > 1 ? ` · attempt ${attempts}` : ''}`;
}

export function describeVerify({ slot, replicas }: VerifyResult): string {
  const differing = replicas.filter(({ outcome }) => outcome === 'differs').map(({ replica }) => replica);
  const silent = replicas.filter(({ outcome }) => outcome === 'noReport').map(({ replica }) => replica);
  const parts = [
    differing.length > 0 ? `${differing.join(', ')} ${differing.length === 1 ? 'differs' : 'differ'}` : null,
    silent.length > 0 ? `no report of ${silent.join(', ')}` : null,
  ].filter((part) => part !== null);
  return `data as of slot ${slot}: ${parts.length === 0 ? 'all replicas equal' : parts.join(' · ')}`;
}

/** Who votes from a change on, as far as the event tells. */
function describeConfiguration({ version, voters, learners }: TraceConfiguration): string {
  const rest = learners.length === 0 ? '' : `, learning ${learners.join(', ')}`;
  return `members ${version}: voting ${voters.join(', ')}${rest}`;
}

const alarming: ReadonlySet<TraceEvent['name']> = new Set([
  'Crash',
  'StepDown',
  'DatabaseDown',
  'Depose',
  'EndWait',
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
  'BeginLeadership',
  'Promote',
  'Resume',
  'Open',
  'CheckPrefix',
  'BeginCopy',
  'GiveUpCopy',
  'EndCopy',
  'TellOutcome',
  'ReplicaStarted',
  'PeerConnected',
  'LogResumed',
  'Reconfigure',
  'LearnConfiguration',
  'Restored',
  'RecoveryPhase',
  'VerifyDone',
  'PreparedRolledBack',
]);

/** Events worth a coloured mark: something changed hands, or broke. */
export function weightOf(event: TraceEvent): 'plain' | 'notable' | 'alarming' {
  if (event.name === 'VerifyDone' && event.result.replicas.some(({ outcome }) => outcome === 'differs'))
    return 'alarming';
  if (event.name === 'CheckPrefix' && event.outcome === 'parted') return 'alarming';
  if (alarming.has(event.name)) return 'alarming';
  return notable.has(event.name) ? 'notable' : 'plain';
}
