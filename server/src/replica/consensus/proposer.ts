/**
 * Gives the core what the payload wants to have in the log, one proposal at a time, and tells at once whether it has a slot.
 *
 * Invariants: a proposal's name is used once; the answer is that of the core, never a guess.
 */
import { proposalLabel } from '../../multipaxos/entry.ts';
import type { Effect } from '../../multipaxos/types/effects.ts';
import type { ProposeResult } from '../../payload/payload.ts';
import type { CoreHost } from './core-host.ts';

type Answer = Extract<Effect, { kind: 'proposed' | 'refused' }>;

export class Proposer {
  private readonly core: Pick<CoreHost, 'input' | 'isStepping'>;
  /** Unique to this run of this replica. */
  private readonly client: string;
  private nextRequest = 1;
  private answer: Answer | null = null;

  constructor(core: Pick<CoreHost, 'input' | 'isStepping'>, client: string) {
    this.core = core;
    this.client = client;
  }

  /** Not within a step of the core, which would answer too late. */
  propose(payload: Uint8Array): ProposeResult {
    if (this.core.isStepping) throw new Error('a proposal was made within a step of the core');
    const proposal = { client: this.client, request: this.nextRequest++ };
    this.core.input({ kind: 'Propose', proposals: [{ proposal, payload }] });
    const answer = this.takeAnswer();
    // The core has stopped.
    if (answer === null) return { code: 'notLeader' };
    if (answer.kind === 'proposed') return { code: 'proposed', label: proposalLabel(proposal) };
    if (answer.code === 'duplicate') throw new Error(`proposal ${proposalLabel(proposal)} was made twice`);
    return { code: answer.code };
  }

  private takeAnswer(): Answer | null {
    const { answer } = this;
    this.answer = null;
    return answer;
  }

  onProposal(effect: Answer): void {
    this.answer = effect;
  }
}
