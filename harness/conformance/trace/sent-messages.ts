/**
 * What events send: to whom, and with what in it, as far as the specification does not say.
 *
 * Responsible for: that what goes to all goes to all, that an answer goes to whoever is answered and tells what its sender knew then, and that what waits for
 * the disk leaves with it (owed-answers.ts).
 */
import { compareBallots, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { TraceMessage } from '../../../server/src/multipaxos/types/trace.ts';
import type { Fault } from './contradictions.ts';
import { OwedAnswers } from './owed-answers.ts';
import type { ConsensusEvent, RecordedTrace } from './read-trace.ts';
import { readConfigurationLabel } from './spec-configuration.ts';
import { ballotName } from './spec-message.ts';
import { memberNames, type Members } from './told-configurations.ts';
import { isUnheard, type Run } from './trace-place.ts';

export type Sent = NonNullable<ConsensusEvent['sent']>[number];

export function missent(trace: RecordedTrace, runs: readonly Run[]): Fault[] {
  const membersOf = memberNames(trace);
  return runs.flatMap((run) => missentIn(run, membersOf));
}

function missentIn(run: Run, membersOf: (version: number) => Members | null): Fault[] {
  const faults: Fault[] = [];
  const owed = new OwedAnswers();
  const been = new Set<string>();
  for (const [index, event] of run.entries()) {
    const { promised, commitPoint } = event.state;
    been.add(ballotName(promised));
    been.add(`${ballotName(promised)} ${commitPoint}`);
    const told = isUnheard(run, index) ? null : owed.take(event, run[index - 1]);
    const reason =
      told ??
      misaddressed(event, run.slice(Math.max(0, index - 2), index), membersOf) ??
      unknownAnswer(event, been);
    if (reason !== null) faults.push([event, reason]);
  }
  return faults;
}

function ofKind({ sent = [] }: ConsensusEvent, kind: TraceMessage['kind']): Sent[] {
  return sent.filter(({ message }) => message.kind === kind);
}

/** `before`: one or two events of the run. */
function misaddressed(
  event: ConsensusEvent,
  before: Run,
  membersOf: (version: number) => Members | null,
): string | null {
  const members = membersOf(event.state.configuration);
  const previous = before.at(-1);
  // The leader's step begins with AdvanceCommitPoint where its change is chosen.
  const membersBefore = membersOf(before[0]?.state.configuration ?? event.state.configuration);
  return (
    answeredAtOnce(event) ??
    newerTold(event, previous) ??
    (members === null
      ? null
      : (proposedToAll(event, membersOf) ??
        askedAll(event, members) ??
        toldAll(event, [...members.all, ...(membersBefore?.all ?? [])]) ??
        asksOnward(event, previous, members)))
  );
}

/** Whom a message went to that goes to several: all of them, once each. */
function isToAll(sent: readonly Sent[], self: ReplicaId, names: readonly ReplicaId[]): boolean {
  const expected = [...new Set(names)].filter((name) => name !== self).sort();
  const receivers = sent.map(({ to }) => to).sort();
  return receivers.join(' ') === expected.join(' ');
}

/** The leader's votes, cut into Accepts, go to all members, and to those of the change that it proposes. */
function proposedToAll(event: ConsensusEvent, membersOf: (version: number) => Members | null): string | null {
  const { name, votes = [], replica, state, configurations = [] } = event;
  if (name !== 'BecomeLeader' && name !== 'Propose' && name !== 'Reconfigure') return null;
  const labels = votes.map(([, , label]) => label);
  const proposed = configurations.filter(({ label }) => label !== undefined && labels.includes(label));
  const added = proposed.flatMap(({ voters, learners }) => voters.concat(learners));
  const peers = [...new Set([...(membersOf(state.configuration)?.all ?? []), ...added])].filter(
    (peer) => peer !== replica,
  );
  const accepts = ofKind(event, 'Accept');
  if (labels.some((label) => readConfigurationLabel(label) !== null) && labels.length > 1)
    return 'a configuration is proposed with something else';
  const expected = votes.map(
    ([slot, ballot, label]) => `${slot} ${ballotName(ballot ?? state.ballot)} ${label}`,
  );
  for (const peer of votes.length === 0 ? [] : peers) {
    const told = accepts.flatMap(({ to, message }) => (to === peer ? slotsOf(message) : []));
    if (told.join(', ') !== expected.join(', ')) return `${peer} is not sent what was proposed`;
  }
  if (accepts.some(({ message }) => message.commitPoint !== state.commitPoint))
    return 'an Accept tells another commit point than its own';
  const isStranger = accepts.some(({ to }) => !peers.includes(to));
  return isStranger ? 'an Accept goes to one that is no member' : null;
}

function slotsOf(message: TraceMessage): string[] {
  const { firstSlot = 0, labels = [], ballot } = message;
  return labels.map((label, i) => `${firstSlot + i} ${ballotName(ballot)} ${label}`);
}

/** A candidate asks all voters when its own promise is durable. */
function askedAll(event: ConsensusEvent, { voters }: Members): string | null {
  const prepares = ofKind(event, 'Prepare');
  const isAsked = prepares.length === 0 || isToAll(prepares, event.replica, voters);
  return isAsked ? null : 'a Prepare does not go to all voters';
}

/** A leader whose change is chosen tells those who were members before, and those who are. */
function toldAll(event: ConsensusEvent, names: readonly ReplicaId[]): string | null {
  const heartbeats = ofKind(event, 'Heartbeat');
  const isTold = heartbeats.length === 0 || isToAll(heartbeats, event.replica, names);
  return isTold ? null : 'a Heartbeat does not go to all who are members, or were';
}

/** Whoever heard no leader asks one of the members for what follows. */
function asksOnward(
  event: ConsensusEvent,
  previous: ConsensusEvent | undefined,
  { all }: Members,
): string | null {
  for (const { to, message } of ofKind(event, 'CatchUpRequest')) {
    const { firstSlot = 0, lastSlot = 0, ballot } = message;
    const isNext = firstSlot === event.state.commitPoint + 1 && lastSlot >= firstSlot;
    const isOwn = previous !== undefined && sameBallot(ballot, previous.state.promised);
    if (!isNext || !isOwn || !all.includes(to)) return 'it asks for something else than what follows';
  }
  return null;
}

/** What needs no flush: at most one answer, to whoever is answered, with the commit point reached. */
function answeredAtOnce(event: ConsensusEvent): string | null {
  const { name, message, state, from } = event;
  if (name !== 'HandleAccept' && name !== 'HandleHeartbeat') return null;
  const answers = [...ofKind(event, 'Accepted'), ...ofKind(event, 'HeartbeatAck')];
  const isPromised = compareBallots(state.durablePromised, state.promised) >= 0;
  const mustNow = message?.kind === 'Heartbeat' && isPromised;
  const mustNotNow = message === undefined || (message.kind === 'Heartbeat' && !isPromised);
  if (answers.length > 1 || (mustNow && answers.length === 0) || (mustNotNow && answers.length > 0))
    return `it sends ${answers.length} answers`;
  for (const { to, message: answer } of answers) {
    const isTrue = sameBallot(answer.ballot, state.promised) && answer.commitPoint === state.commitPoint;
    if (to !== from || !isTrue) return `its answer is not the one that ${from} must get`;
    if (answer.kind === 'Accepted' && message?.kind !== 'Accept') return 'it answers what it was not asked';
  }
  return null;
}

/**
 * Whoever tells an older configuration is told the newer one, before anything else. The message is not always in the event: a grant makes a candidate, and an
 * answer without entries moves the base.
 */
function newerTold(event: ConsensusEvent, previous: ConsensusEvent | undefined): string | null {
  const { message, from } = event;
  const known = previous?.state.configuration ?? 0;
  const told = ofKind(event, 'PreVoteReply');
  const isOlder = message?.configuration !== undefined && message.configuration < known;
  const isUnseen = event.name === 'StartElection' || event.name === 'Restored' || event.name === 'StepDown';
  if (told.length > (isOlder || isUnseen ? 1 : 0) || (isOlder && told.length === 0))
    return `it tells ${told.length} times of a newer configuration`;
  const ballot = event.name === 'StartElection' ? event.state.promised : message?.ballot;
  const isTrue = told.every(
    ({ to, message: reply }) =>
      (isUnseen || to === from) &&
      reply.configuration === known &&
      (ballot === undefined || sameBallot(reply.ballot, ballot)),
  );
  return isTrue ? null : 'it tells another configuration than the one that it knows, or somebody else';
}

/** What a flush lets go, besides what its own events owe, answers something that left no event: with a commit point of that ballot all the same. */
function unknownAnswer(event: ConsensusEvent, been: ReadonlySet<string>): string | null {
  if (event.name !== 'Fsync') return null;
  for (const { to, message } of event.sent ?? []) {
    const { kind, ballot, commitPoint, promised } = message;
    if (kind === 'Prepare' && !(isOwn(event, ballot) && commitPoint === event.state.commitPoint))
      return 'it asks for another ballot than its own';
    if (kind === 'Reject' && !(promised !== undefined && isHigher(promised, ballot, been)))
      return 'it tells a promise that it has not made';
    const answersLeader = kind === 'HeartbeatAck' || kind === 'Accepted';
    if (answersLeader && to !== ballot.replica) return `${kind} goes to another than the leader`;
    if (kind === 'HeartbeatAck' && !been.has(`${ballotName(ballot)} ${commitPoint}`))
      return 'it tells a commit point that it had not in that ballot';
  }
  return null;
}

function isOwn({ state, replica }: ConsensusEvent, ballot: Ballot): boolean {
  return sameBallot(ballot, state.promised) && ballot.replica === replica;
}

function isHigher(promised: Ballot, ballot: Ballot, been: ReadonlySet<string>): boolean {
  return compareBallots(ballot, promised) <= 0 && been.has(ballotName(promised));
}
