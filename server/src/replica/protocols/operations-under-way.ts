/** Operations that a replica has proposed and that are not over: which they are, by the labels of their proposals. */
import { proposalLabel } from '../../multipaxos/entry.ts';
import type { ProposalId } from '../../multipaxos/types/names.ts';

export class OperationsUnderWay {
  private readonly client: string;
  private nextRequest = 1;
  private readonly byLabel = new Map<string, Uint8Array>();
  private readonly operations = new Set<Uint8Array>();

  /** `client`: of this life of the replica alone. */
  constructor(client: string) {
    this.client = client;
  }

  /** The very same bytes, as whoever gives an operation again gives them. */
  has(operation: Uint8Array): boolean {
    return this.operations.has(operation);
  }

  begin(operation: Uint8Array): ProposalId {
    const proposal = { client: this.client, request: this.nextRequest++ };
    this.byLabel.set(proposalLabel(proposal), operation);
    this.operations.add(operation);
    return proposal;
  }

  over(label: string): void {
    const operation = this.byLabel.get(label);
    if (operation === undefined) return;
    this.byLabel.delete(label);
    this.operations.delete(operation);
  }
}
