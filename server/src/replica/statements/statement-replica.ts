/**
 * One replica where statements are what travels: what each of its parts hears of the others, and the order in which they start and stop.
 *
 * Responsible for: carrying the protocol's words to the payload and to those that wait for an operation; which protocol it is it does not know. How the parts are put together is main/become-statement-replica.ts.
 */
import type { Logger } from 'pino';
import { noHandOvers, type ReplicaMeasures } from '../../api/measures.ts';
import type { LinkFault, ReplicaStatus } from '../../api/status.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { OperationResult } from '../../payload/statements/executor.ts';
import type { HeldRuns } from '../../payload/statements/held-runs.ts';
import { decodeOperation, isAdoption, keyOf } from '../../payload/statements/operation.ts';
import type { Payload } from '../../payload/payload.ts';
import type { ControlMessage } from '../../ports/control.ts';
import type { Timers } from '../../ports/clock.ts';
import type { LogStore } from '../../ports/log-store.ts';
import type { Transport } from '../../ports/transport.ts';
import type { RecoveryTracker } from '../database/recovery-progress.ts';
import type { Given, ProtocolHost, ProtocolListener } from '../protocols/protocol-host.ts';
import { conditionOf, troubleOf, type Facts } from '../status/condition.ts';
import type { ReplicaEvents } from '../status/events.ts';
import { LogTrouble } from '../status/log-trouble.ts';
import { statusOf, type DatabaseStatus } from '../status/status-report.ts';
import type { Adoptions } from './adoptions.ts';
import type { DigestExchange } from './digest-exchange.ts';
import type { Lagging } from './lagging.ts';
import type { ShownOperations } from './shown-operations.ts';
import type { Submissions } from './submissions.ts';

const lookMs = 300;
const noReads = { counts: { questions: 0, refused: 0 } };

/** What is known of this replica's PostgreSQL. Texts are for people; null: nothing is wrong there. */
export interface StatementDatabase {
  readonly isUp: boolean;
  readonly trouble: string | null;
  /** What it answers is not to be believed: it differs from others', or may. */
  readonly divergence: string | null;
  status(): DatabaseStatus;
  close(): Promise<void>;
}

export interface StatementReplicaParts {
  readonly config: ReplicaConfig;
  readonly protocol: ProtocolHost;
  /** What the database needs next is in no log any more. */
  readonly onCopyNeeded: () => void;
  readonly payload: Payload;
  readonly submissions: Submissions<OperationResult>;
  readonly heldRuns: Pick<HeldRuns, 'chosen'>;
  readonly database: StatementDatabase;
  readonly digests: Pick<DigestExchange, 'take' | 'stop'>;
  readonly adoptions: Pick<Adoptions, 'chosen' | 'take' | 'stop'>;
  readonly lagging: Pick<Lagging, 'whyNot'>;
  readonly tracker: RecoveryTracker;
  readonly events: ReplicaEvents;
  /** What entries hold, for people. */
  readonly shown: Pick<ShownOperations, 'eventOf'>;
  readonly log: LogStore;
  readonly transport: Transport & { faults(): readonly LinkFault[] };
  readonly timers: Timers;
  readonly logger: Logger;
  readonly onFatal: (error: Error) => void;
}

export class StatementReplica implements ProtocolListener {
  private readonly parts: StatementReplicaParts;
  private readonly stopWatching: (() => void)[] = [];
  private readonly trouble: LogTrouble;
  private roomIsTold = false;

  constructor(parts: StatementReplicaParts) {
    this.parts = parts;
    const { protocol, events, logger, transport } = parts;
    this.trouble = new LogTrouble({ events, logger, stepDown: () => protocol.stepBack('logFailed') });
    transport.onControl((from, message) => this.control(from, message));
  }

  /** From here on it votes, and executes. */
  start(): void {
    const { protocol, payload, events, timers } = this.parts;
    protocol.start(this);
    events.onLevel((level) => protocol.traceAt(level));
    payload.start();
    this.stopWatching.push(timers.every(lookMs, () => this.holdCampaign()));
  }

  /** A replica whose log or database is in trouble does not lead, as far as its protocol minds. */
  private holdCampaign(): void {
    const { protocol } = this.parts;
    const trouble = troubleOf(this.facts());
    if (trouble === null) return;
    const isOfLog = trouble.state === 'removed' || trouble.state === 'logFull';
    protocol.stepBack(isOfLog ? 'requested' : 'databaseFailed');
  }

  /** Null: sessions may be opened here. */
  whyNot(): string | null {
    const { protocol, database } = this.parts;
    const { removed } = protocol.membership;
    if (removed !== null) return removed;
    const trouble = troubleOf(this.facts());
    if (trouble !== null) return trouble.message ?? trouble.state;
    if (!database.isUp) return 'its PostgreSQL is starting';
    return protocol.standing().whyNot;
  }

  /** Not within a step of the core. */
  give(operation: Uint8Array): Given {
    return this.parts.protocol.give(operation);
  }

  // --------------------------------------------------------------------------------------- what the protocol says

  chosen(entries: readonly SlotEntry[]): void {
    const { payload, submissions, heldRuns, adoptions, events, shown } = this.parts;
    heldRuns.chosen(entries);
    for (const { slot, entry } of entries)
      if (entry.kind === 'command' && isAdoption(entry.payload)) adoptions.chosen(slot);
    if (events.isWatched) for (const entry of entries) events.operation(shown.eventOf(entry));
    if (!submissions.isEmpty)
      for (const { slot, entry } of entries)
        if (entry.kind === 'command') this.noteOrdered(entry.payload, slot);
    payload.chosen(entries);
  }

  private noteOrdered(payload: Uint8Array, slot: Slot): void {
    try {
      this.parts.submissions.ordered(keyOf(decodeOperation(payload)), slot);
    } catch {
      // Whoever executes it says what is wrong with it.
    }
  }

  room(): void {
    if (this.roomIsTold) return;
    this.roomIsTold = true;
    queueMicrotask(() => {
      this.roomIsTold = false;
      this.parts.submissions.turn();
    });
  }

  proposerChanged(): void {
    this.parts.submissions.anew();
  }

  purged(): void {
    this.parts.payload.purged();
  }

  copyNeeded(): void {
    this.parts.onCopyNeeded();
  }

  logTrouble(error: Error | null): void {
    this.trouble.note(error);
  }

  fatal(error: Error): void {
    this.parts.onFatal(error);
  }

  // ------------------------------------------------------------------------------------------------ what others say

  private control(from: ReplicaId, message: ControlMessage): void {
    const { protocol, submissions, digests, adoptions } = this.parts;
    if (message.kind !== 'Carried') protocol.onControl(from, message);
    else if (message.channel === 'operations') submissions.take(message.bytes);
    else if (message.channel === 'digests') digests.take(from, message.bytes);
    else if (message.channel === 'adoptions') adoptions.take(from, message.bytes);
    else protocol.onControl(from, message);
  }

  // ----------------------------------------------------------------------------------------------------- its status

  private facts(): Facts {
    const { protocol, tracker, payload, database } = this.parts;
    const { role, commitPoint, service } = protocol.standing();
    const { membership } = protocol;
    return {
      removed: membership.removed,
      divergence: database.divergence,
      logTrouble: this.trouble.reason,
      databaseTrouble: database.trouble,
      lostMajority: membership.lostMajority(),
      damage: null,
      disbelief: null,
      slowness: null,
      recovery: tracker.current(),
      databaseUp: database.isUp,
      applyStands: this.parts.lagging.whyNot,
      launchStep: null,
      role,
      service,
      // Statements are executed at every replica, whether the leader's database answers or not.
      leaderServes: true,
      pointer: payload.pointer,
      commitPoint,
    };
  }

  status(clients: number): ReplicaStatus {
    const { protocol, database } = this.parts;
    const standing = protocol.standing();
    return statusOf({
      ...this.parts,
      membership: protocol.membership,
      protocol: protocol.status(),
      database: () => database.status(),
      reads: noReads,
      shown: noReads,
      core: standing,
      leader: standing.leader,
      condition: conditionOf(this.facts()),
      clients,
    });
  }

  measures(): ReplicaMeasures {
    return {
      ...this.parts.protocol.measures(),
      handOvers: noHandOvers,
      slowHandOvers: noHandOvers,
      pace: null,
      standby: null,
      choiceWaitMs: 0,
      groupIntervalMs: null,
    };
  }

  async stop(): Promise<void> {
    const { protocol, submissions, payload, database, transport, log } = this.parts;
    for (const stop of this.stopWatching) stop();
    protocol.stepBack('requested');
    submissions.stop();
    this.parts.adoptions.stop();
    await payload.stop();
    await this.parts.digests.stop();
    protocol.stop();
    await database.close();
    await transport.close();
    await log.close();
  }
}
