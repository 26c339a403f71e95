/**
 * What operators ask of a running replica: changes of the members, comparisons of the data, at their word or on a timer.
 *
 * Responsible for: what is refused, and in which words. Carries out nothing itself.
 */
import type {
  AdminRefusal,
  LeaderTransferAnswer,
  LeaderTransferRequest,
  MembersAnswer,
  MembersRequest,
  VerifyRequest,
  VerifyResult,
} from '../api/status.ts';
import { replicaOf } from '../multipaxos/configuration.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { HandOver } from './consensus/hand-over.ts';
import type { ChangeOutcome, Membership } from './members/membership.ts';
import type { Verification } from './verify/verification.ts';

export type AdminAnswer<T> =
  | { readonly ok: true; readonly answer: T }
  | { readonly ok: false; readonly error: AdminRefusal['error'] };

export interface AdminOptions {
  readonly membership: Membership;
  readonly verification: Verification;
  readonly handOver: HandOver;
  readonly leadership: () => { readonly serving: boolean; readonly leader: ReplicaId | null };
  readonly nowMs: () => number;
  /** 0: no comparison that nobody asked for. */
  readonly verifyEveryMs: number;
}

/** A promotion takes a fraction of a second, on a busy machine some seconds. */
const servedMs = 10_000;

export class Admin {
  private readonly options: AdminOptions;
  private verifiedAtMs: number | null = null;

  constructor(options: AdminOptions) {
    this.options = options;
  }

  async members(request: MembersRequest): Promise<AdminAnswer<MembersAnswer>> {
    const { membership } = this.options;
    const { replica } = request;
    const change =
      request.action === 'add'
        ? ({ kind: 'add', replica, address: request.address } as const)
        : ({ kind: 'remove', replica } as const);
    const outcome = await membership.change(change);
    if (outcome === 'done') return { ok: true, answer: { ok: true, membership: membership.status() } };
    return this.refusal(outcome, replica);
  }

  private refusal(outcome: Exclude<ChangeOutcome, 'done'>, replica: ReplicaId): AdminAnswer<never> {
    switch (outcome) {
      case 'notLeader':
        return this.notLeader();
      case 'busy':
        return refuse('busy', 'Another change of the members is under way: ask again when it is done.');
      case 'wouldLoseQuorum':
        return refuse(
          'wouldLoseQuorum',
          'Too few voters that have been heard lately, and wait for no copy, are there to agree on it, or too few would be left for the group to go on.',
        );
      case 'unknownReplica':
        return refuse('unknownReplica', `${replica} is no member.`);
      case 'exists':
        return refuse('exists', `${replica} is a member already.`);
      case 'tooMany':
        return refuse('tooMany', 'The group has as many members as it may have.');
      case 'timedOut':
        return refuse('timedOut', 'It was proposed, and is not known to be chosen yet: look at the members.');
      default:
        return outcome satisfies never;
    }
  }

  private notLeader(): AdminAnswer<never> {
    const { leader } = this.options.leadership();
    const replica = leader === null ? null : replicaOf(leader);
    const whom = replica === null ? 'No leader is known here' : `Ask ${replica}, the leader`;
    return { ok: false, error: { code: 'notLeader', message: `${whom}.`, leader: replica } };
  }

  async verify({ repair }: VerifyRequest): Promise<AdminAnswer<VerifyResult>> {
    const outcome = await this.options.verification.compare(repair);
    if (outcome.ok) return { ok: true, answer: outcome.result };
    if (outcome.code === 'notLeader') return this.notLeader();
    return refuse(outcome.code, `${outcome.message}.`);
  }

  async transferLeadership({
    to,
    transactionMs,
  }: LeaderTransferRequest): Promise<AdminAnswer<LeaderTransferAnswer>> {
    const outcome = await this.options.handOver.run({ to, transactionMs, servedMs });
    if (outcome.code === 'done')
      return { ok: true, answer: { ok: true, leader: outcome.leader, tookMs: outcome.tookMs } };
    if (outcome.code === 'notLeader') return this.notLeader();
    return refuse(outcome.code, outcome.reason);
  }

  /** Looked at now and then: a leader that has led for so long, or compared so long ago, compares. */
  tick(): void {
    const { leadership, nowMs, verifyEveryMs, verification } = this.options;
    if (!leadership().serving) {
      this.verifiedAtMs = null;
      return;
    }
    this.verifiedAtMs ??= nowMs();
    if (verifyEveryMs === 0 || nowMs() - this.verifiedAtMs < verifyEveryMs) return;
    this.verifiedAtMs = nowMs();
    void verification.compare(false);
  }
}

function refuse(code: AdminRefusal['error']['code'], message: string): AdminAnswer<never> {
  return { ok: false, error: { code, message } };
}
