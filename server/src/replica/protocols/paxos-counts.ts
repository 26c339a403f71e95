/** What is counted of single-decree Paxos at one replica. */
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import { entryLabel, proposalLabel } from '../../multipaxos/entry.ts';
import type { PaxosCounts } from '../../api/status.ts';
import type { PaxosEffect } from '../../paxos/types/effects.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';

export class PaxosTally {
  private readonly self: ReplicaId;
  /** Own proposals under way; whether each has had a slot. */
  private readonly placed = new Map<string, boolean>();
  private proposals = 0;
  private ownChosen = 0;
  private moved = 0;
  private rounds = 0;
  private duelled = 0;
  private messages = 0;
  private agreed = 0;

  constructor(self: ReplicaId) {
    this.self = self;
  }

  proposed(label: string): void {
    this.proposals += 1;
    this.placed.set(label, false);
  }

  /** A ballot of this replica's was ended by a higher one. */
  lostBallot(): void {
    this.duelled += 1;
  }

  note(effect: PaxosEffect): void {
    if (effect.kind === 'send') this.messages += 1;
    else if (effect.kind === 'chosen') this.chosen(effect.entries);
    else if (effect.kind === 'refused') this.placed.delete(proposalLabel(effect.proposal));
    else if (effect.kind === 'proposed') {
      const label = proposalLabel(effect.proposal);
      if (this.placed.get(label) === true) this.moved += 1;
      this.placed.set(label, true);
    } else if (effect.kind === 'persist') {
      for (const record of effect.records)
        if (record.kind === 'slotPromise' && record.ballot.replica === this.self) this.rounds += 1;
    }
  }

  private chosen(entries: readonly SlotEntry[]): void {
    this.agreed += entries.length;
    for (const { entry } of entries)
      if (entry.kind === 'command' && this.placed.delete(entryLabel(entry))) this.ownChosen += 1;
  }

  get counts(): PaxosCounts {
    const { proposals, ownChosen: chosen, moved, rounds, duelled, messages, agreed } = this;
    const messagesPerAgreement = agreed === 0 ? 0 : Math.round((100 * messages) / agreed) / 100;
    return { proposals, chosen, moved, rounds, duelled, messages, messagesPerAgreement };
  }
}
