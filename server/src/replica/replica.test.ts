/** Groups of replicas in memory that lose leaders, links and databases. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { ModelClient } from '../payload/wal/testing/model-client.ts';
import { MemoryClient, type Transaction, type TransactionEnd } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

let group: MemoryGroup;
let client: MemoryClient;

beforeEach(async () => {
  group = new MemoryGroup({ replicas: 3, seed: 1 });
  client = new MemoryClient(group);
  await group.begin();
});
afterEach(() => group.stop());

const writing = (value: string): Transaction => ({ reads: [], writes: [{ key: 'k', value }] });

async function write(value: string): Promise<void> {
  const end = await group.time.until(client.transact(writing(value)));
  expect(end.kind).toBe('done');
}

/** What clients of the leader find. */
async function list(): Promise<readonly string[]> {
  const end = await group.time.until(client.transact({ reads: ['k'], writes: [] }));
  if (end.kind !== 'done') throw new Error(`nobody answered: ${JSON.stringify(end)}`);
  return end.lists[0]!;
}

async function lists(): Promise<readonly (readonly string[])[]> {
  await group.equal();
  return Promise.all(
    group.members.map(async ({ process }) => (await group.time.until(process!.server.read(['k'])))[0]!),
  );
}

async function leader(among: readonly MemoryMember[] = group.members): Promise<MemoryMember> {
  const serving = (): MemoryMember | undefined =>
    among.find(({ replica }) => replica?.service.service().kind === 'here');
  expect(await group.time.passUntil(() => serving() !== undefined, 10_000)).toBe(true);
  return serving()!;
}

const othersThan = (member: MemoryMember): MemoryMember[] =>
  group.members.filter((other) => other !== member);
const service = ({ replica }: MemoryMember) => replica!.service.service();

it('elects one leader, to which the others point', async () => {
  const first = await leader();
  for (const other of othersThan(first))
    expect(service(other)).toMatchObject({ kind: 'at', leader: first.id });
});

it('has everywhere what its leader has answered', async () => {
  for (const value of ['a', 'b', 'c']) await write(value);
  expect(await lists()).toEqual(Array.from({ length: 3 }, () => ['a', 'b', 'c']));
});

describe('a leader whose PostgreSQL dies', () => {
  it('serves nobody from that moment on, and another one has all that was answered', async () => {
    const first = await leader();
    await write('a');
    const { generation } = service(first) as { readonly generation: number };
    first.postgres.killMain();
    expect(first.replica!.service.mayAnswer(generation)).toBe(false);
    const second = await leader(othersThan(first));
    await write('b');
    expect(await list()).toEqual(['a', 'b']);
    await group.healthy(30_000);
    expect(service(second).kind).toBe('here');
    expect(await lists()).toEqual(Array.from({ length: 3 }, () => ['a', 'b']));
  });

  it('leaves it to one whose PostgreSQL is a standby no more from then on, and has all that is chosen', async () => {
    const first = await leader();
    first.postgres.killMain();
    const second = await leader(othersThan(first));
    await write('a');
    const { wal } = second.replica!.status(0);
    expect(wal).toMatchObject({ role: 'primary', flushed: wal!.chosen, replayed: wal!.chosen });
  });
});

describe('a leader that is cut off', () => {
  it('answers nothing more, and its client is told what became of its COMMIT', async () => {
    const first = await leader();
    await write('a');
    let session: ModelClient | null = null;
    const doubtful = client.transact(writing('lost'), (made) => {
      session = made;
    });
    // COMMIT waits by then, for a majority that will not come.
    await group.time.passUntil(() => session?.xid != null, 1000);
    group.network.isolate(first.id, group.ids);
    const second = await leader(othersThan(first));
    group.network.heal();
    const end: TransactionEnd = await group.time.until(doubtful);
    expect(end).toEqual({ kind: 'asked', outcome: 'notCommitted' });
    await write('kept');
    await group.healthy(30_000);
    expect(service(second).kind).toBe('here');
    expect(await lists()).toEqual(Array.from({ length: 3 }, () => ['a', 'kept']));
    // What it had written was never chosen: what differed was copied.
    expect(group.network.copiesAsked.at(-1)).toBeDefined();
  });
});

it('a leader whose machine fails leads again with all that its PostgreSQL has, if nobody else can have led', async () => {
  await group.stop();
  group = new MemoryGroup({ replicas: 1, seed: 1 });
  client = new MemoryClient(group);
  await group.begin();
  const [alone] = group.members as [MemoryMember];
  await write('a');
  const { timeline } = alone.postgres.run!.primary!.writer;
  let session: ModelClient | null = null;
  void client.transact(writing('b'), (made) => {
    session = made;
  });
  // PostgreSQL has it on its disk, and it is in no log yet.
  expect(await group.time.passUntil(() => session?.isWaiting === true, 1000)).toBe(true);
  alone.crashMachine();
  await alone.start();
  await group.healthy(30_000);
  expect(await list()).toEqual(['a', 'b']);
  expect(alone.postgres.run!.primary!.writer.timeline).toBe(timeline);
  expect(alone.postgres.disk.state!.role).toMatchObject({ kind: 'primary' });
});

describe('a replica whose data differs', () => {
  /** Somebody changes what is on its disk. */
  function corrupt({ postgres }: MemoryMember): void {
    postgres.die('somebody stopped it');
    const page = postgres.disk.pages.get('k');
    expect(page).toBeDefined();
    postgres.disk.pages.set('k', { ...page!, rows: page!.rows.slice(1) });
  }

  async function until(member: MemoryMember, state: string): Promise<void> {
    expect(await group.time.passUntil(() => member.replica!.status(0).state === state, 30_000)).toBe(true);
  }

  async function verify(repair: boolean): Promise<readonly (readonly [ReplicaId, string])[]> {
    const first = await leader();
    const { admin } = first.replica!;
    const answer = await group.time.until(admin.verify({ repair }));
    if (!answer.ok) throw new Error(answer.error.message);
    return answer.answer.replicas.map(({ replica, outcome }) => [replica, outcome]);
  }

  async function withOneThatDiffers(): Promise<MemoryMember> {
    const first = await leader();
    await write('a');
    const other = othersThan(first)[0]!;
    // Until it is on its disk, and its recovery begins behind it.
    const isOnDisk = (): boolean =>
      other.postgres.disk.pages.has('k') &&
      (other.postgres.disk.control?.redo.redo ?? 0) >= other.postgres.disk.pages.get('k')!.lsn;
    expect(await group.time.passUntil(isOnDisk, 60_000)).toBe(true);
    corrupt(other);
    await until(other, 'serving');
    return other;
  }

  it('is found out, and stays apart until a copy has taken the place of its data', async () => {
    const other = await withOneThatDiffers();
    const outcomes = await verify(false);
    expect(outcomes).toContainEqual([other.id, 'differs']);
    await until(other, 'diverged');
    expect(other.replica!.status(0).message).toMatch(/^at slot .*barista verify --repair/);
    await write('b');
    await group.time.pass(3000);
    expect(other.replica!.status(0).state).toBe('diverged');
    expect(other.postgres.disk.setAside).toBe(0);
    // It is no use to copy from, and knows so after a restart, too.
    await group.time.until(other.stop());
    await other.start();
    await group.healthy(60_000);
    expect(other.postgres.disk.setAside).toBe(1);
    expect(await lists()).toEqual(Array.from({ length: 3 }, () => ['a', 'b']));
  });

  it('is repaired at once if that is asked for', async () => {
    const other = await withOneThatDiffers();
    await verify(true);
    expect(await group.time.passUntil(() => other.postgres.disk.setAside === 1, 30_000)).toBe(true);
    await group.healthy(60_000);
    const equal = await verify(false);
    expect(equal.map(([, outcome]) => outcome)).toEqual(['equal', 'equal', 'equal']);
    expect(await lists()).toEqual([['a'], ['a'], ['a']]);
  });

  it('does not keep the log beyond its bound, and is repaired instead', async () => {
    const other = await withOneThatDiffers();
    await verify(false);
    await until(other, 'diverged');
    await write('b');
    other.logBytesSaid = Number.MAX_SAFE_INTEGER;
    expect(await group.time.passUntil(() => other.postgres.disk.setAside === 1, 30_000)).toBe(true);
    other.logBytesSaid = null;
    await group.healthy(60_000);
    expect(await lists()).toEqual(Array.from({ length: 3 }, () => ['a', 'b']));
    // Once is enough.
    expect(other.postgres.disk.setAside).toBe(1);
  });
});
