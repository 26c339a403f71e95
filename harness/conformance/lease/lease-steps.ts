/**
 * What is recorded of the lease, as steps of specs/TraceLease.tla.
 *
 * Responsible for: the steps that no event tells, where they belong: clocks that move, messages that leaders sent, acknowledgements that only a later event shows, changes of the members that somebody comes to know, and what is
 * forgotten. Judges nothing: what is put in is judged like the rest. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { Ballot, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { majority } from '../../../server/src/multipaxos/quorum.ts';
import type { TracedLease } from '../../../server/src/multipaxos/types/lease-trace.ts';
import {
  ballotKey,
  type LeaseEvent,
  type LeaseFields,
  type LeaseStep,
  type LeaseSteps,
  type StepFields,
} from './lease-event.ts';
import { leaseFacts, type LeaseFacts } from './lease-facts.ts';
import { inOneOrder, type Placed } from './lease-order.ts';
import { livesOf, type Life } from './lease-runs.ts';
import { losingMessages } from './lease-messages.ts';
import { lifeClock, termsOf, trueTicks, type LifeClock } from './lease-times.ts';

/** Clocks are looked at this often, or products of what has passed become too large for TLC. */
const lookTicks = 100_000;

/** As TraceLease.tla has it. */
const forever = 2 ** 31 - 1;

type Named<Name extends LeaseEvent['name']> = Extract<LeaseEvent, { name: Name }>;

interface Change {
  readonly leader: number;
  readonly ballot: number;
  readonly version: number;
}

/** As far as it decides what has to be put in. */
interface Mirror {
  clock: number;
  atTicks: number;
  promised: number;
  leading: number;
  acked: number[];
}

/** @throws Error if the trace does not say what it speaks of; null: it does not speak of the lease */
export function leaseSteps(events: readonly TraceEvent[]): LeaseSteps | null {
  const told = events.filter((event) => event.layer === 'lease');
  if (told.length === 0) return null;
  const facts = leaseFacts(events);
  const lives = livesOf(events);
  const steps = new StepWriter(facts, lives).write(inOneOrder(lives));
  return {
    steps: losingMessages(steps, facts.ballots.length),
    replicas: facts.replicas.length,
    owners: facts.ballots.map(({ replica }) => facts.replicaNumber(replica)),
    voters: facts.voters.map((names) => names.map((name) => facts.replicaNumber(name))),
    terms: termsOf(told),
  };
}

class StepWriter {
  private readonly facts: LeaseFacts;
  private readonly beganAtUs: number;
  private readonly steps: LeaseStep[] = [];
  private readonly clocks = new Map<Life, LifeClock>();
  /** Of each replica, as far as it has begun. */
  private readonly newestLives = new Map<ReplicaId, Life>();
  private readonly mirrors: Mirror[];
  /** Of each ballot: the life in which its owner led in it. */
  private readonly leaderLives: ReadonlyMap<string, Life>;
  private readonly generations = new Map<string, Ballot>();
  private readonly heard: ReadonlySet<string>;
  private newest = 1;
  private changes: Change[] = [];

  constructor(facts: LeaseFacts, lives: readonly Life[]) {
    this.facts = facts;
    this.beganAtUs = Math.min(...lives.map(({ items }) => items[0]!.atUs));
    this.mirrors = facts.replicas.map(() => ({
      clock: 0,
      atTicks: 0,
      promised: 0,
      leading: 0,
      acked: facts.replicas.map(() => 0),
    }));
    const leaders = new Map<string, Life>();
    const heard = new Set<string>();
    for (const life of lives)
      for (const item of life.items) {
        if (item.kind !== 'event') continue;
        const { event } = item;
        if (event.name === 'Lead') leaders.set(ballotKey(event.lease.ballot), life);
        if (event.name === 'HandleHeartbeat')
          heard.add(`${ballotKey(event.ballot)} ${event.sentAtMs} ${life.replica}`);
      }
    this.leaderLives = leaders;
    this.heard = heard;
  }

  write(placed: readonly Placed[]): readonly LeaseStep[] {
    this.changes = placed.flatMap(({ item, life }) =>
      item.kind === 'event' && item.event.name === 'Learn' ? [this.changeOf(item.event, life)] : [],
    );
    for (const one of placed) this.place(one);
    return this.steps;
  }

  private changeOf({ lease }: Named<'Learn'>, { replica }: Life): Change {
    const { facts } = this;
    return {
      leader: facts.replicaNumber(replica),
      ballot: facts.ballotNumber(lease.ballot),
      version: facts.versionNumber(lease.configuration),
    };
  }

  private place({ item, life }: Placed): void {
    const r = this.facts.replicaNumber(life.replica);
    const c = this.lookAtClock(life, item.clockMs, item.atUs);
    if (item.kind === 'sent') {
      this.push('Heartbeat', { r, b: this.facts.ballotNumber(item.ballot), s: c });
      return;
    }
    this.event(item.event, life, r);
  }

  /** A Tick, if the clock has moved. Returns the clock. */
  private lookAtClock(life: Life, clockMs: number, atUs: number): number {
    const r = this.facts.replicaNumber(life.replica);
    const mirror = this.mirror(r);
    const t = trueTicks(atUs, this.beganAtUs);
    const known = this.clocks.get(life);
    const clock = known ?? lifeClock(clockMs, Math.max(t, mirror.clock + 1));
    this.clocks.set(life, clock);
    this.newestLives.set(life.replica, life);
    const c = clock.ticks(clockMs);
    if (known === undefined) {
      this.tick(r, c, t, true);
      return c;
    }
    if (c === mirror.clock) return c;
    while (t - mirror.atTicks > lookTicks) {
      const share = lookTicks / (t - mirror.atTicks);
      this.tick(r, mirror.clock + Math.floor((c - mirror.clock) * share), mirror.atTicks + lookTicks, false);
    }
    this.tick(r, c, t, false);
    return c;
  }

  private tick(r: number, c: number, t: number, isNew: boolean): void {
    this.push('Tick', { r, c, t, new: isNew });
    Object.assign(this.mirror(r), { clock: c, atTicks: t });
  }

  private event(event: LeaseEvent, life: Life, r: number): void {
    const { facts } = this;
    const mirror = this.mirror(r);
    const ticks = (ms: number): number => this.clocks.get(life)!.ticks(ms);
    switch (event.name) {
      case 'Restart': {
        const p = facts.ballotNumber(event.promised);
        this.changesBefore(r, Number.POSITIVE_INFINITY, 0);
        if (p < mirror.promised) this.push('Forget', { r, p });
        this.push(
          'Restart',
          { r, p, u: ticks(event.grant.untilMs), q: facts.replicaNumber(event.grant.to) },
          event,
        );
        Object.assign(mirror, { promised: p, leading: 0 });
        return;
      }
      case 'HandleHeartbeat': {
        const b = facts.ballotNumber(event.ballot);
        this.changesBefore(r, b, 0);
        const { untilMs, to } = event.grant;
        const s = this.sentTicks(event.ballot, event.sentAtMs);
        this.push('HandleHeartbeat', { r, b, s, u: ticks(untilMs), q: facts.replicaNumber(to) }, event);
        Object.assign(mirror, { promised: b, leading: 0 });
        return;
      }
      case 'HandleHeartbeatAck': {
        const { from, ballot, sentAtMs, lease } = event;
        const q = facts.replicaNumber(from);
        this.acknowledge(life, event, q);
        const b = facts.ballotNumber(ballot);
        const s = this.sentTicks(ballot, sentAtMs);
        this.takeLostWord(from, ballot, sentAtMs, event.atUs);
        this.push('HandleHeartbeatAck', { r, q, b, s, l: this.lease(lease, life) }, event);
        mirror.acked[q - 1] = s;
        return;
      }
      case 'GivePromise': {
        const b = facts.ballotNumber(event.ballot);
        this.acknowledge(life, event);
        this.changesBefore(r, b, 0);
        const { untilMs, to } = event.grant;
        const l = this.lease(event.lease, life);
        this.push('GivePromise', { r, b, u: ticks(untilMs), q: facts.replicaNumber(to), l }, event);
        Object.assign(mirror, { promised: b, leading: 0 });
        return;
      }
      case 'Lead': {
        const b = facts.ballotNumber(event.lease.ballot);
        this.changesBefore(0, 0, facts.versionNumber(event.lease.configuration));
        this.push('Lead', { r, b, l: this.lease(event.lease, life) }, event);
        Object.assign(mirror, { leading: b, acked: facts.replicas.map(() => 0) });
        return;
      }
      case 'Learn': {
        this.acknowledge(life, event);
        this.changesBefore(0, 0, facts.versionNumber(event.lease.configuration));
        this.push('Learn', { r, l: this.lease(event.lease, life) }, event);
        return;
      }
      case 'Resign': {
        this.changesBefore(r, Number.POSITIVE_INFINITY, 0);
        this.push('Resign', { r, b: facts.ballotNumber(event.ballot) }, event);
        mirror.leading = 0;
        return;
      }
      case 'HandleResigned': {
        const { untilMs, to } = event.grant;
        const b = facts.ballotNumber(event.ballot);
        this.push('HandleResigned', { r, b, u: ticks(untilMs), q: facts.replicaNumber(to) }, event);
        return;
      }
      case 'RunRead':
        this.generations.set(`${life.run} ${event.generation}`, event.leadership);
        this.push('Begin', { r, b: facts.ballotNumber(event.leadership) }, event);
        return;
      case 'AnswerRead': {
        this.acknowledge(life, event);
        const leadership = this.generations.get(`${life.run} ${event.generation}`);
        const b = leadership === undefined ? 0 : facts.ballotNumber(leadership);
        this.push('AskRead', { r });
        this.push('RunRead', { r });
        this.push('AnswerRead', { r, b, l: this.lease(event.lease, life) }, event);
        return;
      }
      case 'RefuseAnswer':
        this.acknowledge(life, event);
        this.push('RefuseAnswer', { r, l: this.lease(event.lease, life) }, event);
        return;
      default:
        event satisfies never;
    }
  }

  /** What the event's lease shows to have been acknowledged since; `told`: by whom the event itself tells it. */
  private acknowledge(
    life: Life,
    { lease, atUs }: { readonly lease: TracedLease | null; readonly atUs: number },
    told = 0,
  ): void {
    if (lease === null) return;
    const r = this.facts.replicaNumber(life.replica);
    const { acked } = this.mirror(r);
    for (const [peer, sentAtMs] of lease.acked) {
      const q = this.facts.replicaNumber(peer);
      const s = this.clocks.get(life)!.ticks(sentAtMs);
      if (q === told || acked[q - 1] === s) continue;
      this.takeLostWord(peer, lease.ballot, sentAtMs, atUs);
      this.push('HandleHeartbeatAck', { r, q, b: this.facts.ballotNumber(lease.ballot), s });
      acked[q - 1] = s;
    }
  }

  /** A process that was killed may have given its word last, and no event of that was kept. */
  private takeLostWord(peer: ReplicaId, ballot: Ballot, sentAtMs: number, atUs: number): void {
    const life = this.newestLives.get(peer);
    const isLost = life !== undefined && life.endAtUs < atUs;
    if (!isLost || this.heard.has(`${ballotKey(ballot)} ${sentAtMs} ${peer}`)) return;
    const s = this.sentTicks(ballot, sentAtMs);
    this.push('HandleHeartbeat', {
      r: this.facts.replicaNumber(peer),
      b: this.facts.ballotNumber(ballot),
      s,
      u: 0,
      q: 0,
    });
  }

  private lease(lease: TracedLease | null, life: Life): LeaseFields {
    const { facts } = this;
    const clock = this.clocks.get(life)!;
    const k = facts.replicas.map(() => 0);
    if (lease === null) return { b: 0, v: 1, u: 0, k };
    for (const [peer, sentAtMs] of lease.acked) k[facts.replicaNumber(peer) - 1] = clock.ticks(sentAtMs);
    const { untilMs } = lease;
    const u = untilMs === 'always' ? forever : untilMs === 'never' ? 0 : clock.ticks(untilMs);
    return { b: facts.ballotNumber(lease.ballot), v: facts.versionNumber(lease.configuration), u, k };
  }

  /** 0: nobody led in that ballot. */
  private sentTicks(ballot: Ballot, sentAtMs: number): number {
    const life = this.leaderLives.get(ballotKey(ballot));
    const clock = life === undefined ? undefined : this.clocks.get(life);
    return clock === undefined ? 0 : clock.ticks(sentAtMs);
  }

  /**
   * Changes that must have been chosen before replica `r` takes part in `ballot`, or somebody knows `version`: those whose leader would lead no more, or
   * would not be followed by a majority any more.
   */
  private changesBefore(r: number, ballot: number, version: number): void {
    for (let next = this.nextChange(); next !== undefined; next = this.nextChange()) {
      const { leader, ballot: b } = next;
      if (next.version > version && !this.wouldEnd(next, r, ballot)) return;
      // One that a leader of before has had chosen already, and this one has found among votes.
      this.push(next.version === this.newest ? 'ChangeAgain' : 'Change', { r: leader, b });
      this.newest = next.version;
      this.changes.shift();
    }
  }

  private nextChange(): Change | undefined {
    const [next] = this.changes;
    if (next === undefined || (next.version !== this.newest && next.version !== this.newest + 1))
      return undefined;
    return this.mirror(next.leader).leading === next.ballot ? next : undefined;
  }

  private wouldEnd({ leader, ballot: own, version }: Change, r: number, ballot: number): boolean {
    if (r === 0) return false;
    if (r === leader) return ballot > own;
    if (!Number.isFinite(ballot)) return false;
    const voters = (this.facts.voters[version - 2] ?? []).map((name) => this.facts.replicaNumber(name));
    const isLeft = (voter: number): boolean => (voter === r ? ballot : this.mirror(voter).promised) <= own;
    return voters.filter(isLeft).length < majority(voters.length);
  }

  private mirror(r: number): Mirror {
    return this.mirrors[r - 1] as Mirror;
  }

  private push(action: string, fields: StepFields, event: LeaseEvent | null = null): void {
    this.steps.push({ action, fields, event });
  }
}
