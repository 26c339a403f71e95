/**
 * Puts one replica together that has a log, where statements are what travels: which part is made of what, and knows which others.
 *
 * Decides nothing. What it begins is the replica's own `start`.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { spaceOf } from '../adapters/free-space.ts';
import { openRecordFile } from '../adapters/record-file.ts';
import { reservedUsers } from '../adapters/postgres/reserved-users.ts';
import { createLoginFinder } from '../adapters/postgres/find-login.ts';
import { placesOf } from '../adapters/postgres/database-directory.ts';
import { FileLook } from '../adapters/postgres/file-look.ts';
import { openStatementDatabase } from '../adapters/postgres/statements/own-database.ts';
import { systemClock } from '../adapters/system-clock.ts';
import type { AdminAnswer, HttpAdmin } from '../gateways/http/admin-routes.ts';
import { pause } from '../payload/pause.ts';
import { aheadOf } from '../adapters/postgres/statements/own-functions.ts';
import { loadParser } from '../determinism/parser.ts';
import { createPreparation } from '../determinism/preparation.ts';
import { DiskRoom } from '../payload/statements/disk-room.ts';
import type { OperationResult, StatementExecutor } from '../payload/statements/executor.ts';
import { noAnswers } from '../payload/statements/held-answers.ts';
import { HeldRuns, noRuns } from '../payload/statements/held-runs.ts';
import { MachineError, MachineErrors } from '../payload/statements/machine-errors.ts';
import { encodeOperation, keyOf } from '../payload/statements/operation.ts';
import { SerialExecutor } from '../payload/statements/serial-executor.ts';
import { StatementsPayload } from '../payload/statements/statements-payload.ts';
import type { SessionId } from '../ports/statement-sessions.ts';
import type { LogStore } from '../ports/log-store.ts';
import { replicaOf } from '../multipaxos/configuration.ts';
import type { Slot } from '../multipaxos/types/names.ts';
import type { AnswerOutcome } from '../replica/protocols/awaited-answers.ts';
import type { ProtocolHost } from '../replica/protocols/protocol-host.ts';
import { Adoptions } from '../replica/statements/adoptions.ts';
import { AgreedPauses } from '../replica/statements/agreed-pauses.ts';
import { AnswerHold } from '../replica/statements/answer-hold.ts';
import { AnswerFence } from '../replica/statements/answer-fence.ts';
import { DigestExchange } from '../replica/statements/digest-exchange.ts';
import { EarlierSessions } from '../replica/statements/earlier-sessions.ts';
import { Lagging } from '../replica/statements/lagging.ts';
import { RenewedPayload } from '../replica/statements/renewed-payload.ts';
import { StatementReplica } from '../replica/statements/statement-replica.ts';
import { ReplicaSessions } from '../replica/statements/statement-sessions.ts';
import { ownPrefix, SessionSweep } from '../replica/statements/session-sweep.ts';
import { ReplicaSharedSessions, sharedPrefix } from '../replica/statements/shared-sessions.ts';
import { ShownOperations } from '../replica/statements/shown-operations.ts';
import { createSlotReader } from '../replica/status/slot-reader.ts';
import { SharedSweep } from '../replica/statements/shared-sweep.ts';
import { Submissions } from '../replica/statements/submissions.ts';
import { primaryDefaults } from '../config/config-schema.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { LevelRules } from '../replica/statements/session-level.ts';
import type { Frame } from './frame.ts';
import { protocolOf } from './protocols.ts';
import { openStatementPostgres } from './statement-database.ts';
import { StatementCopies } from './statement-copies.ts';
import { StatementDatabaseHealth } from './statement-database-health.ts';
import { StatementReplacement } from './statement-replacement.ts';

const submissionBounds = {
  retryMs: 250,
  waitMs: 15_000,
  operationsMax: 20_000,
  bytesMax: 64 * 1024 * 1024,
  batchBytesMax: 1024 * 1024,
} as const;
const answerBytesMax = 16 * 1024 * 1024;
/** How often it is looked for sessions that nobody comes back to. */
const sweepMs = 10_000;
/** Sessions that clients use at any replica end when they were not used for so long; with a transaction open, earlier. */
const sharedIdleMs = 31 * 60_000;
const sharedOpenMs = 5 * 60_000;
/** What has failed is tried again. */
const againMs = 1000;
/** What a copy of another replica's database takes is reckoned by that. */
const copyBytesPerSecond = 20_000_000;
/** So far behind what is chosen a replica asks nobody to wait for it. */
const nearSlots = 1000;

const unavailable: AdminAnswer<never> = {
  ok: false,
  error: { code: 'unavailable', message: 'This is not supported under payload: statements.' },
};
const refusing: HttpAdmin = {
  members: () => Promise.resolve(unavailable),
  verify: () => Promise.resolve(unavailable),
  transferLeadership: () => Promise.resolve(unavailable),
  endSession: () => Promise.resolve(unavailable),
  backup: () => Promise.resolve(unavailable),
};

function levelRulesOf({ protocol, primary = primaryDefaults }: ReplicaConfig): LevelRules | null {
  if (protocol !== 'primary') return null;
  return { ofGroup: primary.replication, mayLower: primary.sessionsMayLower };
}

export async function becomeStatementReplica(frame: Frame, store: LogStore): Promise<void> {
  const { config, context, transport, events, tracker } = frame;
  const { logger, onFatal } = context;
  const timers = systemClock;
  const { cluster, member } = store.identity;
  transport.become(member, cluster);
  events.become(member);
  await loadParser();
  const postgres = await openStatementPostgres(config, cluster, logger);
  const places = placesOf(config.dataDir);
  let life: StatementsPayload | null = null;
  const hold = new AnswerHold(timers, logger, (awaited) => copies.keeper.owe(awaited));
  const copies = new StatementCopies({
    config,
    cluster,
    postgres,
    logger,
    tracker,
    transport,
    protocol: () => protocol,
    executed: () => payload,
    wake: () => life?.look(),
    askForRest: () => pauses.ask(),
    onKept: (slot) => hold.kept(slot),
  });
  const log = copies.hold(store);
  const protocol: ProtocolHost = protocolOf({
    config,
    log,
    transport,
    timers,
    random: Math.random,
    events,
    logger,
  });
  const submissions = new Submissions<OperationResult>({
    ...submissionBounds,
    timers,
    propose: (operation) => replica.give(operation),
    send: (to, bytes) =>
      transport.sendControl(replicaOf(to), { kind: 'Carried', channel: 'operations', bytes }),
  });
  const pauses = new AgreedPauses({
    timers,
    randomName: () => randomBytes(16).toString('hex'),
    submit: (operation) => void submissions.submit(keyOf(operation), encodeOperation(operation)),
    isOfUse: () =>
      database.isUp &&
      !fence.isStanding &&
      (copies.keeper.isPressed || database.boundSessions().length === 0) &&
      protocol.commitPoint - payload.pointer < nearSlots,
    isPressed: () => copies.keeper.isPressed,
    isAwaited: () => copies.keeper.isAwaited,
    bound: () => database.boundSessions(),
    open: () => database.openTransactions,
  });
  const heldFile = await openRecordFile(join(config.dataDir, 'held-runs.json'), noRuns);
  const answersFile = await openRecordFile(join(config.dataDir, 'held-answers.json'), noAnswers);
  const heldRuns = new HeldRuns({
    ...heldFile,
    self: config.id,
    replicas: config.peers.map(({ id }) => id),
    endOfLog: protocol.standing().lastSlot,
    longestMs: config.bounds.statementSecondsMax * 1000,
    timers,
    log: protocol,
    submit: (key, operation) => {
      if (!submissions.has(key)) void submissions.submit(key, encodeOperation(operation));
    },
    isWhole: () => {
      const connected = new Set(transport.connected());
      return config.peers.every(({ id }) => id === config.id || connected.has(id));
    },
    logger,
  });
  const machineErrors = new MachineErrors({
    others: (slot, digest) => digests.othersOn(slot, digest),
    logger,
  });
  const room = new DiskRoom({
    // It is made when PostgreSQL is started first.
    look: () => spaceOf(places.postgres).catch(() => spaceOf(places.dataDir)),
    timers,
    logger,
  });
  const secret = createHmac('sha256', config.clusterSecret).update('statements').digest('hex');
  const database: StatementDatabaseHealth = new StatementDatabaseHealth({
    postgres,
    timers,
    logger,
    room,
    onUp: (slot, isCopy) => {
      sessions.goesOnFrom(slot);
      protocol.restored(slot, isCopy);
      tracker.done();
      // Nobody is to have a copy of one that stands.
      if (digests.standsAt === null) copies.keeper.up();
      copies.keeper.owe(hold.awaits);
    },
    onDown: () => {
      hold.drop();
      copies.keeper.down();
      pauses.ended();
    },
    onExecuted: (ms) => copies.keeper.executed(ms),
    files: new FileLook({
      directory: places.postgres,
      dataDir: postgres.instance.dataDir,
      socketDir: postgres.instance.socketDir,
      asksForPages: true,
    }),
    onDamage: () => void replacement.begin('presumedDamaged'),
  });
  const makeExecutor = (): StatementExecutor =>
    database.executor(async ({ isAfterCrash, copy }) => {
      const { socketDir } = postgres.instance;
      const adoptedAt = copy === null ? ((await postgres.claimed())?.adoptedAt ?? null) : null;
      if (adoptedAt !== null && adoptedAt > (postgres.kept.note?.slot ?? 0)) hold.begin(adoptedAt as Slot);
      return new SerialExecutor({
        database: await openStatementDatabase({
          socketDir,
          secret,
          messageBytesMax: answerBytesMax,
          isAfterCrash,
        }),
        timers,
        answerBytesMax,
        heldRuns,
        machineErrors,
        room,
        isCopy: copy !== null,
        ahead: aheadOf,
        sessionsMax: config.bounds.clientsMax * config.peers.length,
        listener: {
          finished: (slot, operation, result, at) => {
            const key = keyOf(operation);
            const drop = (): void => submissions.unacknowledged(key);
            const tell = (): void =>
              whenAllAnswerable(protocol, [slot, at], (outcome) => {
                if (outcome === 'acknowledged') hold.pass(() => submissions.executed(key, result), drop);
                else drop();
              });
            const isAwaited = submissions.has(key);
            const isCompared = operation.kind !== 'request' || operation.isCompared !== false;
            // Copies may have executed what another primary has not: then a slot is not the same everywhere.
            if (isCompared && config.protocol !== 'primary' && result.digest !== null)
              digests.executed({ name: key, slot, digest: result.digest, tell, drop }, isAwaited);
            else if (isAwaited && !digests.isWaiting(key)) tell();
          },
          pausing: (name) => pauses.begun(name),
          resumed: () => pauses.ended(),
          atRest: (slot) => copies.keeper.reached(slot),
          notified: (session, message, at) => sessions.notified(session as SessionId, message, at),
        },
      });
    });
  const adoptions: Adoptions = new Adoptions({
    self: config.id,
    voters: () => protocol.membership.joined().voters,
    send: (to, bytes) => transport.sendControl(to, { kind: 'Carried', channel: 'adoptions', bytes }),
    timers,
    randomName: () => randomBytes(16).toString('hex'),
    database: {
      pointer: () => (database.isUp && !fence.isClosed ? payload.pointer : null),
      keptSlot: () => postgres.kept.note?.slot ?? (0 as Slot),
      claim: (claim) => postgres.claim(claim),
      claimed: () => postgres.claimed(),
    },
    submit: (operation) => {
      if (!submissions.has(keyOf(operation)))
        void submissions.submit(keyOf(operation), encodeOperation(operation));
    },
    withdraw: (operation) => submissions.unacknowledged(keyOf(operation)),
    tellAgain: (slot) => digests.tellAgain(slot),
    onStanding: (slot) => {
      heldRuns.standsAheadOf(slot);
      fence.standing(slot);
    },
    onGoesOn: () => heldRuns.standsAheadOf(null),
    onCopyThere: (slot, reason) => void replacement.begin(reason, slot),
    onAdopted: (slot) => {
      hold.begin(slot);
      if (digests.standsAt !== null) copies.keeper.up();
      digests.settle(slot);
      fence.adopted();
    },
    logger,
  });
  const makePayload = (): StatementsPayload => {
    life = new StatementsPayload({
      host: {
        commitPoint: () => protocol.commitPoint,
        applied: (slot, durableSlot) => protocol.applied(slot, durableSlot),
        copyAwaited: () => protocol.copyAwaited(),
        fatal: (error) => void failed(error),
      },
      executor: makeExecutor(),
      log: { read: (from, to, bytesMax) => protocol.readChosen(from, to, bytesMax) },
      onCopyNeeded: (reason) => void replacement.begin(reason),
      onBegun: (slot) => submissions.began(slot),
      resting: copies.keeper,
      claimed: adoptions,
    });
    return life;
  };
  const payload: RenewedPayload = new RenewedPayload(makePayload);
  postgres.instance.onExit((reason) => life?.databaseEnded(reason));
  const renewed = async (between: () => Promise<void>): Promise<void> => {
    try {
      await payload.renew(between);
    } catch (error) {
      onFatal(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const replacement: StatementReplacement = new StatementReplacement({
    copies,
    database,
    postgres,
    renew: renewed,
    onReplaced: (isOfAnother) => {
      digests.anew(isOfAnother);
      adoptions.replaced();
      fence.open();
      if (digests.standsAt !== null) fence.lost(digests.standsAt);
    },
    isSomebodyBeyond: () => adoptions.isSomebodyBeyond,
    timers,
    logger,
    onFatal,
  });
  const failed = async (error: Error): Promise<void> => {
    logger.error({ err: error }, 'the statement executor failed and restarts');
    database.down(error.message);
    const ofMachine = error instanceof MachineError ? error : null;
    if (ofMachine?.isDamage === true) return replacement.begin('presumedDamaged');
    await renewed(async () => {
      await postgres.instance.stop('immediate');
      await pause(timers, ofMachine?.pauseMs ?? againMs);
    });
  };
  const fence = new AnswerFence({
    database,
    condemn: (reason) => postgres.condemn(reason),
    endSessions: (reason) => endSessions(reason),
    replace: (slot) => replacement.begin('differs', slot),
    self: config.id,
    onDiffer: (slot, claimant) => adoptions.differ(slot, claimant),
    onAgree: () => adoptions.agree(),
    onLost: (slot, isHeldElsewhere) => {
      adoptions.lost(slot, isHeldElsewhere);
      copies.spoilt(slot).catch(onFatal);
    },
    timers,
    logger,
  });
  const digests: DigestExchange = new DigestExchange({
    self: config.id,
    voters: () => protocol.membership.joined().voters,
    send: (to, bytes) => transport.sendControl(to, { kind: 'Carried', channel: 'digests', bytes }),
    timers,
    onVerdict: (verdict) => fence.judged(verdict),
    isHeard: () => !fence.isClosed,
    isNear: (slot) => protocol.commitPoint - slot < nearSlots,
    hasExecuted: (slot) => database.isUp && payload.pointer >= slot,
    file: answersFile,
    logger,
  });
  const prefix = ownPrefix(config.id);
  const earlier = new EarlierSessions({
    prefix,
    name: randomBytes(16).toString('hex'),
    timers,
    submit: async (operation) =>
      (await submissions.submit(keyOf(operation), encodeOperation(operation))).code === 'executed',
  });
  const sessions = new ReplicaSessions({
    submissions,
    preparation: createPreparation,
    whyNot: () => replica.whyNot(),
    whyNoMore: () => lagging.whyNot,
    findLogin: createLoginFinder(postgres.instance),
    reservedUsers,
    levels: levelRulesOf(config),
    earlier,
    onCancel: (session) => heldRuns.cancel(session),
    prefix,
    randomBytes,
    clockUs: () => Date.now() * 1000,
  });
  const shared = new ReplicaSharedSessions({
    submissions,
    preparation: createPreparation,
    whyNot: () => replica.whyNot(),
    whyNoMore: () => lagging.whyNot,
    factsOf: (session) => database.factsOf(session),
    randomBytes,
    clockUs: () => Date.now() * 1000,
  });
  const endSessions = (reason: string): void => {
    sessions.endAll(reason);
    shared.endAll(reason);
  };
  const lagging = new Lagging({
    timers,
    position: () => (database.isUp ? { pointer: payload.pointer, commitPoint: protocol.commitPoint } : null),
    endedElsewhere: () => digests.heardTo,
    isHalted: () => room.trouble !== null,
    blockedBy: () => database.blockedBy(),
    logger,
    sessionsMax: config.bounds.clientsMax * config.peers.length,
    isAlone: () => protocol.membership.joined().voters.length < 2,
    endSessions,
    findCopy: (atLeast) => copies.find(atLeast),
    bytesPerSecond: Math.min(copyBytesPerSecond, config.snapshot.bytesPerSecondMax ?? copyBytesPerSecond),
    takeCopy: (atLeast) => void replacement.begin('behind', atLeast),
  });
  const shown = new ShownOperations({
    replicas: config.peers.map(({ id }) => id),
    tellsSql: config.http.statements,
  });
  const replica: StatementReplica = new StatementReplica({
    config,
    protocol,
    onCopyNeeded: () => {
      endSessions('the executed log of this replica differs from that of the group');
      void replacement.begin('logPurged');
    },
    payload,
    submissions,
    heldRuns,
    database,
    digests,
    adoptions,
    lagging,
    tracker,
    events,
    shown,
    log,
    transport,
    timers,
    logger,
    onFatal,
  });
  const sweep = new SessionSweep({
    prefix,
    open: () => database.openSessions(),
    hasClient: (session) => sessions.hasClient(session),
    close: (session) => sessions.closeLeft(session),
  });
  const sharedSweep = new SharedSweep({
    prefix: sharedPrefix,
    open: () => database.openSessions(),
    factsOf: (session) => database.factsOf(session),
    close: (session, ifSeq) => sessions.closeLeft(session, ifSeq),
    nowMs: () => timers.nowMs(),
    idleMs: sharedIdleMs,
    openMs: sharedOpenMs,
  });
  const stopSweeping = timers.every(sweepMs, () => {
    sweep.look();
    for (const session of database.lostSessions()) sessions.closeLeft(session);
    sharedSweep.look();
    shared.look();
  });
  const stopLooking = database.watchFiles();
  await copies.offer();
  tracker.done();
  frame.running = {
    status: (clients) => replica.status(clients),
    measures: () => replica.measures(),
    admin: refusing,
    readSlot: createSlotReader({
      read: (from, to, bytesMax) => protocol.readChosen(from, to, bytesMax),
      commitPoint: () => protocol.commitPoint,
      purgedTo: () => protocol.purgedTo,
      content: (entry) => shown.contentOf(entry),
      names: () => Promise.resolve(new Map()),
    }),
    beforeStop: () => Promise.resolve(),
    stop: () => {
      stopSweeping();
      stopLooking();
      earlier.stop();
      lagging.stop();
      copies.stop();
      heldRuns.stop();
      room.stop();
      return replica.stop();
    },
  };
  frame.joining = null;
  frame.sessions.lead(sessions, shared);
  if (digests.standsAt !== null) {
    await copies.spoilt(digests.standsAt);
    fence.lost(digests.standsAt);
  }
  replica.start();
  if (protocol.standing().lastSlot > 0) void earlier.close();
  else earlier.none();
}

/** What has waited took effect behind a later slot than its own: that must have come as far, too. */
function whenAllAnswerable(
  protocol: Pick<ProtocolHost, 'whenAnswerable'>,
  [own, at]: readonly [Slot, Slot],
  settle: (outcome: AnswerOutcome) => void,
): void {
  protocol.whenAnswerable(own, (outcome) => {
    if (outcome === 'acknowledged' && at !== own) protocol.whenAnswerable(at, settle);
    else settle(outcome);
  });
}
