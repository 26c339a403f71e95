/** Data that knows newer leaderships than the logs do, as an interrupted restore could leave it: nobody serves under an older one. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TransactionPayload } from '../apply/effects.ts';
import { createOrderedApply } from '../apply/ordered-apply.ts';
import { ArrayLog, group, leadership, smallBounds, start } from '../apply/testing/array-log.ts';
import { MemoryDatabase } from '../apply/testing/memory-database.ts';
import type { Ballot, ProposalId, ReplicaId, Slot } from '../multipaxos/types.ts';
import { Proposals } from './proposals.ts';
import { ReplicaService } from './service.ts';
import { foundedBy, MemoryMember } from './testing/memory-member.ts';
import { MemoryNetwork } from './testing/memory-network.ts';

async function* only(transaction: string): AsyncGenerator<TransactionPayload> {
  yield { transaction, part: 0, last: true, partSlots: [], effects: [], sql: [] };
}

describe('a group whose data knows a newer leadership than its logs', () => {
  const ids = ['r1', 'r2', 'r3'] as ReplicaId[];
  let members: MemoryMember[];

  beforeEach(async () => {
    const network = new MemoryNetwork();
    members = ids.map((id) => new MemoryMember(id, ids, network));
    for (const member of members) {
      await member.found(foundedBy(ids));
      member.database = new MemoryDatabase();
      const keep = { ...member.database.contents.keep, leadership: { round: 5, replica: ids[1]! } };
      member.database.contents = { ...member.database.contents, keep };
      await member.start();
    }
  });
  afterEach(async () => {
    await Promise.all(members.map((member) => member.stop()));
    for (const { fatal } of members) if (fatal[0] !== undefined) throw fatal[0];
  });

  it('is led above it, and what is committed there takes effect everywhere', async () => {
    const leader = await vi.waitFor(() => {
      const found = members.find(({ replica }) => replica?.service.service().kind === 'here');
      expect(found).toBeDefined();
      return found!;
    });
    expect(leader.status()!.ballot.round).toBeGreaterThan(5);
    const { service } = leader.replica!;
    const outcome = await service.agree(
      only('a'),
      (service.service() as { readonly generation: number }).generation,
    );
    if (outcome.code !== 'chosen') throw new Error(outcome.code);
    leader.database!.commitSession(outcome.slot, 'a#0');
    service.committed(outcome.slot);
    await vi.waitFor(() => {
      for (const { database } of members) expect(database!.contents.applied).toEqual(['a#0']);
    });
  });
});

describe('a transaction that counts as chosen but takes no effect', () => {
  it('stops the replica, and its session gets no leave to commit it', async () => {
    const log = new ArrayLog();
    const apply = createOrderedApply({
      log,
      commitPoint: 0 as Slot,
      onApplied: () => {},
      onEvent: () => {},
      onDiverged: () => {},
      onDatabaseDown: () => {},
      ...smallBounds,
    });
    let proposed: { readonly proposal: ProposalId; readonly payload: Uint8Array }[] = [];
    const proposals = new Proposals({
      client: 'c',
      queueMax: 10,
      queueBytesMax: 5000,
      groupMax: 10,
      doubtMs: 1000,
      propose: (batch) => (proposed = [...batch]),
      busy: () => false,
      onEvent: () => {},
    });
    const fatal: Error[] = [];
    const service = new ReplicaService({
      id: 'r1' as ReplicaId,
      partBytesMax: 1000,
      proposals,
      pgwireOf: () => null,
      coreLeaseHeld: () => true,
      commitPoint: () => 1 as Slot,
      apply,
      onCommitted: () => {},
      onCommitFailed: () => {},
      onFatal: (error) => fatal.push(error),
      leasePollMs: 1,
    });
    await apply.follow(new MemoryDatabase());
    apply.chosen(log.append([start]));
    await vi.waitFor(() => expect(apply.pointer).toBe(1));
    apply.lead(leadership);
    // As if sessions had been let in under a leadership that the data has left behind.
    const older: Ballot = { round: 0, replica: 'r9' as ReplicaId };
    service.serveHere(older);
    const agreed = service.agree(only('a'), 1);
    await vi.waitFor(() => expect(proposed).toHaveLength(1));
    const { proposal, payload } = proposed[0]!;
    proposals.onProposal({ kind: 'proposed', proposal, slot: 2 as Slot });
    const entries = log.append([{ kind: 'command', group, proposal, payload }]);
    apply.chosen(entries);
    proposals.onChosen(entries);
    await expect(agreed).rejects.toThrow(/slot 2 takes no effect on the other replicas/);
    expect(fatal).toHaveLength(1);
    proposals.close();
    await apply.stop();
  });
});
