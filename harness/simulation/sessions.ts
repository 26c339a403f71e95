/** What a simulated replica does for its clients: gathers proposals, answers when they are applied, and reads under the lease. */
import { proposalLabel } from '../../server/src/multipaxos/entry.ts';
import { isServing, snapshot } from '../../server/src/multipaxos/step.ts';
import type { EntryLabel, ProposalId } from '../../server/src/multipaxos/types/names.ts';
import type { SimulatedReplica } from './replica.ts';

export type WriteAnswer = 'acknowledged' | 'refused';

/** How long the proposals of one group commit are gathered. */
const gatherMs = 0.3;

export class Sessions {
  private readonly replica: SimulatedReplica;
  private gathered: { readonly proposal: ProposalId; readonly payload: Uint8Array }[] = [];
  private readonly waiting = new Map<EntryLabel, (answer: WriteAnswer) => void>();

  constructor(replica: SimulatedReplica) {
    this.replica = replica;
  }

  /** The process died: no one gets an answer any more. */
  end(): void {
    this.gathered = [];
    this.waiting.clear();
  }

  /** Proposes; `onAnswer` is called at most once, and never if the outcome stays unknown. */
  write(proposal: ProposalId, payload: Uint8Array, onAnswer: (answer: WriteAnswer) => void): void {
    const { replica } = this;
    replica.whenAwake(() => {
      if (replica.state === null || !isServing(replica.state)) {
        onAnswer('refused');
        return;
      }
      this.waiting.set(proposalLabel(proposal), onAnswer);
      this.gathered.push({ proposal, payload });
      if (this.gathered.length === 1) replica.later(gatherMs, () => this.proposeGathered());
    });
  }

  private proposeGathered(): void {
    const proposals = this.gathered;
    this.gathered = [];
    this.replica.input({ kind: 'Propose', proposals });
  }

  answer(label: EntryLabel, answer: WriteAnswer): void {
    const onAnswer = this.waiting.get(label);
    if (onAnswer === undefined) return;
    this.waiting.delete(label);
    onAnswer(answer);
  }

  /** Reads the database, and answers only if the lease still holds after that. */
  read(key: number, onAnswer: (value: EntryLabel | null) => void, onRefused: () => void): void {
    const { replica } = this;
    replica.whenAwake(() => {
      if (replica.state === null || !isServing(replica.state) || !replica.database.up) {
        onRefused();
        return;
      }
      const value = replica.database.registers[key]!;
      const { ballot } = snapshot(replica.state);
      replica.later(replica.world.random.exponential(1), () => {
        const now = snapshot(replica.state!);
        const sameLeadership = now.serving && now.ballot === ballot;
        if (sameLeadership && replica.holdsLease()) onAnswer(value);
        else onRefused();
      });
    });
  }
}
