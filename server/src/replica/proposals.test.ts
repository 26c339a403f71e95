import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TransactionPayload } from '../apply/effects.ts';
import { proposalLabel } from '../multipaxos/entry.ts';
import type { Ballot, Entry, GroupId, ProposalId, ReplicaId, Slot } from '../multipaxos/types.ts';
import type { AgreementOutcome } from '../ports/agreement.ts';
import { Proposals } from './proposals.ts';

const group = 'g' as GroupId;
const ballot = (round: number, replica = 'r1'): Ballot => ({ round, replica: replica as ReplicaId });

let proposed: { proposal: ProposalId; payload: Uint8Array }[];
let busy: boolean;
let proposals: Proposals;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  proposed = [];
  busy = false;
  proposals = new Proposals({
    client: 'c',
    queueMax: 10,
    queueBytesMax: 5000,
    groupMax: 10,
    doubtMs: 1000,
    propose: (group_) => proposed.push(...group_),
    busy: () => busy,
    onEvent: () => {},
  });
  proposals.startLeading(ballot(1));
});
afterEach(() => vi.useRealTimers());

function agree(transaction: string, text = ''): Promise<AgreementOutcome> {
  const part: TransactionPayload = {
    transaction,
    part: 0,
    last: true,
    partSlots: [],
    effects: [],
    sql: [text],
  };
  return proposals.agree(
    (async function* one() {
      yield part;
    })(),
    () => true,
  );
}

/** Proposed, and given its slot. */
async function inFlight(transaction: string, slot: number): Promise<Promise<AgreementOutcome>[]> {
  const outcome = agree(transaction);
  await vi.waitFor(() => expect(proposed.length).toBeGreaterThan(0));
  const { proposal } = proposed.pop()!;
  proposals.onProposal({ kind: 'proposed', proposal, slot: slot as Slot });
  chosenEntries.set(slot, { kind: 'command', group, proposal, payload: new Uint8Array(0) });
  return [outcome];
}
const chosenEntries = new Map<number, Entry>();
const choose = (slot: number, entry: Entry = chosenEntries.get(slot)!) =>
  proposals.onChosen([{ slot: slot as Slot, entry }]);
const beginning = (round: number): Entry => ({ kind: 'leaderStart', group, ballot: ballot(round, 'r2') });

describe('a transaction whose leader is deposed', () => {
  it('is told that it took no effect as soon as another leader has begun below it', async () => {
    const [outcome] = await inFlight('t', 9);
    proposals.stopLeading('deposed');
    choose(5, beginning(2));
    expect(await outcome).toMatchObject({ code: 'superseded' });
  });

  it('is told that it was chosen if it was, below that beginning', async () => {
    const [outcome] = await inFlight('t', 9);
    proposals.stopLeading('deposed');
    choose(9);
    choose(10, beginning(2));
    expect(await outcome).toMatchObject({ code: 'chosen', slot: 9 });
  });

  it('is in doubt only when the log has not told in time', async () => {
    const [outcome] = await inFlight('t', 9);
    proposals.stopLeading('deposed');
    vi.advanceTimersByTime(999);
    choose(4, { kind: 'noop', group });
    let settled = false;
    void outcome!.then(() => (settled = true));
    await Promise.resolve();
    expect(settled).toBe(false);
    vi.advanceTimersByTime(1);
    expect(await outcome).toMatchObject({ code: 'unknown' });
  });

  it('is in doubt once the log goes on from a copied database, which may hold it or not', async () => {
    choose(8, { kind: 'noop', group });
    const [below] = await inFlight('below', 9);
    const [above] = await inFlight('above', 60);
    proposals.stopLeading('deposed');
    choose(51, beginning(3));
    choose(60);
    expect(await below).toMatchObject({ code: 'unknown' });
    expect(await above).toMatchObject({ code: 'unknown' });
  });

  it('is not taken for one of the leadership after', async () => {
    const [old] = await inFlight('old', 9);
    proposals.stopLeading('deposed');
    choose(5, { kind: 'leaderStart', group, ballot: ballot(3) });
    expect(await old).toMatchObject({ code: 'superseded' });
    proposals.startLeading(ballot(3));
    const [young] = await inFlight('young', 11);
    vi.advanceTimersByTime(5000);
    choose(11);
    expect(await young).toMatchObject({ code: 'chosen' });
  });

  it('is told at once when the replica stops, and no timer is left', async () => {
    const [outcome] = await inFlight('t', 9);
    proposals.stopLeading('deposed');
    proposals.close();
    expect(await outcome).toMatchObject({ code: 'unknown' });
    expect(vi.getTimerCount()).toBe(0);
  });
});

it('what waits is bounded by bytes, and what was never proposed is told so', async () => {
  busy = true;
  const outcomes = ['a', 'b', 'c', 'd'].map((name) => agree(name, 'x'.repeat(2000)));
  expect(await outcomes[2]).toMatchObject({
    code: 'overloaded',
    reason: expect.stringContaining('2 transactions') as string,
  });
  expect(await outcomes[3]).toMatchObject({ code: 'overloaded' });
  proposals.flush();
  expect(proposed.map(({ proposal }) => proposalLabel(proposal))).toHaveLength(2);
  const again = agree('e', 'x'.repeat(2000));
  await new Promise((resolve) => setImmediate(resolve));
  proposals.stopLeading('deposed');
  expect(await again).toMatchObject({ code: 'notLeader' });
});
