import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../adapters/system-clock.ts';
import { createMemoryDisk, openMemoryLog } from '../adapters/memory-log/memory-log.ts';
import type { TransactionPayload } from '../apply/effects.ts';
import { MemoryDatabase } from '../apply/testing/memory-database.ts';
import type { GroupId, ReplicaId, Slot } from '../multipaxos/types.ts';
import { DatabaseError } from '../ports/database.ts';
import type { AgreementOutcome } from '../ports/agreement.ts';
import type { SessionSql } from '../ports/session-sql.ts';
import { parseReplicaConfig } from './config.ts';
import { DatabaseKeeper } from './database-keeper.ts';
import { Replica } from './replica.ts';
import { MemoryNetwork } from './testing/memory-network.ts';

const logger = pino({ level: 'silent' });
const ids = ['r1', 'r2', 'r3'] as ReplicaId[];

function configOf(id: ReplicaId) {
  const peers = ids.map((peer, index) => ({
    id: peer,
    host: '127.0.0.1',
    port: 7000 + index,
    pgwire: { host: '127.0.0.1', port: 7100 + index },
  }));
  return parseReplicaConfig(
    {
      group: 'g',
      id,
      dataDir: '/nowhere',
      peers,
      peerListen: { port: 7000 },
      clusterSecret: 'a secret of some length',
      pgwire: { port: 7100 },
      http: { port: 7200 },
      timings: { heartbeatMs: 20, leaseMs: 100, electionTimeoutMinMs: 150, electionTimeoutMaxMs: 300 },
    },
    '/',
  );
}

interface Member {
  readonly replica: Replica;
  readonly database: MemoryDatabase;
  exit(reason: string): void;
}

async function createMember(
  id: ReplicaId,
  network: MemoryNetwork,
  onFatal: (error: Error) => void,
): Promise<Member> {
  const database = new MemoryDatabase();
  let exit: (reason: string) => void = () => {};
  const keeper = new DatabaseKeeper({
    logger,
    retryMinMs: 10,
    retryMaxMs: 50,
    launch: () =>
      Promise.resolve({
        database,
        sessionSql: {} as SessionSql,
        info: () => ({ pid: 1, socketDir: '', port: 5432, version: 'test' }),
        onExit: (listener: (reason: string) => void) => {
          exit = listener;
        },
        restart: () => Promise.resolve(database.crash()),
        stop: () => Promise.resolve(),
      }),
  });
  const replica = new Replica(configOf(id), {
    log: await openMemoryLog(createMemoryDisk('g' as GroupId)),
    transport: network.transport(id),
    keeper,
    clock: systemClock,
    logger,
    random: Math.random,
    onFatal,
    databaseStallMs: 400,
  });
  replica.start();
  return { replica, database, exit: (reason) => exit(reason) };
}

/** What a gateway does with a transaction of one part. */
async function execute(member: Member, transaction: string): Promise<AgreementOutcome> {
  const { service } = member.replica;
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
    member.database.commitSession(outcome.slot, `${transaction}#0`);
    service.committed(outcome.slot);
  }
  return outcome;
}

describe('a group of replicas', () => {
  let network: MemoryNetwork;
  let members: Member[];
  let fatal: Error[];

  beforeEach(async () => {
    network = new MemoryNetwork();
    fatal = [];
    members = await Promise.all(ids.map((id) => createMember(id, network, (error) => fatal.push(error))));
  });
  afterEach(async () => {
    await Promise.all(members.map(({ replica }) => replica.stop()));
    if (fatal[0] !== undefined) throw fatal[0];
  });

  const isServing = ({ replica }: Member) => replica.service.service().kind === 'here';
  async function leader(among: readonly Member[] = members): Promise<Member> {
    await vi.waitFor(() => expect(among.some(isServing)).toBe(true), { timeout: 5000 });
    return among.find(isServing)!;
  }
  async function agreed(applied: readonly string[]): Promise<void> {
    await vi.waitFor(
      () => {
        for (const { database } of members) expect(database.contents.applied.toSorted()).toEqual(applied);
      },
      { timeout: 5000 },
    );
  }

  it('elects one leader, to which the others point', async () => {
    const first = await leader();
    await vi.waitFor(() => {
      const elsewhere = members.filter((member) => member !== first);
      for (const { replica } of elsewhere) expect(replica.service.service()).toMatchObject({ kind: 'at' });
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
    expect(first.database.sessionsEnded).toBeGreaterThan(1);
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
    await vi.waitFor(() => expect(first.database.contents.applied).toContain('kept#0'), { timeout: 5000 });
    expect(first.database.contents.applied).toEqual(others[0]!.database.contents.applied);
  });

  it('commits a chosen transaction from the log when its session cannot', async () => {
    const first = await leader();
    const { service } = first.replica;
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

  async function chooseOnly(member: Member, transaction: string): Promise<Slot> {
    const { service } = member.replica;
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
    first.replica.service.commitFailed(2 as Slot, 'the session was lost');
    expect(isServing(first)).toBe(true);
    expect((await execute(first, 'b')).code).toBe('chosen');
  });

  it('stays apart once it has diverged, whatever else comes and goes', async () => {
    const first = await leader();
    const other = members.find((member) => member !== first)!;
    other.database.failNextApply = new DatabaseError('applyFailed', 'no such row');
    await execute(first, 'a');
    const state = () => other.replica.status(0, 0).state;
    await vi.waitFor(() => expect(state()).toBe('diverged'));
    other.exit('killed');
    await vi.waitFor(() => expect(other.database.sessionsEnded).toBeGreaterThan(1), { timeout: 3000 });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(state()).toBe('diverged');
    expect(other.database.contents.applied).toEqual([]);
  });

  it('says that it cannot catch up when the others have purged what it lacks', async () => {
    const first = await leader();
    const other = members.find((member) => member !== first)!;
    const state = () => other.replica.status(0, 0);
    await vi.waitFor(() => expect(state()).toMatchObject({ state: 'serving', message: null }));
    network.transport(ids[members.indexOf(first)]!).send(ids[members.indexOf(other)]!, {
      kind: 'CatchUpReply',
      group: 'g' as GroupId,
      ballot: { round: 1, replica: ids[0]! },
      firstSlot: 5 as Slot,
      entries: [],
      commitPoint: 900 as Slot,
      purgedTo: 800 as Slot,
    });
    await vi.waitFor(() => expect(state().message).toMatch(/purged theirs up to 800.*Restore/));
    expect(state().state).toBe('recovering');
  });

  it('ends a large transaction that was given up, so that its parts do not keep the log for ever', async () => {
    const first = await leader();
    const { service } = first.replica;
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
    const status = () => first.replica.status(0, 0);
    await vi.waitFor(() => expect(status().log.purgedTo).toBe(status().commitPoint), {
      timeout: 5000,
      interval: 50,
    });
    expect(isServing(first)).toBe(true);
  });
});
