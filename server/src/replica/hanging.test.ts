/** A PostgreSQL that hangs, though its main process seems to live, while its replica comes to lead: another one leads instead, or the same one with its PostgreSQL started anew. */
import { expect, it } from 'vitest';
import type { TraceEvent } from '../api/events.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { pause } from '../payload/pause.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

interface Hung {
  readonly group: MemoryGroup;
  /** The leader of before, and who comes to lead after it. */
  readonly old: MemoryMember;
  readonly hung: MemoryMember;
  readonly other: MemoryMember;
}

async function begin(onEvent?: (member: ReplicaId, event: TraceEvent) => void): Promise<MemoryGroup> {
  const group = new MemoryGroup({ replicas: 3, seed: 5, ...(onEvent === undefined ? {} : { onEvent }) });
  await group.begin();
  return group;
}

const leads = ({ replica }: MemoryMember): boolean => replica!.status(0).role === 'leader';

/** The leader dies, and one of the others is elected. */
async function elect(group: MemoryGroup): Promise<Hung> {
  const old = group.serving()!;
  const others = group.members.filter((member) => member !== old);
  old.crash();
  expect(await group.time.passUntil(() => others.some(leads), 10_000)).toBe(true);
  const hung = others.find(leads)!;
  return { group, old, hung, other: others.find((member) => member !== hung)! };
}

/** How often it has given up its leadership, or would have, because of its database. */
function stepDowns({ process }: MemoryMember): () => number {
  const { core } = process!.assembled!;
  const input = core.input.bind(core);
  let times = 0;
  core.input = (event) => {
    if (event.kind === 'StepDown') times += 1;
    input(event);
  };
  return () => times;
}

/** What it says of its database whenever that is killed. */
function statesWhenKilled(member: MemoryMember): string[] {
  const states: string[] = [];
  const { server } = member.process!;
  const stop = server.stop.bind(server);
  server.stop = (mode) => {
    if (mode === 'kill') states.push(member.replica!.status(0).state);
    return stop(mode);
  };
  return states;
}

async function expectHandOver({ group, old, hung, other }: Hung): Promise<void> {
  expect(await group.time.passUntil(() => group.serving() === other, 30_000)).toBe(true);
  hung.postgres.promotionHangs = false;
  hung.postgres.goOn();
  await old.start();
  await group.healthy(60_000);
  await group.equal();
  await group.stop();
}

it('another replica leads when the standby of the one that is elected answers nothing', async () => {
  const group = await begin();
  const standbys = group.members.filter((member) => member !== group.serving());
  for (const { postgres } of standbys) postgres.stand('hanging');
  const elected = await elect(group);
  elected.other.postgres.goOn();
  await expectHandOver(elected);
});

it('another replica leads when a promotion does not come to an end', async () => {
  const group = await begin();
  for (const { postgres } of group.members) postgres.promotionHangs = true;
  const elected = await elect(group);
  elected.old.postgres.promotionHangs = false;
  elected.other.postgres.promotionHangs = false;
  const states = statesWhenKilled(elected.hung);
  await expectHandOver(elected);
  expect(states).toEqual(['databaseDown']);
});

it('a promotion that its leadership does not outlive is nothing that is wrong with the database', async () => {
  const group = await begin();
  for (const { postgres } of group.members) postgres.promotionHangs = true;
  const { old, hung, other } = await elect(group);
  const isPromoting = (): boolean =>
    hung.process!.assembled!.payload.durableState().role.kind === 'promoting';
  expect(await group.time.passUntil(isPromoting, 10_000)).toBe(true);
  const states = statesWhenKilled(hung);
  const given = stepDowns(hung);
  other.crash();
  expect(await group.time.passUntil(() => states.length > 0, 20_000)).toBe(true);
  expect([given(), leads(hung)]).toEqual([0, false]);
  for (const { postgres } of group.members) postgres.promotionHangs = false;
  await old.start();
  await other.start();
  await group.healthy(60_000);
  await group.equal();
  await group.stop();
});

it('a standby that replays for long what it has already is waited for', async () => {
  const group = new MemoryGroup({ replicas: 1, seed: 5 });
  await group.begin();
  const [only] = group.members;
  only!.crashMachine();
  await only!.start();
  const { server, timers } = only!.process!;
  const start = server.startStandby.bind(server);
  let isThrough = false;
  server.startStandby = async (source, handlers, ended) => {
    const standby = await start(
      source,
      { ...handlers, onReport: (report) => (isThrough ? handlers.onReport(report) : undefined) },
      ended,
    );
    timers.after(20_000, () => {
      isThrough = true;
    });
    const look: typeof standby.look = (givenUp) =>
      isThrough ? standby.look(givenUp) : Promise.reject(new Error('the database system is starting up'));
    return { ...standby, ask: () => standby.ask(), look };
  };
  const given = stepDowns(only!);
  expect(await group.time.passUntil(() => group.serving() === only, 40_000)).toBe(true);
  expect([isThrough, given()]).toEqual([true, 0]);
  await group.stop();
});

it('a primary that is started again, and never lets anybody in, is given up with the leadership', async () => {
  const group = await begin();
  const leader = group.serving()!;
  const others = group.members.filter((member) => member !== leader);
  for (const other of others) other.crash();
  const { server, timers } = leader.process!;
  const [start, stop] = [server.startPrimary.bind(server), server.stop.bind(server)];
  // What PostgreSQL writes after its replica has stopped leading is in no log: it is to lead again with that.
  server.stop = (mode) => pause(timers, 500).then(() => stop(mode));
  const client = await group.time.until(server.connect());
  await group.time.until(client.ask({ kind: 'mode', mode: 'local' }));
  expect(await group.time.passUntil(() => !leads(leader), 20_000)).toBe(true);
  await group.time.until(client.ask({ kind: 'append', key: 'k', value: 'unchosen' }));
  await group.time.until(client.ask({ kind: 'commit' }));
  let starts = 0;
  server.startPrimary = (ended) => {
    starts += 1;
    if (starts > 1) return start(ended);
    return new Promise((_, reject) => {
      ended.addEventListener('abort', () => reject(ended.reason as Error));
    });
  };
  expect(await group.time.passUntil(() => leader.postgres.run === null, 20_000)).toBe(true);
  for (const other of others) {
    other.lose('database');
    await other.start();
  }
  expect(await group.time.passUntil(() => starts === 1, 60_000)).toBe(true);
  // Nobody hears it any more.
  for (const other of others) other.crash();
  expect(await group.time.passUntil(() => !leads(leader), 20_000)).toBe(true);
  for (const other of others) await other.start();
  expect(await group.time.passUntil(() => group.serving() === leader, 60_000)).toBe(true);
  expect(starts).toBe(2);
  await group.healthy(60_000);
  await group.equal();
  await group.stop();
});

it('a primary that hangs before it lets anybody in is ended, and started once more', async () => {
  const group = await begin();
  const leader = group.serving()!;
  const others = group.members.filter((member) => member !== leader);
  for (const other of others) other.crash();
  const { server, timers } = leader.process!;
  const [start, stop] = [server.startPrimary.bind(server), server.stop.bind(server)];
  // What PostgreSQL writes after its replica has stopped leading is in no log: it is to lead again with that.
  server.stop = (mode) => pause(timers, 500).then(() => stop(mode));
  const client = await group.time.until(server.connect());
  await group.time.until(client.ask({ kind: 'mode', mode: 'local' }));
  expect(await group.time.passUntil(() => !leads(leader), 20_000)).toBe(true);
  await group.time.until(client.ask({ kind: 'append', key: 'k', value: 'unchosen' }));
  await group.time.until(client.ask({ kind: 'commit' }));
  let starts = 0;
  server.startPrimary = (ended) => {
    starts += 1;
    return start(ended);
  };
  expect(await group.time.passUntil(() => leader.postgres.run === null, 20_000)).toBe(true);
  for (const other of others) {
    other.lose('database');
    await other.start();
  }
  expect(await group.time.passUntil(() => starts === 1 && leader.postgres.run !== null, 60_000)).toBe(true);
  leader.postgres.stand('hanging');
  expect(await group.time.passUntil(() => group.serving() === leader, 40_000)).toBe(true);
  expect(starts).toBe(2);
  await group.healthy(60_000);
  await group.equal();
  await group.stop();
});

it('a standby that hangs before its first report is ended, and started once more', async () => {
  const group = new MemoryGroup({ replicas: 1, seed: 5 });
  await group.begin();
  const [only] = group.members;
  only!.crashMachine();
  await only!.start();
  expect(await group.time.passUntil(() => only!.postgres.run !== null, 20_000)).toBe(true);
  only!.postgres.stand('hanging');
  const given = stepDowns(only!);
  expect(await group.time.passUntil(() => group.serving() === only, 40_000)).toBe(true);
  expect(given()).toBeGreaterThan(0);
  await group.stop();
});

it('another replica leads when a new primary does not send its WAL', async () => {
  const hung: ReplicaId[] = [];
  const group = await begin((id, { name }) => {
    if (name !== 'Promote' || hung.length > 0 || group.serving() !== null) return;
    hung.push(id);
    group.member(id).postgres.stand('hanging');
  });
  const elected = await elect(group);
  await expectHandOver(elected);
  expect(hung).toEqual([elected.hung.id]);
});

it('a primary that is started again, and answers nothing, is started once more', async () => {
  const group = await begin();
  const leader = group.serving()!;
  const others = group.members.filter((member) => member !== leader);
  for (const other of others) other.crash();
  const { server, timers } = leader.process!;
  const [start, stop] = [server.startPrimary.bind(server), server.stop.bind(server)];
  // What PostgreSQL writes after its replica has stopped leading is in no log: it is to lead again with that.
  server.stop = (mode) => pause(timers, 500).then(() => stop(mode));
  const client = await group.time.until(server.connect());
  await group.time.until(client.ask({ kind: 'mode', mode: 'local' }));
  expect(await group.time.passUntil(() => !leads(leader), 20_000)).toBe(true);
  await group.time.until(client.ask({ kind: 'append', key: 'k', value: 'unchosen' }));
  await group.time.until(client.ask({ kind: 'commit' }));
  let starts = 0;
  server.startPrimary = async (ended) => {
    const primary = await start(ended);
    starts += 1;
    if (starts === 1) leader.postgres.stand('hanging');
    return primary;
  };
  expect(await group.time.passUntil(() => leader.postgres.run === null, 20_000)).toBe(true);
  // Nobody else can lead.
  for (const other of others) {
    other.lose('database');
    await other.start();
  }
  expect(await group.time.passUntil(() => group.serving() === leader, 60_000)).toBe(true);
  expect(starts).toBe(2);
  await group.healthy(60_000);
  await group.equal();
  await group.stop();
});
