import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TransactionPayload } from '../apply/effects.ts';
import type { ReplicaId, Slot } from '../multipaxos/types.ts';
import type { AgreementOutcome } from '../ports/agreement.ts';
import { DatabaseError } from '../ports/database.ts';
import { foundedBy, MemoryMember } from './testing/memory-member.ts';
import { MemoryNetwork } from './testing/memory-network.ts';

const ids = ['r1', 'r2', 'r3'] as ReplicaId[];

/** What a gateway does with a transaction of one part. */
async function execute(member: MemoryMember, transaction: string): Promise<AgreementOutcome> {
  const { service } = member.replica!;
  const here = service.service();
  if (here.kind !== 'here') return { code: 'notLeader', reason: 'not here' };
  const payload: TransactionPayload = {
    transaction,
    part: 0,
    last: true,
    partSlots: [],
    effects: [],
    sql: [transaction],
  };
  const outcome = await service.agree(
    (async function* one() {
      yield payload;
    })(),
    here.generation,
  );
  if (outcome.code === 'chosen' && service.service() === here) {
    member.database!.commitSession(outcome.slot, `${transaction}#0`);
    service.committed(outcome.slot);
  }
  return outcome;
}

describe('a group of replicas', () => {
  let network: MemoryNetwork;
  let members: MemoryMember[];

  beforeEach(async () => {
    network = new MemoryNetwork();
    members = ids.map((id) => new MemoryMember(id, ids, network));
    for (const member of members) {
      await member.found(foundedBy(ids));
      await member.start();
    }
  });
  afterEach(async () => {
    await Promise.all(members.map((member) => member.stop()));
    for (const { fatal } of members) if (fatal[0] !== undefined) throw fatal[0];
  });

  const isServing = ({ replica }: MemoryMember) => replica!.service.service().kind === 'here';
  async function leader(among: readonly MemoryMember[] = members): Promise<MemoryMember> {
    await vi.waitFor(() => expect(among.some(isServing)).toBe(true), { timeout: 5000 });
    return among.find(isServing)!;
  }
  async function agreed(applied: readonly string[]): Promise<void> {
    await vi.waitFor(
      () => {
        for (const { database } of members) expect(database!.contents.applied.toSorted()).toEqual(applied);
      },
      { timeout: 5000 },
    );
  }

  it('elects one leader, to which the others point', async () => {
    const first = await leader();
    await vi.waitFor(() => {
      const elsewhere = members.filter((member) => member !== first);
      for (const { replica } of elsewhere) expect(replica!.service.service()).toMatchObject({ kind: 'at' });
    });
  });

  it('applies what the leader agreed on everywhere', async () => {
    const first = await leader();
    const outcomes = await Promise.all(['a', 'b', 'c'].map((name) => execute(first, name)));
    expect(outcomes.map(({ code }) => code)).toEqual(['chosen', 'chosen', 'chosen']);
    await agreed(['a#0', 'b#0', 'c#0']);
  });

  it('deposes a leader whose database dies, and loses nothing when the database forgets', async () => {
    const first = await leader();
    await execute(first, 'a');
    first.exit('killed');
    expect(isServing(first)).toBe(false);
    const second = await leader(members.filter((member) => member !== first));
    await execute(second, 'b');
    await agreed(['a#0', 'b#0']);
    expect(first.database!.sessionsEnded).toBeGreaterThan(1);
  });

  it('answers a proposal made without a majority as unknown, and serves on with the majority', async () => {
    const first = await leader();
    const id = ids[members.indexOf(first)]!;
    network.isolate(id);
    const doubtful = execute(first, 'lost');
    const others = members.filter((member) => member !== first);
    const second = await leader(others);
    expect((await execute(second, 'kept')).code).toBe('chosen');
    expect((await doubtful).code).toBe('unknown');
    expect(isServing(first)).toBe(false);
    network.heal();
    await vi.waitFor(() => expect(first.database!.contents.applied).toContain('kept#0'), { timeout: 5000 });
    expect(first.database!.contents.applied).toEqual(others[0]!.database!.contents.applied);
  });

  it('commits a chosen transaction from the log when its session cannot', async () => {
    const first = await leader();
    const { service } = first.replica!;
    const here = service.service() as { readonly generation: number };
    const payload = { transaction: 'x', part: 0, last: true, partSlots: [], effects: [], sql: [] };
    const outcome = await service.agree(
      (async function* one() {
        yield payload;
      })(),
      here.generation,
    );
    if (outcome.code !== 'chosen') throw new Error(outcome.code);
    service.commitFailed(outcome.slot, 'the session died');
    await agreed(['x#0']);
  });

  async function chooseOnly(member: MemoryMember, transaction: string): Promise<Slot> {
    const { service } = member.replica!;
    const here = service.service() as { readonly generation: number };
    const payload = { transaction, part: 0, last: true, partSlots: [], effects: [], sql: [] };
    const outcome = await service.agree(
      (async function* one() {
        yield payload;
      })(),
      here.generation,
    );
    if (outcome.code !== 'chosen') throw new Error(outcome.code);
    return outcome.slot;
  }

  it('does not go on as leader without a chosen transaction whose session never told what became of it', async () => {
    const first = await leader();
    await chooseOnly(first, 'silent');
    await vi.waitFor(() => expect(isServing(first)).toBe(false), { timeout: 3000 });
    await agreed(['silent#0']);
    const second = await leader();
    await execute(second, 'later');
    await agreed(['later#0', 'silent#0']);
  });

  it('goes on as leader when a session of an earlier leadership could not commit', async () => {
    const first = await leader();
    await execute(first, 'a');
    first.replica!.service.commitFailed(2 as Slot, 'the session was lost');
    expect(isServing(first)).toBe(true);
    expect((await execute(first, 'b')).code).toBe('chosen');
  });

  it('stays apart once it has diverged, until a copy of another database has taken the place of its own', async () => {
    const first = await leader();
    const other = members.find((member) => member !== first)!;
    other.database!.failNextApply = new DatabaseError('applyFailed', 'no such row');
    await execute(first, 'a');
    const state = () => other.status()!.state;
    await vi.waitFor(() => expect(state()).toBe('diverged'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(other.database!.contents.applied).toEqual([]);
    expect(other.status()!.message).toMatch(/^no such row\. .*barista verify --repair/);
    other.exit('killed');
    await agreed(['a#0']);
    await vi.waitFor(() => expect(state()).toBe('serving'));
    expect(other.setAside).toBe(1);
  });

  it('does not keep the log beyond its bound for a database that differs, and replaces that by a copy', async () => {
    const first = await leader();
    const other = members.find((member) => member !== first)!;
    other.database!.failNextApply = new DatabaseError('applyFailed', 'no such row');
    await execute(first, 'a');
    await vi.waitFor(() => expect(other.status()!.state).toBe('diverged'));
    await execute(first, 'b');
    // Nobody else lets go of what this one has not reported, so what it lets go of here, its own database must have.
    other.pressLog(true);
    await vi.waitFor(
      () => {
        const { log, commitPoint, state } = other.status()!;
        expect({ purgedTo: log.purgedTo, state }).toEqual({ purgedTo: commitPoint, state: 'serving' });
      },
      { timeout: 5000 },
    );
    expect(other.setAside).toBe(1);
    await execute(first, 'c');
    await agreed(['a#0', 'b#0', 'c#0']);
    // Once is enough.
    await new Promise((resolve) => setTimeout(resolve, 1300));
    expect(other.setAside).toBe(1);
  });

  it('ends a large transaction that was given up, so that its parts do not keep the log for ever', async () => {
    const first = await leader();
    const { service } = first.replica!;
    const { generation } = service.service() as { readonly generation: number };
    const part = { transaction: 'big', part: 0, last: false, partSlots: [], effects: [], sql: [] };
    const given = service.agree(
      (async function* broken() {
        yield part;
        throw new Error('the client has gone');
      })(),
      generation,
    );
    await expect(given).rejects.toThrow('the client has gone');
    await execute(first, 'a');
    const status = () => first.replica!.status(0, 0);
    await vi.waitFor(() => expect(status().log.purgedTo).toBe(status().commitPoint), {
      timeout: 5000,
      interval: 50,
    });
    expect(isServing(first)).toBe(true);
  });
});
