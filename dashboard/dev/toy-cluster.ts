/**
 * Development only. A toy cluster that moves in steps of a few milliseconds: good enough to look at, no more.
 *
 * Does no I/O and has no clock of its own, so a scenario runs at any speed. Not the protocol: see server/src/multipaxos for that.
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { ClusterStatus, FaultRequest } from '../../server/src/api/status.ts';
import type { SlotAnswer, SlotRefusal } from '../../server/src/api/wal-summary.ts';
import type { Ballot } from '../../server/src/multipaxos/types/names.ts';
import { createFaults } from './toy-faults.ts';
import { phaseOf } from './toy-recovery.ts';
import type { ToyRecovery } from './toy-recovery.ts';
import { createReplica, noFault, sentTo, slot, snapshotOf, statusOf, takeRates } from './toy-replica.ts';
import type { ConsensusBody, EventBody, ToyEntry, ToyReplica } from './toy-replica.ts';
import { createShipping } from './toy-shipping.ts';
import type { NewEntry } from './toy-shipping.ts';
import { slotAnswer } from './toy-wal.ts';
import { nextStatement } from './workload.ts';

type Message =
  | { readonly kind: 'Prepare' | 'Promise'; readonly ballot: Ballot }
  | {
      readonly kind: 'Accept';
      readonly ballot: Ballot;
      readonly entries: readonly (readonly [number, ToyEntry])[];
      readonly commitPoint: number;
    }
  | { readonly kind: 'Accepted'; readonly ballot: Ballot; readonly lastSlot: number };

const keptMax = 4000;

export interface ToyCluster {
  readonly step: (nowMs: number) => void;
  readonly fault: (request: FaultRequest) => string | null;
  readonly status: () => ClusterStatus;
  readonly takeEvents: () => readonly TraceEvent[];
  readonly takeRates: () => Record<string, unknown>;
  readonly setRate: (transactionsPerSecond: number) => void;
  readonly leader: () => ToyReplica | null;
  readonly propose: (sql: string) => void;
  readonly slot: (slot: number) => SlotAnswer | SlotRefusal;
}

function higher(a: Ballot, b: Ballot): boolean {
  return a.round > b.round || (a.round === b.round && a.replica > b.replica);
}

export function createToyCluster(count: number): ToyCluster {
  const replicas = Array.from({ length: count }, (_, index) => createReplica(index));
  const majority = Math.floor(count / 2) + 1;
  let wires: { at: number; to: ToyReplica; from: ToyReplica; message: Message }[] = [];
  let events: TraceEvent[] = [];
  let now = 0;
  let rate = 40;
  let owed = 0;
  let waiting: string[] = [];

  const peersOf = (replica: ToyReplica): ToyReplica[] => replicas.filter((other) => other !== replica);
  const emit = (replica: ToyReplica, body: EventBody): void => {
    replica.seq += 1;
    const atUs = Math.round(now * 1000) + (replica.seq % 97);
    events.push({ seq: replica.seq, run: replica.run, replica: replica.id, atUs, ...body });
  };
  const shipping = createShipping({ nowMs: () => now, emit });
  const core = (replica: ToyReplica, body: ConsensusBody): void =>
    emit(replica, { layer: 'consensus', ...body, state: snapshotOf(replica) });

  const send = (from: ToyReplica, to: ToyReplica, message: Message): void => {
    const fault = from.faults.get(to.id) ?? { ...noFault };
    if (fault.cut || Math.random() < fault.drop) return;
    const at = now + 2 + Math.random() * 6 + to.index * 3 + fault.delayMs;
    wires.push({ at, from, to, message });
    if (Math.random() < fault.duplicate) wires.push({ at: at + 5, from, to, message });
  };

  const resetElection = (replica: ToyReplica): void => {
    replica.electionDueMs = now + 900 + Math.random() * 700;
  };

  const startElection = (replica: ToyReplica): void => {
    replica.role = 'candidate';
    replica.serving = false;
    replica.leader = null;
    replica.ballot = { round: replica.ballot.round + 1, replica: replica.id };
    replica.promises = new Set([replica.id]);
    const message = { kind: 'Prepare' as const, ballot: replica.ballot };
    core(replica, {
      name: 'StartElection',
      sent: sentTo(peersOf(replica), { ...message, commitPoint: slot(replica.commitPoint) }),
    });
    for (const peer of peersOf(replica)) send(replica, peer, message);
    resetElection(replica);
  };

  const stepDown = (replica: ToyReplica, reason: 'quorumLost' | 'databaseFailed' | 'higherBallot'): void => {
    if (replica.role === 'leader') core(replica, { name: 'StepDown', reason });
    replica.role = 'follower';
    replica.serving = false;
    replica.leader = null;
    resetElection(replica);
  };

  const append = (replica: ToyReplica, entries: readonly NewEntry[]): void => {
    const added = entries.map((entry, index): readonly [number, ToyEntry] => [
      replica.lastSlot + 1 + index,
      { ...entry, ballot: replica.ballot, atMs: now },
    ]);
    offer(replica, added, 'Propose');
  };

  const offer = (
    replica: ToyReplica,
    entries: readonly (readonly [number, ToyEntry])[],
    name: 'Propose' | 'BecomeLeader',
  ): void => {
    for (const [at, entry] of entries) replica.log.set(at, { ...entry, ballot: replica.ballot });
    replica.lastSlot = Math.max(replica.lastSlot, ...entries.map(([at]) => at));
    const message = {
      kind: 'Accept' as const,
      ballot: replica.ballot,
      commitPoint: slot(replica.commitPoint),
    };
    const [first] = entries;
    const trace =
      first === undefined
        ? message
        : { ...message, firstSlot: slot(first[0]), labels: entries.map(([, entry]) => entry.label) };
    core(replica, {
      name,
      votes: entries.map(([at, entry]) => [slot(at), replica.ballot, entry.label]),
      sent: sentTo(peersOf(replica), trace),
    });
    for (const peer of peersOf(replica)) send(replica, peer, { ...message, entries });
  };

  const become = (replica: ToyReplica): void => {
    replica.role = 'leader';
    replica.leader = replica.id;
    replica.votedTo = new Map();
    for (const peer of peersOf(replica)) replica.heardMs.set(peer.id, now);
    const open = [...replica.log].filter(([at]) => at > replica.commitPoint).sort(([a], [b]) => a - b);
    offer(replica, open, 'BecomeLeader');
    append(replica, shipping.begin(replica));
  };

  const receive = (to: ToyReplica, from: ToyReplica, message: Message): void => {
    if (higher(to.ballot, message.ballot)) return;
    switch (message.kind) {
      case 'Prepare':
        stepDown(to, 'higherBallot');
        to.ballot = message.ballot;
        core(to, {
          name: 'HandlePrepare',
          from: from.id,
          message: { kind: 'Prepare', ballot: message.ballot },
          sent: sentTo([from], { kind: 'Promise', ballot: message.ballot }),
        });
        return send(to, from, { kind: 'Promise', ballot: message.ballot });
      case 'Promise':
        to.promises.add(from.id);
        core(to, {
          name: 'HandlePromise',
          from: from.id,
          message: { kind: 'Promise', ballot: message.ballot },
        });
        if (to.role === 'candidate' && to.promises.size >= majority) become(to);
        return;
      case 'Accept':
        return receiveAccept(to, from, message);
      case 'Accepted':
        return receiveAccepted(to, from, message);
    }
  };

  const receiveAccept = (
    to: ToyReplica,
    from: ToyReplica,
    message: Extract<Message, { kind: 'Accept' }>,
  ): void => {
    if (to.role !== 'follower') stepDown(to, 'higherBallot');
    to.leader = from.id;
    to.ballot = message.ballot;
    resetElection(to);
    for (const [at, entry] of message.entries) to.log.set(at, entry);
    to.lastSlot = Math.max(to.lastSlot, ...message.entries.map(([at]) => at));
    // The toy's leader sends again what was lost; until then the follower's commit point waits at the hole.
    while (to.commitPoint < message.commitPoint && to.log.has(to.commitPoint + 1)) to.commitPoint += 1;
    const base = {
      from: from.id,
      message: { kind: 'Accept' as const, ballot: message.ballot, commitPoint: slot(message.commitPoint) },
    };
    if (message.entries.length === 0) core(to, { name: 'HandleHeartbeat', ...base });
    else {
      core(to, {
        name: 'HandleAccept',
        ...base,
        votes: message.entries.map(([at, entry]) => [slot(at), entry.ballot, entry.label]),
      });
      core(to, {
        name: 'Fsync',
        sent: sentTo([from], {
          kind: 'Accepted',
          ballot: message.ballot,
          firstSlot: slot(message.entries.at(0)?.[0] ?? 0),
          lastSlot: slot(to.lastSlot),
        }),
      });
    }
    let gapless = to.commitPoint;
    while (to.log.has(gapless + 1)) gapless += 1;
    send(to, from, { kind: 'Accepted', ballot: message.ballot, lastSlot: gapless });
  };

  const receiveAccepted = (
    to: ToyReplica,
    from: ToyReplica,
    message: Extract<Message, { kind: 'Accepted' }>,
  ): void => {
    if (to.role !== 'leader') return;
    to.heardMs.set(from.id, now);
    to.votedTo.set(from.id, Math.max(message.lastSlot, to.votedTo.get(from.id) ?? 0));
    const votedTo = [to.lastSlot, ...to.votedTo.values()].sort((a, b) => b - a)[majority - 1] ?? 0;
    const reached = Math.min(votedTo, to.lastSlot);
    if (reached <= to.commitPoint) return;
    const from1 = to.commitPoint + 1;
    to.commitPoint = reached;
    core(to, { name: 'AdvanceCommitPoint', from: from.id });
    shipping.release(to, from1, reached);
    to.applied = reached;
    if (!to.serving) {
      to.serving = true;
      core(to, { name: 'Serve' });
      shipping.open(to);
    }
  };

  const lead = (replica: ToyReplica, dtMs: number): void => {
    const heard = [...replica.heardMs.values()].filter((at) => now - at < 900).length + 1;
    if (heard < majority) return stepDown(replica, 'quorumLost');
    if (!replica.postgresUp) return stepDown(replica, 'databaseFailed');
    if (replica.serving && replica.lastSlot - replica.commitPoint < 400) {
      owed += (rate * dtMs) / 1000 + (Math.random() - 0.5) * 0.3;
      const sqls = [
        ...waiting,
        ...Array.from({ length: Math.max(0, Math.floor(owed)) }, () => nextStatement()),
      ];
      owed -= Math.max(0, Math.floor(owed));
      waiting = [];
      if (sqls.length > 0) append(replica, [shipping.ship(replica, sqls)]);
      replica.counters.reads += Math.round(rate * dtMs * 0.0021);
    }
    if (replica.serving) shipping.sample(replica);
    for (const peer of peersOf(replica)) resend(replica, peer);
  };

  const resend = (replica: ToyReplica, peer: ToyReplica): void => {
    if (Math.random() > 0.15) return;
    const voted = replica.votedTo.get(peer.id) ?? replica.commitPoint;
    const stuck = voted < replica.lastSlot - 12;
    const entries = stuck
      ? [...Array(60).keys()]
          .map((i) => voted + 1 + i)
          .filter((at) => replica.log.has(at))
          .map((at) => [at, replica.log.get(at)!] as const)
      : [];
    send(replica, peer, {
      kind: 'Accept',
      ballot: replica.ballot,
      entries,
      commitPoint: replica.commitPoint,
    });
  };

  const applyChosen = (replica: ToyReplica): void => {
    const speed = replica.commitPoint - replica.applied > 40 ? 1 : 0.35 - replica.index * 0.06;
    if (
      !replica.postgresUp ||
      replica.role === 'leader' ||
      replica.applied >= replica.commitPoint ||
      Math.random() > speed
    )
      return;
    const from = replica.applied + 1;
    const to = Math.min(replica.commitPoint, replica.applied + 16);
    shipping.feed(replica, from, to);
    replica.applied = to;
    replica.counters.appliedEntries += to - from + 1;
  };

  /** Tells each phase, and lets PostgreSQL come up when there is one again. */
  const recover = (replica: ToyReplica, recovery: ToyRecovery): void => {
    const at = phaseOf(recovery, now);
    const name = at?.phase ?? '';
    if (name !== replica.toldPhase) {
      replica.toldPhase = name;
      if (name !== 'learning')
        emit(replica, { layer: 'operation', name: 'RecoveryPhase', progress: at?.progress ?? null });
      if (name === 'catchingUp') replica.postgresUpAtMs = now;
    }
    if (at === null) replica.recovery = null;
  };

  const live = (replica: ToyReplica, dtMs: number): void => {
    if (replica.recovery !== null) recover(replica, replica.recovery);
    if (!replica.postgresUp && now > replica.postgresUpAtMs) {
      replica.postgresUp = true;
      replica.applied = Math.max(0, replica.applied - 6);
      shipping.databaseUp(replica);
    }
    if (replica.role === 'leader') lead(replica, dtMs);
    else if (now > replica.electionDueMs && replica.postgresUp) startElection(replica);
    applyChosen(replica);
    for (const at of replica.log.keys()) if (at < replica.commitPoint - keptMax) replica.log.delete(at);
    if (now - replica.reportedAtMs >= 250) {
      replica.reported = statusOf(replica, { members: replicas, nowMs: now, wal: shipping.walOf(replica) });
      replica.reportedAtMs = now;
    }
  };

  const fault = createFaults({
    replicas,
    nowMs: () => now,
    emit,
    core,
    stepDown,
    resetElection,
    dropMessagesTo: (replica) => {
      wires = wires.filter((wire) => wire.to !== replica);
    },
  });

  return {
    step: (nowMs) => {
      const dtMs = nowMs - now;
      now = nowMs;
      const due = wires.filter((wire) => wire.at <= now).sort((a, b) => a.at - b.at);
      wires = wires.filter((wire) => wire.at > now);
      for (const wire of due) if (wire.to.process === 'running') receive(wire.to, wire.from, wire.message);
      for (const replica of replicas) if (replica.process === 'running') live(replica, dtMs);
    },
    fault,
    status: () => ({
      group: 'main',
      replicas: replicas.map((replica) => ({
        id: replica.id,
        process: replica.process,
        status: replica.reported,
        ageMs: replica.reported === null ? null : Math.round(now - replica.reportedAtMs),
      })),
    }),
    takeEvents: () => {
      const taken = events;
      events = [];
      return taken;
    },
    takeRates: () => Object.fromEntries(replicas.map((replica) => [replica.id, takeRates(replica)])),
    setRate: (transactionsPerSecond) => {
      rate = transactionsPerSecond;
    },
    leader: () =>
      replicas.find(
        (replica) => replica.process === 'running' && replica.role === 'leader' && replica.serving,
      ) ?? null,
    propose: (sql) => {
      waiting.push(sql);
    },
    slot: (at) => {
      const up = replicas.filter(({ process }) => process === 'running');
      if (up.length === 0) return { error: { code: 'unavailable', message: 'No replica answers.' } };
      const knows = up.filter(({ commitPoint }) => at <= commitPoint);
      if (knows.length === 0)
        return { error: { code: 'notChosen', message: `Slot ${at} is not known to be chosen.` } };
      const entry = knows.map(({ log }) => log.get(at)).find((found) => found !== undefined);
      if (entry === undefined)
        return { error: { code: 'purged', message: `The log does not have slot ${at} any more.` } };
      return slotAnswer(at, entry);
    },
  };
}
