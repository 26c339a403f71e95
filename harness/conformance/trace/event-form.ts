/**
 * What an event of each name is made of: which fields it has, which message its action handles, and which messages it sends.
 *
 * Responsible for: what can be said of one event alone. Source: the calls of traceAction in server/src/multipaxos, and traceMessage there.
 */
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ActionName, TraceMessage } from '../../../server/src/multipaxos/types/trace.ts';
import type { ConsensusEvent } from './read-trace.ts';

type Kind = TraceMessage['kind'];
type Presence = 'always' | 'perhaps' | 'never';

interface Form {
  /** The kinds of message that it handles. */
  readonly handles?: readonly Kind[];
  /** Without a message too: behind a catch-up, a replica acts on what its leader told it before. */
  readonly alone?: true;
  /** Who told it, where no message is. */
  readonly from?: true;
  readonly sends?: readonly Kind[];
  readonly votes?: Presence;
  readonly base?: Presence;
  readonly configurations?: Presence;
  readonly reasons?: readonly string[];
}

/** A leader whose change has just been chosen tells it at once: that heartbeat is in the next event. */
const forms: Readonly<Record<ActionName, Form>> = {
  StartElection: { sends: ['CatchUpRequest', 'PreVoteReply'] },
  HandlePrepare: { handles: ['Prepare'], sends: ['Promise'] },
  HandlePromise: { handles: ['Promise'], sends: ['PreVoteReply'], configurations: 'perhaps' },
  BecomeLeader: { sends: ['Accept'], votes: 'perhaps', configurations: 'always' },
  Propose: { sends: ['Accept', 'Heartbeat'], votes: 'always', configurations: 'perhaps' },
  HandleAccept: {
    handles: ['Accept'],
    sends: ['Accepted', 'HeartbeatAck'],
    votes: 'perhaps',
    configurations: 'perhaps',
  },
  HandleAccepted: { handles: ['Accepted'] },
  AdvanceCommitPoint: { configurations: 'perhaps' },
  HandleHeartbeat: {
    handles: ['Heartbeat', 'Accept'],
    alone: true,
    sends: ['HeartbeatAck', 'Accepted', 'PreVoteReply'],
    configurations: 'perhaps',
  },
  HandleCatchUpReply: {
    handles: ['CatchUpReply'],
    sends: ['PreVoteReply'],
    votes: 'always',
    configurations: 'perhaps',
  },
  HandleReject: { handles: ['Reject'], reasons: ['higherBallot'] },
  Serve: { sends: ['Heartbeat'] },
  StepDown: {
    sends: ['Heartbeat', 'PreVoteReply'],
    reasons: [
      'databaseFailed',
      'logFailed',
      'quorumLost',
      'higherBallot',
      'requested',
      'handedOver',
      'removed',
    ],
  },
  Reconfigure: { sends: ['Accept', 'Heartbeat'], votes: 'always', configurations: 'always' },
  LearnConfiguration: { from: true, configurations: 'always' },
  Restored: { sends: ['PreVoteReply'], base: 'always' },
  Fsync: {
    sends: ['Accepted', 'HeartbeatAck', 'Promise', 'Reject', 'Prepare'],
    votes: 'perhaps',
    base: 'perhaps',
    configurations: 'perhaps',
  },
  Crash: {},
  Restart: { votes: 'perhaps', configurations: 'perhaps' },
};

const fieldsOfMessages: Readonly<Record<Kind, readonly (keyof TraceMessage)[]>> = {
  PreVote: [],
  Resigned: [],
  PreVoteReply: ['configuration'],
  Prepare: ['commitPoint'],
  HeartbeatAck: ['commitPoint'],
  Heartbeat: ['commitPoint', 'configuration'],
  Promise: ['commitPoint', 'votes', 'configuration'],
  Reject: ['promised'],
  Accept: ['commitPoint', 'firstSlot', 'labels'],
  CatchUpReply: ['commitPoint', 'firstSlot', 'labels', 'configuration'],
  Accepted: ['commitPoint', 'firstSlot', 'lastSlot'],
  CatchUpRequest: ['firstSlot', 'lastSlot'],
};

/** Why no action of the core tells such an event; null: one does. */
export function malformed(event: ConsensusEvent): string | null {
  const { name } = event;
  if (!Object.hasOwn(forms, name)) return `${name} is no action`;
  const form: Form = forms[name];
  const presences: readonly (readonly [string, Presence, boolean])[] = [
    ['votes', form.votes ?? 'never', event.votes !== undefined],
    ['base', form.base ?? 'never', event.base !== undefined],
    ['configurations', form.configurations ?? 'never', event.configurations !== undefined],
    ['reason', form.reasons === undefined ? 'never' : 'always', event.reason !== undefined],
    ['message', form.handles === undefined ? 'never' : presenceOf(form), event.message !== undefined],
    ['from', form.from === true || form.handles !== undefined ? 'always' : 'never', event.from !== undefined],
  ];
  for (const [field, presence, isThere] of presences) {
    if (presence === 'always' && !isThere) return `it has no ${field}`;
    if (presence === 'never' && isThere) return `it has ${field}`;
  }
  if (event.reason !== undefined && form.reasons?.includes(event.reason) === false)
    return `${event.reason} is no reason for it`;
  return (
    malformedState(event) ??
    malformedMessage(event, form) ??
    malformedSends(event, form) ??
    (name === 'Restored' && event.base !== event.state.commitPoint
      ? `the base is at ${event.base}, and the commit point elsewhere`
      : null)
  );
}

function presenceOf({ alone }: Form): Presence {
  return alone === true ? 'perhaps' : 'always';
}

/** A ballot of round 0 is nobody's. */
function malformedState({ state }: ConsensusEvent): string | null {
  const { commitPoint, lastSlot, configuration } = state;
  if (commitPoint < 0 || lastSlot < commitPoint || configuration < 1)
    return `there is no commit point ${commitPoint} with last slot ${lastSlot} in configuration ${configuration}`;
  for (const { round, replica } of [state.ballot, state.promised, state.durablePromised])
    if ((round === 0) !== (replica === '')) return `${round}.${replica} is no ballot`;
  return null;
}

function malformedMessage(event: ConsensusEvent, form: Form): string | null {
  const { from, message, replica, state } = event;
  if (from === replica && event.name !== 'LearnConfiguration') return 'its sender is the replica itself';
  if (message === undefined) {
    const isToldBefore = form.alone !== true || from === state.promised.replica;
    return isToldBefore ? null : `${from} is not the leader that it follows`;
  }
  if (form.handles?.includes(message.kind) !== true) return `it does not handle ${message.kind}`;
  const owner = ownerOf(message, from, replica);
  if (owner !== null && message.ballot.replica !== owner)
    return `the ballot of the ${message.kind} is not ${owner}'s`;
  const { kind, commitPoint = 0, firstSlot = 0, labels = [] } = message;
  // Several Accepts may come as one, with the commit point of the last (server/src/replica/consensus/eager-quorum.ts).
  const lowest = kind === 'Accept' ? firstSlot + labels.length - 1 : firstSlot;
  if ((kind === 'Accept' || kind === 'Accepted') && commitPoint >= lowest)
    return `${kind} of slot ${firstSlot} with commit point ${commitPoint}`;
  return malformedFields(message);
}

/** Whose ballot a received message is of. A CatchUpReply names the last ballot that its sender promised, whose ever it is. */
function ownerOf({ kind }: TraceMessage, from: ReplicaId | undefined, self: ReplicaId): ReplicaId | null {
  if (kind === 'CatchUpReply') return null;
  return kind === 'Promise' || kind === 'Accepted' || kind === 'Reject' ? self : (from ?? null);
}

function malformedSends({ sent, replica }: ConsensusEvent, form: Form): string | null {
  for (const { to, message } of sent ?? []) {
    if (to === replica) return `it sends ${message.kind} to itself`;
    if (form.sends?.includes(message.kind) !== true) return `it does not send ${message.kind}`;
    const fault = malformedFields(message);
    if (fault !== null) return fault;
    // A slot is proposed, and voted for, above the commit point of whoever does it.
    const { kind, commitPoint = 0, firstSlot = 0 } = message;
    if ((kind === 'Accept' || kind === 'Accepted') && commitPoint >= firstSlot)
      return `${kind} of slot ${firstSlot} with commit point ${commitPoint}`;
  }
  return null;
}

function malformedFields(message: TraceMessage): string | null {
  const { kind, ballot, commitPoint = 0, firstSlot = 0, lastSlot = 0 } = message;
  const expected = ['kind', 'ballot', ...fieldsOfMessages[kind]].sort().join(', ');
  const fields = Object.keys(message).sort().join(', ');
  if (fields !== expected) return `${kind} has ${fields} in place of ${expected}`;
  if (ballot.round === 0 && kind !== 'CatchUpReply' && kind !== 'CatchUpRequest')
    return `${kind} of no ballot`;
  if (commitPoint < 0 || firstSlot < 0)
    return `${kind} of slot ${firstSlot} with commit point ${commitPoint}`;
  if (kind === 'Accepted' && lastSlot < firstSlot) return 'Accepted of no slot';
  return null;
}
