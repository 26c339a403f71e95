/**
 * The metrics that are read off a replica's measures (api/measures.ts), and off what it was built from.
 *
 * Responsible for: their names, help texts and labels. Labels are bounded: members of the group, fixed words, and SQLSTATEs as far as the gateway tells them apart.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Measures, PeerLag, StandbyLag } from '../../api/measures.ts';

export interface BuildLabels {
  readonly version: string;
  readonly commit: string;
  readonly node: string;
  readonly postgres: string;
}

export interface MeasuredNow {
  readonly measures: Measures;
  readonly build: BuildLabels;
}

type Values = Iterable<readonly [label: string, value: number]>;
type Look = () => MeasuredNow;

const unknownOutcome = '08007';

export function registerMeasures(registry: Registry, look: Look): void {
  const replica = (): Measures['replica'] => look().measures.replica;
  const gateway = (): Measures['gateway'] => look().measures.gateway;
  const counter = (name: string, help: string, read: () => number): void => {
    const collect = function (this: Counter): void {
      this.reset();
      this.inc(read());
    };
    registry.registerMetric(new Counter({ name, help, registers: [], collect }));
  };
  const counters = (name: string, help: string, label: string, read: () => Values): void => {
    const collect = function (this: Counter): void {
      this.reset();
      for (const [value, count] of read()) this.inc({ [label]: value }, count);
    };
    registry.registerMetric(new Counter({ name, help, labelNames: [label], registers: [], collect }));
  };
  const gauges = (name: string, help: string, label: string, read: () => Values): void => {
    const collect = function (this: Gauge): void {
      this.reset();
      for (const [value, now] of read()) this.set({ [label]: value }, now);
    };
    registry.registerMetric(new Gauge({ name, help, labelNames: [label], registers: [], collect }));
  };

  counter(
    'barista_elections_started_total',
    'Elections in which this replica stood',
    () => replica().elections.started,
  );
  counter(
    'barista_elections_won_total',
    'Elections that this replica has won',
    () => replica().elections.won,
  );
  counters(
    'barista_elections_lost_total',
    'Elections that this replica has lost, by reason; timedOut: nobody has won in time',
    'reason',
    () => Object.entries(replica().elections.lost),
  );
  counters(
    'barista_leaderships_ended_total',
    'Leaderships of this replica that have ended, by reason',
    'reason',
    () => Object.entries(replica().elections.leadershipsEnded),
  );
  counters(
    'barista_hand_overs_total',
    'Planned hand-overs that this replica was asked for, by what came of them; its own, as it is stopped, among them',
    'outcome',
    () => Object.entries(replica().handOvers),
  );

  counters(
    'barista_slow_hand_overs_total',
    'Those of them because the disk of this leader, or its links to a quorum, were much slower than those of another voter',
    'outcome',
    () => Object.entries(replica().slowHandOvers),
  );
  gauges(
    'barista_pace_seconds',
    'How long it takes lately, in the middle: a flush of the log, a flush of the WAL of PostgreSQL (database), the answer of a quorum (quorum; on the leader, and where it asks for that)',
    'kind',
    () => {
      const { logMs = null, databaseMs = null, quorumMs = null } = replica().pace ?? {};
      const all = { log: logMs, database: databaseMs, quorum: quorumMs };
      return Object.entries(all).flatMap(([kind, ms]) => (ms === null ? [] : [[kind, ms / 1000] as const]));
    },
  );

  const ofPeers = (name: string, help: string, read: (peer: PeerLag) => number | null): void =>
    gauges(name, help, 'member', () => withValue(replica().peers, read));
  ofPeers(
    'barista_peer_silent_seconds',
    'Of each other member, on the leader: since it was sent what it has answered last, or since the leadership began',
    ({ silentMs }) => silentMs / 1000,
  );
  ofPeers(
    'barista_peer_behind_slots',
    'Of each other member, on the leader: slots that are chosen and not known to be there',
    ({ behindSlots }) => behindSlots,
  );
  ofPeers(
    'barista_peer_behind_bytes',
    'Of each other member, on the leader: the bytes of these slots, about, as far as they were chosen since this replica started',
    ({ behindBytes }) => behindBytes,
  );
  ofPeers(
    'barista_peer_database_behind_slots',
    'Of each other member, on the leader: slots that are chosen and not durably in its database, for which the log is kept',
    ({ databaseBehindSlots }) => databaseBehindSlots,
  );

  const ofStandby = (name: string, help: string, read: (lag: StandbyLag) => number): void => {
    const collect = function (this: Gauge): void {
      const { standby } = replica();
      this.set(standby === null ? 0 : read(standby));
    };
    registry.registerMetric(new Gauge({ name, help, registers: [], collect }));
  };
  ofStandby(
    'barista_standby_received_behind_bytes',
    'WAL known to be chosen that the standby of this replica has not received; 0: there is none',
    ({ receivedBehindBytes }) => receivedBehindBytes,
  );
  ofStandby(
    'barista_standby_flushed_behind_bytes',
    'WAL known to be chosen that the standby of this replica has not flushed; 0: there is none',
    ({ flushedBehindBytes }) => flushedBehindBytes,
  );
  ofStandby(
    'barista_standby_replayed_behind_bytes',
    'WAL known to be chosen that the standby of this replica has not replayed; 0: there is none',
    ({ replayedBehindBytes }) => replayedBehindBytes,
  );
  const choiceWait = function (this: Gauge): void {
    this.set(replica().choiceWaitMs / 1000);
  };
  registry.registerMetric(
    new Gauge({
      name: 'barista_choice_wait_seconds',
      help: 'For how long the oldest WAL that this leader has proposed waits to be chosen; 0: none waits',
      registers: [],
      collect: choiceWait,
    }),
  );
  const groupInterval = function (this: Gauge): void {
    const { groupIntervalMs } = replica();
    this.reset();
    if (groupIntervalMs !== null) this.set(groupIntervalMs / 1000);
  };
  registry.registerMetric(
    new Gauge({
      name: 'barista_group_interval_seconds',
      help: 'How far apart the groups of this leader begin, where that adapts (groupCommit)',
      registers: [],
      collect: groupInterval,
    }),
  );

  gauges(
    'barista_sessions',
    'SQL sessions by kind: of the PostgreSQL of this leader, passed on to the leader (tunnel), at the standby of this replica (read), at every replica (statements)',
    'kind',
    () => Object.entries(gateway().sessions),
  );
  counters(
    'barista_logins_refused_total',
    'SQL clients that were not let in, by SQLSTATE',
    'sqlstate',
    () => gateway().loginsRefused,
  );
  counters(
    'barista_sessions_ended_total',
    'SQL sessions that were ended with an error, by its SQLSTATE',
    'sqlstate',
    () => gateway().sessionsEnded,
  );
  counter(
    'barista_outcomes_unknown_total',
    'Clients that were told that the outcome of a transaction is unknown (08007)',
    () => gateway().sessionsEnded.get(unknownOutcome) ?? 0,
  );
  counter(
    'barista_answers_held_total',
    'Answers that had to wait until they could leave',
    () => gateway().answersHeld,
  );
  counters(
    'barista_requests_interrupted_total',
    'Requests of clients passed on to a leader that went away: executed again at another one, or not, because they had been before or had ended their own server process',
    'kind',
    () =>
      Object.entries({ repeated: gateway().requestsRepeated, notRepeated: gateway().requestsNotRepeated }),
  );
  registerPeers();
  registerThrift();
  registerBuild(registry, look);

  function registerPeers(): void {
    const peers = (): Measures['peers'] => look().measures.peers;
    counter('barista_peer_messages_sent_total', 'Messages sent to peers', () => peers().sent);
    counter('barista_peer_bytes_sent_total', 'Bytes of the messages sent to peers', () => peers().sentBytes);
    counter('barista_peer_messages_received_total', 'Messages received from peers', () => peers().received);
    counters(
      'barista_peer_messages_lost_total',
      'Messages that were not sent (dropped), and that were for another life of this replica (misdirected)',
      'reason',
      () => Object.entries({ dropped: peers().dropped, misdirected: peers().misdirected }),
    );
  }

  function registerThrift(): void {
    const thrift = (): Measures['thrift'] => look().measures.thrift;
    gauges('barista_thrift_clients', 'Thrift clients: their connections, and their sessions', 'kind', () => {
      const { connections = 0, sessions = 0 } = thrift() ?? {};
      return Object.entries({ connections, sessions });
    });
    counters(
      'barista_thrift_requests_total',
      'Requests of Thrift clients that were answered, by method',
      'method',
      () => thrift()?.requests ?? [],
    );
    counters(
      'barista_thrift_errors_total',
      'Requests of Thrift clients that were answered with an exception, by its SQLSTATE',
      'sqlstate',
      () => thrift()?.errors ?? [],
    );
    counter(
      'barista_thrift_broken_total',
      'Connections of Thrift clients that were ended for what they sent, or did not',
      () => thrift()?.broken ?? 0,
    );
  }
}

function withValue(
  peers: readonly PeerLag[],
  read: (peer: PeerLag) => number | null,
): (readonly [string, number])[] {
  return peers.flatMap((peer) => {
    const value = read(peer);
    return value === null ? [] : [[peer.member, value] as const];
  });
}

function registerBuild(registry: Registry, look: Look): void {
  const collect = function (this: Gauge): void {
    this.reset();
    this.set({ ...look().build }, 1);
  };
  const labelNames = ['version', 'commit', 'node', 'postgres'];
  const help = 'Always 1; what this replica was built from and runs on';
  registry.registerMetric(
    new Gauge({ name: 'barista_build_info', help, labelNames, registers: [], collect }),
  );
}
