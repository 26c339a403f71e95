/** Every end of a PostgreSQL is told, and what became of its directory: who reads the trace knows what can be started there. */
import { expect, it } from 'vitest';
import type { ApplyTraceEvent } from '../api/events.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { DirectoryRole } from '../ports/database-directory.ts';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

type Told = ApplyTraceEvent & { readonly by: ReplicaId };

function toldGroup(seed: number): { readonly group: MemoryGroup; readonly told: Told[] } {
  const told: Told[] = [];
  const onEvent: ConstructorParameters<typeof MemoryGroup>[0]['onEvent'] = (by, event) => {
    if (event.layer === 'apply') told.push({ ...event, by });
  };
  return { group: new MemoryGroup({ replicas: 3, seed, onEvent }), told };
}

it('a leader that stops in order leaves the directory of a standby, and says so', async () => {
  const { group, told } = toldGroup(3);
  await group.begin();
  const leader = group.serving()!;
  await group.time.until(leader.stop());
  const ends = told.filter(
    ({ by, name }) => by === leader.id && (name === 'Depose' || name === 'CheckPrefix'),
  );
  expect(ends).toMatchObject([{ name: 'Depose' }, { name: 'CheckPrefix', outcome: 'standby' }]);
  await group.stop();
});

it('a leader that stops while others cannot choose what it has ends no wait of a commit', async () => {
  const { group } = toldGroup(3);
  await group.begin();
  const leader = group.serving()!;
  const { server } = leader.process!;
  for (const member of group.members) if (member !== leader) member.crash();
  const before = server.endedWaits();
  const client = new MemoryClient(group);
  const end = client.transact({ reads: [], writes: [{ key: 'k', value: 'v' }] });
  const sessions = (): number =>
    [...(leader.postgres.run?.primary?.sessions.values() ?? [])].filter(({ isWaiting }) => isWaiting).length;
  expect(await group.time.passUntil(() => sessions() > 0, 1000)).toBe(true);
  await group.time.until(leader.stop());
  expect(server.endedWaits()).toBe(before);
  for (const member of group.members) await member.start();
  await group.time.until(end);
  await group.healthy(60_000);
  await group.equal();
  await group.stop();
});

it('a leader that stops in order says so once its directory does', async () => {
  const { group, told } = toldGroup(3);
  await group.begin();
  const leader = group.serving()!;
  failOnce(leader, 'standby');
  await group.time.until(leader.stop());
  const ends = told.filter(({ by }) => by === leader.id).map(({ name }) => name);
  expect(ends).toContain('Depose');
  expect(ends).not.toContain('CheckPrefix');
  await group.stop();
});

it('a standby whose promotion does not end is told as down, and its directory as a standby again', async () => {
  const { group, told } = toldGroup(4);
  await group.begin();
  const old = group.serving()!;
  const others = group.members.filter((member) => member !== old);
  for (const { postgres } of others) postgres.promotionHangs = true;
  old.crash();
  const failed = (): Told | undefined =>
    told.find((event) => event.name === 'DatabaseDown' && event.reason.includes('promoted'));
  expect(await group.time.passUntil(() => failed() !== undefined, 60_000)).toBe(true);
  const { by } = failed()!;
  const behind = (): Told[] => told.slice(told.indexOf(failed()!) + 1).filter((event) => event.by === by);
  expect(await group.time.passUntil(() => behind().length > 1, 60_000)).toBe(true);
  expect(behind().slice(0, 2)).toMatchObject([
    { name: 'CheckPrefix', outcome: 'standby' },
    { name: 'DatabaseUp', role: 'standby' },
  ]);
  for (const { postgres } of others) postgres.promotionHangs = false;
  await old.start();
  await group.healthy(60_000);
  await group.stop();
});

it('a standby whose directory cannot be written is told as down once it is ended; one that was promoted by then is not', async () => {
  const { group, told } = toldGroup(5);
  await group.begin();
  const [old, standby] = [group.serving()!, group.members.find((member) => member !== group.serving())!];
  failOnce(standby, 'standby');
  const ofStandby = (): Told[] => told.filter(({ by }) => by === standby.id);
  expect(
    await group.time.passUntil(() => ofStandby().some(({ name }) => name === 'DatabaseDown'), 60_000),
  ).toBe(true);
  const next = ofStandby().slice(ofStandby().findIndex(({ name }) => name === 'DatabaseDown') + 1);
  expect(next.map(({ name }) => name)).not.toContain('Replay');
  await group.healthy(60_000);

  for (const member of group.members) failOnce(member, 'primary');
  old.crash();
  const promoted = (): Told | undefined => told.find(({ name }) => name === 'Promote');
  expect(await group.time.passUntil(() => promoted() !== undefined, 60_000)).toBe(true);
  const behind = (): Told[] =>
    told.slice(told.indexOf(promoted()!) + 1).filter(({ by }) => by === promoted()!.by);
  expect(await group.time.passUntil(() => behind().some(({ name }) => name === 'CheckPrefix'), 60_000)).toBe(
    true,
  );
  expect(behind().map(({ name }) => name)).not.toContain('DatabaseDown');
  await old.start();
  await group.healthy(60_000);
  await group.stop();
});

/** The next time that it is to say that it is this. */
function failOnce(member: MemoryMember, kind: DirectoryRole['kind']): void {
  const { directory } = member.process!;
  const write = directory.write.bind(directory);
  directory.write = (state) => {
    if (state.role.kind !== kind) return write(state);
    directory.write = write;
    return Promise.reject(new Error('the disk does not take it'));
  };
}
