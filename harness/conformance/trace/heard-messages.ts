/**
 * What events have heard: a message that somebody sent to them, or can have sent.
 *
 * Responsible for: received messages, beside those that were recorded where they were sent. Heartbeats, answers to requests for catch-up, refusals and whatever is
 * sent again leave no event at their sender: of these is asserted that their sender was once in the state that they tell. What a replica did behind the end of a
 * run that did not crash may be lost: there it may have come to more.
 */
import { compareBallots } from '../../../server/src/multipaxos/ballot.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { TraceMessage } from '../../../server/src/multipaxos/types/trace.ts';
import type { Fault } from './contradictions.ts';
import type { ConsensusEvent, RecordedTrace } from './read-trace.ts';
import { ballotName } from './spec-message.ts';
import { cutEnds } from './trace-place.ts';

/** What a replica said of itself, or may have. */
interface Told extends Pick<TraceMessage, 'ballot'> {
  readonly commitPoint?: number | undefined;
  readonly configuration?: number | undefined;
}

export function misheard(trace: RecordedTrace): Fault[] {
  const senders = new Senders(trace);
  return [...trace.byReplica.values()].flat().flatMap((event): Fault[] => {
    const reason = senders.faultIn(event);
    return reason === null ? [] : [[event, reason]];
  });
}

class Senders {
  /** What each replica was: ballot, commit point and configuration; all of its roles, and as a leader. */
  private readonly states = new Set<string>();
  private readonly ballots = new Set<string>();
  private readonly ends: ReadonlyMap<ReplicaId, readonly ConsensusEvent[]>;
  /** The messages that were recorded where they were sent. */
  private readonly sent = new Set<string>();
  /** By ballot and slot: what was proposed first, with which commit point. */
  private readonly proposals = new Map<string, { readonly label: string; readonly commitPoint: number }>();
  /** By voter, ballot and slot: the commit point with which the vote was told first. */
  private readonly votes = new Map<string, number>();
  /** All votes that became durable. One that a crash let through is told when it is asked for again, which leaves no event. */
  private readonly durable = new Set<string>();

  constructor(trace: RecordedTrace) {
    this.ends = cutEnds(trace);
    for (const event of [...trace.byReplica.values()].flat()) {
      const { replica, state } = event;
      const { promised, commitPoint, configuration } = state;
      const all = [ballotName(promised), `${commitPoint}`, `${configuration}`];
      this.ballots.add(ballotName(promised));
      for (const known of [all, all.slice(0, 2), all.slice(0, 1)]) {
        this.states.add([replica, ...known].join(' '));
        if (state.role === 'leader') this.states.add(['leader', replica, ...known].join(' '));
      }
      this.states.add(`${replica} knows ${configuration}`);
      for (const { to, message } of event.sent ?? []) this.note(replica, to, message);
      if (event.name !== 'Fsync') continue;
      for (const [slot, ballot] of event.votes ?? [])
        if (ballot !== null) this.durable.add(`${replica} ${ballotName(ballot)} ${slot}`);
    }
  }

  private note(from: ReplicaId, to: ReplicaId, message: TraceMessage): void {
    const { kind, ballot, commitPoint = 0, firstSlot = 0, lastSlot = 0, labels = [] } = message;
    this.sent.add(nameOf(from, to, message));
    if (kind === 'Accept') {
      for (const [i, label] of labels.entries()) {
        const name = `${ballotName(ballot)} ${firstSlot + i}`;
        if (!this.proposals.has(name)) this.proposals.set(name, { label, commitPoint });
      }
    }
    if (kind !== 'Accepted') return;
    for (let slot = firstSlot as number; slot <= lastSlot; slot++) {
      const name = `${from} ${ballotName(ballot)} ${slot}`;
      if (!this.votes.has(name)) this.votes.set(name, commitPoint);
    }
  }

  /** Why nobody can have sent what the event has heard; null: somebody has, or can have. */
  faultIn({ name, from, replica, message, state }: ConsensusEvent): string | null {
    if (from === undefined) return null;
    if (name === 'LearnConfiguration') {
      const isKnown = from === replica || this.states.has(`${from} knows ${state.configuration}`);
      if (isKnown || this.cameTo(from, { ballot: state.promised, configuration: state.configuration }))
        return null;
      return `${from} never knew version ${state.configuration}`;
    }
    if (message === undefined || this.sent.has(nameOf(from, replica, message))) return null;
    const { kind } = message;
    if (kind === 'Heartbeat') return this.was(from, 'leader', message) ? null : neverWas(from, message);
    if (kind === 'Accept') return this.faultInAccept(from, message);
    if (kind === 'Accepted') return this.faultInAccepted(from, message);
    if (kind === 'CatchUpReply') return this.faultInCatchUp(from, message);
    if (kind === 'Reject') {
      const told = { ballot: message.promised ?? message.ballot };
      return this.was(from, 'anything', told) ? null : neverWas(from, told);
    }
    return null;
  }

  /** One that was not recorded where it was sent was sent again: for slots that were proposed, and with no lower commit point than then. */
  private faultInAccept(from: ReplicaId, message: TraceMessage): string | null {
    const { ballot, commitPoint = 0, firstSlot = 0, labels = [] } = message;
    if (!this.was(from, 'leader', { ballot, commitPoint })) return neverWas(from, message);
    for (const [i, label] of labels.entries()) {
      const slot = firstSlot + i;
      const proposed = this.proposals.get(`${ballotName(ballot)} ${slot}`);
      if (proposed === undefined && this.isCutIn(from, ballot)) continue;
      if (proposed?.label !== label) return `${from} did not propose ${label} in slot ${slot}`;
      if (proposed.commitPoint > commitPoint) return `${from} knew more when it proposed in slot ${slot}`;
    }
    return labels.length === 0 ? `${from} proposed nothing` : null;
  }

  private faultInAccepted(from: ReplicaId, message: TraceMessage): string | null {
    const { ballot, commitPoint = 0, firstSlot = 0, lastSlot = 0 } = message;
    const first = this.votes.get(`${from} ${ballotName(ballot)} ${firstSlot}`);
    if (first !== commitPoint && !this.was(from, 'anything', { ballot, commitPoint }))
      return neverWas(from, message);
    for (let slot = firstSlot as number; slot <= lastSlot; slot++) {
      const name = `${from} ${ballotName(ballot)} ${slot}`;
      if (!this.durable.has(name) && !this.isCutIn(from, ballot))
        return `${from} has not voted in slot ${slot}`;
      if ((this.votes.get(name) ?? 0) > commitPoint) return `${from} knew more when it voted in slot ${slot}`;
    }
    return null;
  }

  private faultInCatchUp(from: ReplicaId, message: TraceMessage): string | null {
    const { commitPoint = 0, firstSlot = 0, labels = [] } = message;
    if (firstSlot + labels.length - 1 > commitPoint)
      return `${from} handed out what it did not know as chosen`;
    return this.was(from, 'anything', message) ? null : neverWas(from, message);
  }

  private was(id: ReplicaId, role: 'leader' | 'anything', told: Told): boolean {
    const { ballot, commitPoint, configuration } = told;
    const known = [commitPoint, configuration].filter((one) => one !== undefined);
    const name = [id, ballotName(ballot), ...known].join(' ');
    return this.states.has(role === 'leader' ? `leader ${name}` : name) || this.cameTo(id, told);
  }

  /** Behind the end of a run that was not recorded to its end. */
  private cameTo(id: ReplicaId, { ballot, commitPoint = Infinity, configuration = Infinity }: Told): boolean {
    // Its owner has stood for election with it, or may have.
    if (!this.ballots.has(ballotName(ballot)) && !this.isCutIn(ballot.replica, ballot)) return false;
    return (this.ends.get(id) ?? []).some(
      ({ state }) =>
        compareBallots(ballot, state.promised) >= 0 &&
        commitPoint >= state.commitPoint &&
        configuration >= state.configuration,
    );
  }

  private isCutIn(id: ReplicaId, ballot: TraceMessage['ballot']): boolean {
    return (this.ends.get(id) ?? []).some(({ state }) => compareBallots(ballot, state.promised) >= 0);
  }
}

function nameOf(from: ReplicaId, to: ReplicaId, message: TraceMessage): string {
  const { kind, ballot, commitPoint, promised, firstSlot, lastSlot, labels, votes, configuration } = message;
  const of = [ballotName(ballot), commitPoint, promised, firstSlot, lastSlot, labels, votes, configuration];
  return `${kind} ${from} ${to} ${JSON.stringify(of)}`;
}

function neverWas(id: ReplicaId, { ballot, commitPoint, configuration }: Told): string {
  const known = [
    commitPoint === undefined ? '' : `, commit point ${commitPoint}`,
    configuration === undefined ? '' : `, configuration ${configuration}`,
  ];
  return `${id} was never in the state that it tells: ballot ${ballotName(ballot)}${known.join('')}`;
}
