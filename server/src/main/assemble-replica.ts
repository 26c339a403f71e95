/**
 * Puts one replica together that has a log: which part is made of what, and knows which others.
 *
 * Decides nothing and starts nothing: `start` of the replica does. Parts that need each other both ways are given functions that ask for the other when it is needed.
 */
import type { Logger } from 'pino';
import { reservedUsers } from '../adapters/postgres/reserved-users.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { Archiving } from '../payload/wal/archiving.ts';
import { WalPayload } from '../payload/wal/wal-payload.ts';
import type { LookAtLeft, FindLogin } from '../ports/client-service.ts';
import type { Timers } from '../ports/clock.ts';
import type { LookAtCommits } from '../ports/commits-look.ts';
import type { DatabaseDirectory, Loss } from '../ports/database-directory.ts';
import type { DatabaseServer } from '../ports/database-server.ts';
import type { DigestSource } from '../ports/digest.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { ArchiveSource, WalArchive } from '../ports/wal-archive.ts';
import { linksCameWith, type Transport } from '../ports/transport.ts';
import type { LinkFault } from '../api/status.ts';
import { replicaOf, votersOf } from '../multipaxos/configuration.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { Admin } from '../replica/admin.ts';
import { groupIntervalOf } from '../replica/consensus/group-interval.ts';
import type { CoreHost } from '../replica/consensus/core-host.ts';
import { coreHostOf } from '../replica/consensus/core-host-of.ts';
import { HandOver } from '../replica/consensus/hand-over.ts';
import { LeadershipState } from '../replica/consensus/leadership-state.ts';
import { PayloadLink } from '../replica/consensus/payload-link.ts';
import { Proposer } from '../replica/consensus/proposer.ts';
import { Checkups } from '../replica/database/checkup.ts';
import { FileLooks } from '../replica/database/file-looks.ts';
import { DamagedLeader } from '../replica/database/damaged-leader.ts';
import { DatabaseHealth } from '../replica/database/database-health.ts';
import { missingDatabase, type Joined } from '../replica/database/missing-database.ts';
import type { RecoveryTracker } from '../replica/database/recovery-progress.ts';
import { createSources } from '../replica/database/sources.ts';
import { Membership } from '../replica/members/membership.ts';
import { Replica } from '../replica/replica.ts';
import { AnswerGate } from '../replica/serving/answer-gate.ts';
import { PaceWatch } from '../replica/pace/pace-watch.ts';
import { FollowerReads } from '../replica/serving/follower-reads.ts';
import { Outcomes } from '../replica/serving/outcomes.ts';
import { ReplicaService } from '../replica/serving/service.ts';
import { ShownAnswers } from '../replica/serving/shown-answers.ts';
import { ShownByLeader } from '../replica/serving/shown-by-leader.ts';
import { ToldAnswers } from '../replica/serving/told-answers.ts';
import { Successions } from '../replica/serving/successions.ts';
import { databaseStatus } from '../replica/status/database-status.ts';
import type { ReplicaEvents } from '../replica/status/events.ts';
import { Watch } from '../replica/status/watch.ts';
import { missingBelow, shownTooEarly } from '../replica/verify/exact-snapshot.ts';
import { Verification } from '../replica/verify/verification.ts';
import { VerifyPoint } from '../replica/verify/verify-point.ts';

/** What the adapters have made. */
export interface ReplicaAdapters {
  readonly log: LogStore;
  readonly transport: Transport & { faults(): readonly LinkFault[] };
  readonly server: DatabaseServer & { close(): Promise<void> };
  /** What clients connect to. */
  readonly socketPath: string;
  readonly findLogin: FindLogin;
  readonly lookAtLeft: LookAtLeft;
  readonly directory: DatabaseDirectory;
  readonly digests: DigestSource;
  readonly timers: Timers;
  readonly random: () => number;
  /** Makes what a group's first PostgreSQL must have before anybody comes. @throws Error */
  readonly prepare: () => Promise<void>;
  readonly installRequests: (database: string) => Promise<void>;
  /** Of a new leader. */
  readonly lookAtCommits: () => LookAtCommits;
  /** Null: no WAL is archived. */
  readonly openArchive: ((source: ArchiveSource) => Promise<WalArchive>) | null;
  /** Has a copy take the place of what is lost; `sources` says whom to ask now. */
  readonly replace: (
    loss: Loss,
    sources: () => readonly ReplicaId[],
    logReaches: (slot: Slot) => boolean,
    ended: AbortSignal,
  ) => Promise<boolean>;
}

export interface ReplicaContext {
  readonly events: ReplicaEvents;
  readonly tracker: RecoveryTracker;
  readonly logger: Logger;
  /** Null: it had a log. */
  readonly joined: Joined | null;
  /** How long a range of the leader's WAL took from being proposed to being chosen. */
  readonly onAgreed: (ms: number) => void;
  /** Something of the leader's was proposed. Default: nobody wants to know. */
  readonly onProposed?: () => void;
  readonly onFatal: (error: Error) => void;
}

/** The replica, and what others than itself need of its parts. */
export interface AssembledReplica {
  readonly replica: Replica;
  readonly payload: WalPayload;
  readonly core: CoreHost;
  /** Null: no WAL is archived. */
  readonly archiving: Archiving | null;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const timings = {
  saveMs: 1000,
  askMs: 200,
  askLeadingMs: 5,
  hangMs: 2000,
  pingMs: 250,
  standstillMs: 10_000,
  patienceMs: 5000,
  promotionMs: 10_000,
  retryMinMs: 100,
  retryMaxMs: 5000,
} as const;

export function assembleReplica(
  config: ReplicaConfig,
  adapters: ReplicaAdapters,
  context: ReplicaContext,
): AssembledReplica {
  const { log, transport, server, directory, timers, random, digests } = adapters;
  const { events, tracker, logger, joined, onFatal, onProposed = () => undefined } = context;
  const { member, cluster } = log.identity;
  events.become(member);
  const leadership = new LeadershipState();
  const successions = new Successions();
  const core = coreHostOf(config, { log, transport, timers, random });
  const proposer = new Proposer(core, `${member}.${events.run}`);
  const membership: Membership = new Membership({
    member,
    cluster,
    configuration: log.recovered.configuration,
    transport,
    reconfigure: (id, change) => core.input({ kind: 'Reconfigure', id, change }),
    leadership: () => leadership,
    purgedTo: () => log.stats().purgedTo,
    timers,
    logger,
    // Told while it is being put together, too: then there is nothing to take back yet.
    onRemoved: (why) => timers.soon(() => replica.onRemoved(why)),
  });
  const groupInterval = groupIntervalOf(config, { leadership, transport, timers });
  const link = new PayloadLink({
    member,
    core,
    proposer,
    leadership,
    membership: () => membership,
    events,
    isTraced: config.trace.file,
    groupIntervalMs: () => groupInterval?.ms ?? null,
    onProposed,
    onOpening: (ballot) => replica.opening(ballot),
    onReady: (ballot) => replica.ready(ballot),
    onUnready: (reason) => replica.unready(reason),
    onFatal,
  });
  const health: DatabaseHealth = new DatabaseHealth({
    directory,
    logger,
    lose: (loss) => payload.lose(loss),
    stepDown: () => link.stepDown(),
  });
  const sources = createSources({
    transport,
    membership,
    leader: () => leadership.leader,
    nowMs: () => timers.nowMs(),
    leaderWaitMs: 2 * config.timings.electionTimeoutMaxMs,
  });
  const logReaches = (slot: Slot): boolean => slot >= log.stats().purgedTo;
  const payload: WalPayload = new WalPayload({
    host: link,
    server,
    directory,
    logger,
    timers,
    log: { read: (from, to, bytesMax) => core.readChosen(from, to, bytesMax) },
    ringBytesMax: 4 * MIB,
    timings,
    readers: {
      get wanted() {
        return reads.wanted;
      },
      reached: (slot) => reads.reached(slot),
      letIn: (isOpen) => reads.letIn(isOpen && health.fenced === null),
    },
    entryBytesMax: config.bounds.entryBytesMax,
    shipQueueBytesMax: 4 * MIB,
    prepare: adapters.prepare,
    missing: () => missingDatabase({ log, joined, others: membership.others() }),
    logReaches,
    replace: async (loss, ended) => {
      verifyPoint.abandon();
      const isReplaced = await adapters.replace(loss, () => sources(loss), logReaches, ended);
      if (isReplaced) {
        health.onReplaced();
        verification.databaseReplaced();
      }
      return isReplaced;
    },
    onAgreed: context.onAgreed,
    onStep: (step) => health.onStep(step),
    onUp: () => {
      checkups.renew();
      pace.databaseRenewed();
      damagedLeader.renew();
      health.onUp();
    },
    onDown: (reason) => health.onDown(reason),
    onMayLead: () => health.onMayLead(),
    onReplayPaused: (isPaused) => health.onReplayPaused(isPaused),
    onVerify: (check, position) => {
      const why = health.fenced;
      if (why === null) void verifyPoint.meet(check, position);
      else {
        verification.passOver(check, why);
        payload.endVerify();
      }
    },
    onFolding: (base) => {
      successions.clear();
      successions.add(base, false);
    },
    onLeadership: (position, resumes) => successions.add(position, resumes),
  });
  const checkups = new Checkups({
    server,
    isUp: () => health.up,
    leads: () => leadership.serving,
    onDamage: (reason) => damagedLeader.found({ cause: 'databaseLost', reason }),
    onAnswered: () => payload.answered(),
    onFlushed: (ms) => pace.databaseFlushed(ms),
    timers,
    everyMs: 2000,
  });
  const fileLooks = new FileLooks({
    server,
    pid: () => server.info().pid,
    onDamage: (loss) => damagedLeader.found(loss),
    onDoubt: (reason) => {
      health.onDoubt(reason);
      damagedLeader.doubted(reason);
    },
    timers,
    everyMs: 5000,
    againMs: 1000,
    refusedMs: 30_000,
  });
  const told = new ToldAnswers({
    isWanted: () => core.isTold,
    lease: () => core.tracedLease(),
    onEvent: (event) => events.lease(event, () => timers.nowMs()),
    everyMs: 5,
  });
  const gate = new AnswerGate({
    leaseHeld: (nowMs) => core.leaseHeld(nowMs),
    told,
    server,
    barrier: () => payload.barrier(),
    position: () => payload.position,
    onEvent: (event) => events.apply(event),
    timers,
    leasePollMs: 10,
  });
  const outcomes = new Outcomes({
    successions,
    server,
    replayed: () => payload.replayed,
    serves: () => service.service().kind === 'here',
    servedUnder: () => service.servedUnder,
    barrier: () => gate.afterNow(),
    shownByLeader: (waitMs) => shown.awaitShown(waitMs),
    isStandby: () => payload.isStandby,
    onEvent: (event) => events.apply(event),
    timers,
    pollMs: 20,
  });
  const service: ReplicaService = new ReplicaService({
    id: config.id,
    pgwireOf: (id) => membership.addressOf(id)?.pgwire ?? null,
    gate,
    onBegins: (generation, ballot) => told.begins(generation, ballot, timers.nowMs()),
    outcomes,
    reads: () => reads,
    socketPath: () => adapters.socketPath,
    reservedUsers,
    findLogin: adapters.findLogin,
    lookAtLeft: adapters.lookAtLeft,
    lookAtFunctions: (database, known) => server.lookAtFunctions(database, known),
    primary: () => payload.primary,
    installRequests: adapters.installRequests,
    lookAtCommits: adapters.lookAtCommits,
    looks: { timers, patienceMs: 500, retryMs: 20, againMs: 5_000, logger },
  });
  const servesUnderLease = (): boolean => leadership.serving && core.leaseHeld(timers.nowMs());
  const shown = new ShownByLeader({
    transport,
    timers,
    server,
    leader: () => leadership.leader,
    sent: () => payload.position?.slot ?? null,
    standbyHas: () => payload.standbySlot,
    run: events.run,
    retryMs: 200,
  });
  const shownAnswers = new ShownAnswers({
    transport,
    timers,
    server,
    serves: () => payload.primary !== null && servesUnderLease(),
    keepMs: 200,
    pollMs: 1,
    pollMsMax: 50,
  });
  const reads: FollowerReads = new FollowerReads({
    transport,
    timers,
    run: events.run,
    leader: () => leadership.leader,
    readIndex: () => (servesUnderLease() ? core.commitPoint : null),
    announce: () => core.announce(),
    replayed: () => payload.standbySlot,
    hurry: () => payload.hurry(),
    onReader: () => server.readerComes(),
    shown,
    socketPath: () => adapters.socketPath,
    reservedUsers,
    findLogin: adapters.findLogin,
    lookAtLeft: adapters.lookAtLeft,
    retryMs: 200,
  });
  const verification: Verification = new Verification({
    self: config.id,
    run: events.run,
    digests: () => (health.up ? digests : null),
    transport,
    leadership: () => leadership,
    propose: (check) => payload.proposeVerify(check),
    missingBelow: (position) => missingBelow(payload, position),
    shownTooEarly: (position, views) => shownTooEarly(payload, position, views),
    whyNoDigest: () => {
      if (!payload.needsLog) return { reason: 'its database is not there, or being copied', isFenced: false };
      return health.fenced === null ? null : { reason: health.fenced, isFenced: true };
    },
    members: () => membership.joined(),
    timers,
    timeoutMs: config.verify.timeoutMinutes * 60_000,
    logger,
    onResult: (result) => events.operation({ name: 'VerifyDone', result }),
    onDiffers: ({ reason, equal }, repair) =>
      void health.differs({ cause: 'diverged', reason, equal }, repair),
  });
  const verifyPoint: VerifyPoint = new VerifyPoint({
    isThere: (position) => payload.isAt(position),
    takeSnapshot: (check, position, signal) => verification.takeSnapshot(check, position, signal),
    onGivenUp: (check, slot, reason) => verification.givenUp(check, slot, reason),
    letGo: () => payload.endVerify(),
    timers,
    waitMs: 3000,
    pollMs: 5,
  });
  const watch = new Watch({
    snapshot: () => core.snapshot(),
    pointer: () => payload.pointer,
    logBytes: () => log.stats().bytes,
    logBytesMax: config.bounds.logBytesMax,
    nowMs: () => timers.nowMs(),
    tracker,
    logger,
    isUp: () => health.up,
    needsLog: () => payload.needsLog,
    isHealthy: () => membership.isVoter() && service.service().kind !== 'nowhere',
    onLogPressure: (isUrgent) => {
      if (!health.relieve()) core.input({ kind: 'LogPressure', isUrgent });
    },
    onLogPurged: (reason) => payload.lose({ cause: 'logPurged', reason }),
  });
  const handOver = new HandOver({
    self: config.id,
    run: events.run,
    transport,
    timers,
    logger,
    leadership: () => leadership,
    leaderServes: () => replica.leaderServes(),
    voters: () => votersOf(membership.configuration),
    commitPoint: () => core.commitPoint,
    lagSlotsMax: config.bounds.windowSlotsMax,
    service,
    isChanging: () => membership.isChanging,
    makeWay: (reason) => {
      verification.giveUp(`${reason}: compare again`);
      verifyPoint.abandon();
    },
    primary: () => payload.primary,
    rest: (isResting) => payload.rest(isResting),
    awaitChosen: (lsn, signal) => payload.awaitChosen(lsn, signal),
    announce: () => core.announce(),
    resign: (successor) => core.input({ kind: 'HandOver', successor }),
  });
  const damagedLeader: DamagedLeader = new DamagedLeader({
    serves: () => service.service().kind === 'here',
    handOver: (wishes) => handOver.run(wishes),
    lose: (loss) => payload.lose(loss),
    timers,
    logger,
  });
  const pace = new PaceWatch({
    self: member,
    nowMs: () => timers.nowMs(),
    logBusyMs: () => core.writingForMs,
    leads: () => service.service().kind === 'here',
    voters: () => votersOf(membership.configuration),
    silences: () => new Map(core.peers().map(({ id, silentMs }) => [id, silentMs])),
    linksAsked: () => leadership.role !== 'leader' && leadership.note?.asksLinks === true,
    sendLink: (to, bytes) => {
      const replica = replicaOf(to);
      if ((transport.versionOf(replica) ?? 0) >= linksCameWith)
        transport.sendControl(replica, { kind: 'Carried', channel: 'links', bytes });
    },
    handOver: (wishes) => handOver.run(wishes),
    mayHandOver: config.slowLeader === 'handOver',
    logger,
  });
  const admin = new Admin({
    membership,
    verification,
    handOver,
    leadership: () => leadership,
    nowMs: () => timers.nowMs(),
    verifyEveryMs: config.verify.everyMinutes * 60_000,
  });
  const { openArchive } = adapters;
  const archiving =
    openArchive === null
      ? null
      : new Archiving({
          wal: () => payload.wal,
          directory,
          open: openArchive,
          timers,
          logger,
          everyMs: 500,
          retryMs: 5000,
        });
  const replica: Replica = new Replica({
    config,
    core,
    proposer,
    handOver,
    groupInterval,
    pace,
    leadership,
    payload,
    membership,
    service,
    reads,
    shown,
    shownAnswers,
    verification,
    watch,
    checkups,
    fileLooks,
    damagedLeader,
    admin,
    archiving,
    health,
    tracker,
    events,
    log,
    transport,
    database: () => databaseStatus(payload, server, health, checkups, archiving),
    closeDatabase: () => server.close(),
    timers,
    logger,
    onFatal,
  });
  if (joined !== null) tracker.begin(joined.cause, 'catchingUp');
  return { replica, payload, core, archiving };
}
