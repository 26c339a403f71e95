/**
 * The members as this replica knows them: whom the transport reaches, who is let in, and whether this replica is still one of them.
 *
 * Responsible for: answering requests to join (the leader hands them to the core and tells the outcome), changes that an operator asks for, addresses. Decides nothing
 * about who votes: the core does, and tells it by its effects.
 *
 * Invariants: only a leader that serves admits; a replica is told that it is admitted only when the configuration that says so is chosen; what waits for an answer
 * is bounded by the number of members.
 */
import type { Logger } from 'pino';
import type { MembershipStatus } from '../../api/status.ts';
import { memberName, nameOf, replicaOf, votersOf } from '../../multipaxos/configuration.ts';
import type { Effect } from '../../multipaxos/types/effects.ts';
import type {
  Configuration,
  ConfigurationChange,
  Member,
  MemberAddress,
} from '../../multipaxos/types/members.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { JoinReply, JoinRequest } from '../../ports/control.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Transport } from '../../ports/transport.ts';
import { hostWords, isHost } from '../../shapes/host.ts';

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;
type ReconfigureCode = EffectOf<'reconfigured'>['code'];

/** `done`: it is so, chosen. `timedOut`: proposed, and not known to be chosen in time; it may be yet. */
export type ChangeOutcome = Exclude<ReconfigureCode, 'proposed'> | 'timedOut';

export interface MembershipOptions {
  /** The incarnation that this replica is. */
  readonly member: ReplicaId;
  readonly cluster: string;
  readonly configuration: Configuration;
  readonly transport: Pick<Transport, 'sendControl' | 'setPeers'>;
  readonly reconfigure: (id: number, change: ConfigurationChange) => void;
  readonly leadership: () => { readonly serving: boolean; readonly leader: ReplicaId | null };
  readonly purgedTo: () => Slot;
  readonly timers: Timers;
  readonly logger: Logger;
  /** This incarnation is no member any more; `why` is for people. Told once. */
  readonly onRemoved: (why: string) => void;
}

/** How long a request to join counts as a sign that its sender has lost its log. */
const askingMs = 10_000;
const changeTimeoutMs = 15_000;

interface Asking {
  readonly nonce: string;
  readonly atMs: number;
}

export class Membership {
  private readonly options: MembershipOptions;
  private known: Configuration;
  private pending: readonly Member[] | null = null;
  private readonly asking = new Map<ReplicaId, Asking>();
  private readonly waiting = new Map<number, (code: ReconfigureCode) => void>();
  private readonly watchers = new Set<() => void>();
  private nextId = 1;
  private removedBecause: string | null = null;
  /** By its nonce, the life of each replica that was seen to be its first: the incarnations of one that was added do not begin with 1. */
  private readonly newcomers = new Map<ReplicaId, string>();

  constructor(options: MembershipOptions) {
    this.options = options;
    this.known = options.configuration;
    this.reach();
    this.checkSelf();
  }

  get configuration(): Configuration {
    return this.known;
  }

  /** A change is proposed, and not known to be chosen. */
  get isChanging(): boolean {
    return this.pending !== null;
  }

  /** Why this replica is no member any more; null while it is one. */
  get removed(): string | null {
    return this.removedBecause;
  }

  /** By the name of the replica or of one of its incarnations. */
  addressOf(name: ReplicaId): MemberAddress | null {
    const replica = replicaOf(name);
    const all = [...(this.pending ?? []), ...this.known.members];
    return all.find((member) => member.replica === replica)?.address ?? null;
  }

  /** The other members, by the name of the replica. */
  others(): ReplicaId[] {
    const self = replicaOf(this.options.member);
    return this.known.members.map(({ replica }) => replica).filter((replica) => replica !== self);
  }

  /** Those that have been here, and those of them that vote, by the names of the replicas. */
  joined(): { readonly all: readonly ReplicaId[]; readonly voters: readonly ReplicaId[] } {
    const all = this.known.members.filter(({ incarnation, role }) => incarnation > 0 || role === 'voter');
    return { all: all.map(({ replica }) => replica), voters: votersOf(this.known).map(replicaOf) };
  }

  isVoter(): boolean {
    return votersOf(this.known).includes(this.options.member);
  }

  status(): MembershipStatus {
    const { version, members } = this.known;
    return {
      version,
      members: members.map(({ replica, incarnation, role, address }) => ({
        replica,
        incarnation,
        role,
        address,
      })),
    };
  }

  /**
   * What to say when voters without a log are so many that the others are no majority: nobody can be admitted then, and what only the lost logs
   * held is gone. Null while a majority may be there.
   */
  lostMajority(): string | null {
    const voters = votersOf(this.known);
    const nowMs = this.options.timers.nowMs();
    const lost = voters.filter((name) => {
      const asked = this.asking.get(replicaOf(name));
      return name !== this.options.member && asked !== undefined && nowMs - asked.atMs < askingMs;
    });
    if (voters.length - lost.length > voters.length / 2) return null;
    return (
      `The group has lost its majority: ${lost.join(', ')} of the voters ${voters.join(', ')} have lost their logs. What only they held is lost, and nobody can be ` +
      `admitted any more. Bring the disk of a lost log back, or found a new group (barista restore) on a backup: of ${replicaOf(this.options.member)}, which can still be taken (barista backup), or an earlier one.`
    );
  }

  onConfiguration({ configuration, pending }: EffectOf<'configuration'>): void {
    this.noteNewcomers(configuration);
    this.known = configuration;
    this.pending = pending;
    this.reach();
    this.checkSelf();
    for (const [replica, { nonce }] of this.asking) {
      if (this.memberWith(replica, nonce) !== undefined && this.options.leadership().serving) {
        this.admit(replica, nonce);
      }
    }
    for (const watcher of this.watchers) watcher();
  }

  private noteNewcomers({ members }: Configuration): void {
    const wasExpected = (replica: ReplicaId): boolean =>
      this.known.members.some((before) => before.replica === replica && before.incarnation === 0);
    for (const { replica, incarnation, nonce } of members) {
      if (incarnation > 0 && wasExpected(replica)) this.newcomers.set(replica, nonce);
    }
    for (const replica of this.newcomers.keys()) {
      if (!members.some((member) => member.replica === replica)) this.newcomers.delete(replica);
    }
  }

  onReconfigured({ id, code }: EffectOf<'reconfigured'>): void {
    this.waiting.get(id)?.(code);
    this.waiting.delete(id);
  }

  /** A replica without a log, or one that was never here, wants to be let in. */
  onJoinRequest({ replica, nonce, address }: JoinRequest): void {
    const { serving, leader } = this.options.leadership();
    const expected = this.known.members.some((member) => member.replica === replica);
    if (expected) this.asking.set(replica, { nonce, atMs: this.options.timers.nowMs() });
    if (!serving) {
      const reason = this.lostMajority() ?? (leader === null ? 'no leader is known here' : `${leader} leads`);
      this.reply(replica, nonce, 'notLeader', reason);
      return;
    }
    if (this.memberWith(replica, nonce) !== undefined) {
      this.admit(replica, nonce);
      return;
    }
    const noHost = [address.host, address.pgwire.host].find((host) => !isHost(host));
    if (noHost !== undefined) {
      const reason = `${JSON.stringify(noHost)}, in its own entry of its peers, is no host: it must be ${hostWords}`;
      this.reply(replica, nonce, 'refused', reason);
      return;
    }
    void this.reconfigure({ kind: 'join', replica, nonce, address }).then((code) =>
      this.answerJoin(replica, nonce, code),
    );
  }

  private answerJoin(replica: ReplicaId, nonce: string, code: ReconfigureCode): void {
    switch (code) {
      case 'done':
        this.admit(replica, nonce);
        return;
      case 'proposed':
        this.options.logger.info({ replica, nonce }, 'a replica without a log is being let in');
        this.reply(replica, nonce, 'waiting', 'asked for, and not chosen yet');
        return;
      case 'busy':
        this.reply(
          replica,
          nonce,
          'waiting',
          `another change of the members is under way, or the ${replica} of before was heard just now`,
        );
        return;
      case 'wouldLoseQuorum':
        this.reply(
          replica,
          nonce,
          'waiting',
          'without it too few of the voters have been heard lately, or can vote for a change before they have a copy',
        );
        return;
      case 'notLeader':
        this.reply(replica, nonce, 'notLeader', 'leadership has just ended here');
        return;
      case 'unknownReplica':
      case 'exists':
      case 'tooMany':
        this.reply(
          replica,
          nonce,
          'refused',
          `the group does not expect ${replica}: run "barista members add ${replica}"`,
        );
        return;
      default:
        code satisfies never;
    }
  }

  private memberWith(replica: ReplicaId, nonce: string): Member | undefined {
    return this.known.members.find((member) => member.replica === replica && member.nonce === nonce);
  }

  private admit(replica: ReplicaId, nonce: string): void {
    const member = this.memberWith(replica, nonce);
    if (member === undefined) return;
    this.asking.delete(replica);
    this.reply(replica, nonce, 'admitted', '', {
      cluster: this.options.cluster,
      member: nameOf(member),
      configuration: this.known,
      purgedTo: this.options.purgedTo(),
      isNew: member.incarnation === 1 || this.newcomers.get(replica) === nonce,
    });
  }

  private reply(
    replica: ReplicaId,
    nonce: string,
    code: JoinReply['code'],
    reason: string,
    admission: JoinReply['admission'] = null,
  ): void {
    const { leader } = this.options.leadership();
    this.options.transport.sendControl(replica, {
      kind: 'JoinReply',
      nonce,
      code,
      reason,
      leader: leader === null ? null : replicaOf(leader),
      admission,
    });
  }

  /** What an operator asks for. Resolves once it is chosen, or cannot be. */
  async change(change: Extract<ConfigurationChange, { kind: 'add' | 'remove' }>): Promise<ChangeOutcome> {
    const code = await this.reconfigure(change);
    if (code !== 'proposed') return code;
    const isDone = (): boolean =>
      this.known.members.some(({ replica }) => replica === change.replica) === (change.kind === 'add');
    return (await this.until(isDone)) ? 'done' : 'timedOut';
  }

  private reconfigure(change: ConfigurationChange): Promise<ReconfigureCode> {
    const id = this.nextId++;
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      this.options.reconfigure(id, change);
    });
  }

  private until(holds: () => boolean): Promise<boolean> {
    return new Promise((resolve) => {
      const finish = (result: boolean): void => {
        cancel();
        this.watchers.delete(check);
        resolve(result);
      };
      const check = (): void => {
        if (holds()) finish(true);
      };
      const cancel = this.options.timers.after(changeTimeoutMs, () => finish(holds()));
      this.watchers.add(check);
      check();
    });
  }

  /** Members to be, too: they are dialled while they are only proposed. */
  private reach(): void {
    const peers = new Map(
      [...this.known.members, ...(this.pending ?? [])].map(({ replica, address }) => [replica, address]),
    );
    this.options.transport.setPeers([...peers].map(([replica, address]) => ({ replica, address })));
  }

  private checkSelf(): void {
    if (this.removedBecause !== null) return;
    const self = replicaOf(this.options.member);
    const now = this.known.members.find(({ replica }) => replica === self);
    if (now !== undefined && nameOf(now) === this.options.member) return;
    this.removedBecause =
      now === undefined
        ? `${self} has been removed from the group. Stop it; to have it back, run "barista members add ${self}" and start it on an empty data directory.`
        : `${memberName(self, now.incarnation)} has taken the place of ${this.options.member}: another process with the id ${self} has asked to join. ` +
          'Stop one of the two; to have this one back, remove its log (dataDir/log) and start it: it joins again.';
    this.options.onRemoved(this.removedBecause);
  }
}
