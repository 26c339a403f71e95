/**
 * Trace events: what an action did, in the words of the spec.
 *
 * Responsible for: building events from the effects that an action has gathered. Changes nothing but what it remembers to have told, and costs nothing when nobody
 * listens.
 */
import { namesOf, votersOf } from './configuration.ts';
import { entryLabel } from './entry.ts';
import type { Run } from './run.ts';
import { snapshot, type State } from './state.ts';
import type { Entry, Vote } from './types/entries.ts';
import type { Member } from './types/members.ts';
import type { Message } from './types/messages.ts';
import type { EntryLabel, ReplicaId, Slot, StepDownReason } from './types/names.ts';
import type { LogRecord } from './types/records.ts';
import type { ActionName, CoreTraceEvent, TraceConfiguration, TraceMessage } from './types/trace.ts';

type TraceVote = NonNullable<CoreTraceEvent['votes']>[number];

interface Details {
  readonly from?: ReplicaId;
  readonly message?: Message;
  /** Records made durable (Fsync) or found (Restart), rather than written by the action. */
  readonly records?: readonly LogRecord[];
  readonly reason?: StepDownReason;
  /** Entries that a new leader found and may not propose yet. */
  readonly found?: readonly Entry[];
}

/** They come with every entry, message or group of records. */
const frequentActions: ReadonlySet<string> = new Set<ActionName>([
  'Propose',
  'HandleAccept',
  'HandleAccepted',
  'AdvanceCommitPoint',
  'HandleHeartbeat',
  'HandleCatchUpReply',
  'Fsync',
]);

/** Whether an event with this name is left out at the level `rare`. */
export function isFrequentAction(name: string): boolean {
  return frequentActions.has(name);
}

/** Closes an action: everything gathered since the last call is told as done by it. */
export function traceAction(run: Run, name: ActionName, details: Details = {}): void {
  const { trace } = run.state;
  if (trace === 'none' || (trace === 'rare' && frequentActions.has(name))) {
    run.mark = run.effects.length;
    return;
  }
  const gathered = run.effects.slice(run.mark);
  const sent = gathered.flatMap((effect) =>
    effect.kind === 'send' ? [{ to: effect.to, message: traceMessage(effect.message) }] : [],
  );
  const records =
    details.records ?? gathered.flatMap((effect) => (effect.kind === 'persist' ? effect.records : []));
  const votes = records.flatMap(traceRecord);
  const base = records.findLast((record) => record.kind === 'base')?.slot;
  const configurations = traceConfigurations(run.state, name, details, records);
  const event: CoreTraceEvent = {
    name,
    ...(details.from !== undefined && { from: details.from }),
    ...(details.message !== undefined && { message: traceMessage(details.message) }),
    ...(sent.length > 0 && { sent }),
    ...(votes.length > 0 && { votes }),
    ...(base !== undefined && { base }),
    ...(details.reason !== undefined && { reason: details.reason }),
    ...(configurations.length > 0 && { configurations }),
    state: snapshot(run.state),
  };
  run.effects.push({ kind: 'trace', event });
  run.mark = run.effects.length;
}

/** What the labels and versions of an event stand for: configurations among its entries and votes, and the known one when it is new. */
function traceConfigurations(
  state: State,
  name: ActionName,
  details: Details,
  records: readonly LogRecord[],
): TraceConfiguration[] {
  const { configuration } = state;
  const { message } = details;
  const isTold =
    configuration.version === state.tracedConfiguration && name !== 'Restart' && name !== 'BecomeLeader';
  const promised = message?.kind === 'Promise' ? message.configuration : configuration;
  const brought = configurationsIn(details, records);
  // Nearly always: this is asked at every action.
  if (isTold && promised.version === configuration.version && brought.length === 0) return [];
  const traced = new Map<string, TraceConfiguration>();
  const add = (
    version: number,
    slot: Slot,
    members: readonly Member[],
    label: EntryLabel | null = null,
  ): void => {
    const told = {
      version,
      slot,
      ...(label !== null && { label }),
      voters: votersOf({ members }),
      learners: namesOf(members.filter(({ role }) => role === 'learner')),
    };
    traced.set(`${label ?? version} ${slot} ${told.voters.join(' ')} ${told.learners.join(' ')}`, told);
  };
  for (const entry of brought) add(entry.version, 0 as Slot, entry.members, entryLabel(entry));
  if (!isTold) add(configuration.version, configuration.slot, configuration.members);
  if (promised.version !== configuration.version) add(promised.version, promised.slot, promised.members);
  state.tracedConfiguration = configuration.version;
  return [...traced.values()];
}

type ConfigurationEntry = Extract<Entry, { kind: 'configuration' }>;

function configurationsIn({ found, message }: Details, records: readonly LogRecord[]): ConfigurationEntry[] {
  const brought: ConfigurationEntry[] = [];
  const look = (entry: Entry): void => {
    if (entry.kind === 'configuration') brought.push(entry);
  };
  found?.forEach(look);
  if (message?.kind === 'Accept' || message?.kind === 'CatchUpReply') message.entries.forEach(look);
  if (message?.kind === 'Promise') for (const { entry } of message.votes) look(entry);
  for (const record of records) if (record.kind === 'vote' || record.kind === 'chosen') look(record.entry);
  return brought;
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
    case 'Resigned':
      return { kind, ballot };
    case 'PreVoteReply':
      return { kind, ballot, configuration: message.configuration.version };
    case 'Prepare':
    case 'HeartbeatAck':
      return { kind, ballot, commitPoint: message.commitPoint };
    case 'Heartbeat':
      return {
        kind,
        ballot,
        commitPoint: message.commitPoint,
        configuration: message.configuration.version,
      };
    case 'Promise':
      return {
        kind,
        ballot,
        commitPoint: message.commitPoint,
        votes: message.votes.map(traceVote),
        configuration: message.configuration.version,
      };
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
        ...(message.kind === 'CatchUpReply' && { configuration: message.configuration.version }),
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
