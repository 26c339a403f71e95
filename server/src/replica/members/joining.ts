/**
 * How a replica without a log becomes a member: it asks its peers for an incarnation, again and again, until one is chosen.
 *
 * Responsible for: whom to ask next, how often, and saying what it waits for. Creates no log and starts nothing: what it resolves with is enough to.
 * Invariants: one nonce for its whole life, so asking twice is asking once; an answer for another nonce is not for this life; at most one request leaves each period.
 * A crash at any moment is harmless: the next life draws another nonce, and gets the next incarnation.
 */
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { MemberAddress } from '../../multipaxos/types/members.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { ControlMessage, JoinReply } from '../../ports/control.ts';
import { drawnName } from '../../ports/drawn-name.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Transport } from '../../ports/transport.ts';

export type Admission = NonNullable<JoinReply['admission']>;

/** What a replica without a log says of itself before it is let in: whether it was ever here only the others know. */
export function causeBeforeAdmission(hasDatabase: boolean): 'logLost' | 'noLog' {
  return hasDatabase ? 'logLost' : 'noLog';
}

/** `hasDatabase`: of this very group. A first life that has one is that of a replica which was removed and added again. */
export function causeOf(
  { isNew }: Pick<Admission, 'isNew'>,
  hasDatabase: boolean,
): 'logLost' | 'new' | 'bothLost' {
  if (hasDatabase) return 'logLost';
  return isNew ? 'new' : 'bothLost';
}

export interface JoiningOptions {
  readonly self: ReplicaId;
  /** Where this replica is reached. */
  readonly address: MemberAddress;
  /** The others of the configuration file. */
  readonly peers: readonly ReplicaId[];
  readonly transport: Pick<Transport, 'sendControl' | 'connected'>;
  readonly timers: Timers;
  readonly periodMs?: number;
  /** Tells this attempt to be let in from any other. Default: drawn at random. */
  readonly nonce?: string;
  /** What it waits for has changed. */
  readonly onMessage: (message: string) => void;
}

/** A peer's word counts this long. */
const heardMs = 5000;

interface Heard {
  readonly atMs: number;
  readonly code: JoinReply['code'];
  readonly reason: string;
  /** It has no log either. */
  readonly joiningToo: boolean;
}

/** Said by a replica that has no log itself. */
export const joiningTooReason = 'it has no log either';

export class Joining {
  readonly nonce: string;
  /** What it waits for. */
  message = 'This replica has no log, and asks the others to let it in.';
  private readonly options: JoiningOptions;
  private readonly heard = new Map<ReplicaId, Heard>();
  private leader: ReplicaId | null = null;
  private next = 0;
  private stopAsking: (() => void) | null = null;
  private settle: ((admission: Admission | null) => void) | null = null;

  constructor(options: JoiningOptions) {
    this.options = options;
    this.nonce = options.nonce ?? drawnName(12);
  }

  /** Resolves with null if it is stopped before. */
  run(): Promise<Admission | null> {
    return new Promise((resolve) => {
      this.settle = resolve;
      const { timers, periodMs = 500 } = this.options;
      this.stopAsking = timers.every(periodMs, () => this.ask());
      this.ask();
    });
  }

  stop(): void {
    this.finish(null);
  }

  onControl(from: ReplicaId, message: ControlMessage): void {
    if (this.settle === null) return;
    if (message.kind === 'JoinRequest') this.answer(message.replica, message.nonce);
    if (message.kind === 'JoinReply' && message.nonce === this.nonce) this.onReply(replicaOf(from), message);
  }

  /** Another one that waits: it should know that asking here leads nowhere. */
  private answer(replica: ReplicaId, nonce: string): void {
    this.options.transport.sendControl(replica, {
      kind: 'JoinReply',
      nonce,
      code: 'notLeader',
      reason: joiningTooReason,
      leader: this.leader,
      admission: null,
    });
  }

  private onReply(from: ReplicaId, { code, reason, leader, admission }: JoinReply): void {
    if (code === 'admitted' && admission !== null) {
      this.finish(admission);
      return;
    }
    const joiningToo = reason === joiningTooReason;
    this.heard.set(from, { atMs: this.options.timers.nowMs(), code, reason, joiningToo });
    if (code === 'notLeader') {
      const hint = leader !== null && leader !== from && this.options.peers.includes(leader) ? leader : null;
      if (hint !== null || this.leader === from) this.leader = hint;
    } else this.leader = from;
    this.tell();
  }

  /** The leader if one is known and connected, else each in turn. */
  private ask(): void {
    const { self, address, peers, transport } = this.options;
    this.tell();
    const up = new Set(transport.connected());
    const reachable = peers.filter((peer) => up.has(peer));
    if (reachable.length === 0) return;
    const leader = this.leader !== null && up.has(this.leader) && this.next % 3 !== 2 ? this.leader : null;
    const peer = leader ?? reachable[this.next % reachable.length]!;
    this.next++;
    transport.sendControl(peer, { kind: 'JoinRequest', replica: self, nonce: this.nonce, address });
  }

  private finish(admission: Admission | null): void {
    this.stopAsking?.();
    this.stopAsking = null;
    this.settle?.(admission);
    this.settle = null;
  }

  private tell(): void {
    const message = this.describe();
    if (message === this.message) return;
    this.message = message;
    this.options.onMessage(message);
  }

  private describe(): string {
    const { peers, self, timers } = this.options;
    const nowMs = timers.nowMs();
    const start = 'This replica has no log, and waits to be let in';
    const heard = [...this.heard].filter(([, { atMs }]) => nowMs - atMs < heardMs);
    const found = `If the group was never founded, run "barista init" with the configuration of one replica${peers.length === 0 ? '' : ', and start it'}.`;
    if (peers.length === 0) return `${start}, but its configuration names no other. ${found}`;
    if (heard.length === 0) return `${start}: none of ${peers.join(', ')} has answered yet. ${found}`;
    const refused = heard.find(([, { code }]) => code === 'refused');
    if (refused !== undefined) return `${start}, but ${refused[0]} refuses: ${refused[1].reason}.`;
    const waiting = heard.find(([, { code }]) => code === 'waiting');
    if (waiting !== undefined) return `${start}: ${waiting[0]} says: ${waiting[1].reason}.`;
    const withLog = heard.filter(([, { joiningToo }]) => !joiningToo);
    if (withLog.length === 0) {
      return (
        `${start}, and ${heard.map(([peer]) => peer).join(', ')} ${heard.length === 1 ? 'has' : 'have'} no log either. ${found} ` +
        `If ${self} and they have lost their logs, the group has lost its majority, and data with it: restore the newest backup (barista restore).`
      );
    }
    const [peer, { reason }] = withLog.at(-1)!;
    return `${start}: no leader answers. ${peer} says: ${reason}`;
  }
}
