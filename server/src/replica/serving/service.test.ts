import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Ballot, ReplicaId } from '../../multipaxos/types/names.ts';
import type { Service } from '../../ports/client-service.ts';
import type { CommitsLook } from '../../ports/commits-look.ts';
import type { PrimaryDatabase } from '../../ports/database-server.ts';
import type { StandbyReads } from '../../ports/standby-reads.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { AnswerGate } from './answer-gate.ts';
import type { Outcomes } from './outcomes.ts';
import { ReplicaService } from './service.ts';

const ballot = (round: number) => ({ round, replica: 'r1' as ReplicaId });
const r2 = 'r2' as ReplicaId;

/** Each of its backends has a transaction open. */
const primary = {
  openTransactions: (pids: readonly number[]) => Promise.resolve(new Map(pids.map((pid) => [pid, 700n]))),
} as unknown as PrimaryDatabase;

function setUp({ patienceMs = 10_000 } = {}) {
  const time = new SimulatedTime();
  const settle = (): Promise<void> => time.pass(5);
  let barriers = 0;
  const world = { holdsBarriers: false, isAway: false, standby: false, isCurrent: true };
  const reads = {
    standby: () => (world.standby ? { life: 7 } : null),
    awaitCurrent: (life: number) =>
      Promise.resolve({ code: life === 7 && world.isCurrent ? 'current' : 'noAnswer' }),
  } as unknown as StandbyReads;
  const held: (() => void)[] = [];
  const looks: { isServed: boolean; tell: (look: CommitsLook) => void; fail: () => void }[] = [];
  let lookers = 0;
  const begun: (readonly [number, number])[] = [];
  const gate = new AnswerGate({
    leaseHeld: () => true,
    told: { leaves: () => {}, refused: () => {} },
    server: { isAlive: () => true, endedWaits: () => 0 },
    barrier: () => {
      barriers += 1;
      return world.holdsBarriers ? new Promise((resolve) => held.push(resolve)) : Promise.resolve();
    },
    position: () => null,
    onEvent: () => {},
    timers: time,
    leasePollMs: 1,
  });
  const service = new ReplicaService({
    id: 'r1' as ReplicaId,
    pgwireOf: (replica) => (replica === r2 ? { host: 'db2', port: 7432 } : null),
    gate,
    onBegins: (generation, { round }) => begun.push([generation, round]),
    outcomes: {} as Outcomes,
    reads: () => reads,
    socketPath: () => '/tmp/socket',
    reservedUsers: ['postgres'],
    findLogin: () => Promise.reject(new Error('nobody is asked')),
    lookAtLeft: () => Promise.resolve({ ended: 0, living: [] }),
    lookAtFunctions: (database, known) => {
      if (world.isAway) return Promise.reject(new Error('away'));
      return Promise.resolve({ mark: `${database} ${known}`, functions: [], unnamedTells: false });
    },
    primary: () => primary,
    installRequests: () => Promise.resolve(),
    lookAtCommits: () => {
      lookers += 1;
      return (isServed) =>
        new Promise((resolve, reject) => {
          looks.push({ isServed, tell: resolve, fail: () => reject(new Error('away')) });
        });
    },
    looks: { timers: time, patienceMs, retryMs: 1, againMs: 1, logger: pino({ level: 'silent' }) },
  });
  const told: Service[] = [];
  service.onServiceChange((now) => told.push(now));
  const generation = (): number => {
    const now = service.service();
    if (now.kind !== 'here') throw new Error('it does not serve');
    return now.generation;
  };
  const servesUnder = async (leadership: Ballot): Promise<number> => {
    service.serveHere(leadership);
    looks.at(-1)!.tell({ code: 'clean' });
    await settle();
    return generation();
  };
  return {
    time,
    settle,
    service,
    told,
    begun,
    looks,
    lookers: () => lookers,
    generation,
    servesUnder,
    world,
    held,
    barriers: () => barriers,
  };
}

describe('the service of a replica', () => {
  it('is told when it changes, and has a new generation for each leadership', async () => {
    const { settle, service, told, begun, looks, generation } = setUp();
    service.serveHere(ballot(1));
    looks[0]!.tell({ code: 'clean' });
    await settle();
    const first = generation();
    expect(begun).toEqual([[first, 1]]);
    expect(service.leadership(first)).toEqual(ballot(1));
    service.serveElsewhere(r2, 'r2 leads');
    expect(service.leadership(first)).toBeNull();
    expect(service.door()).toBeNull();
    service.serveElsewhere(r2, 'r2 leads');
    service.serveElsewhere(null, 'nobody leads');
    service.serveHere(ballot(3));
    looks[1]!.tell({ code: 'clean' });
    await settle();
    expect(generation()).not.toBe(first);
    expect(told.map(({ kind }) => kind)).toEqual(['here', 'at', 'nowhere', 'here']);
    expect(service.mayAnswer(first)).toBe(false);
  });

  it('gives nothing to whoever shows an earlier generation, though it serves again and its answers may leave', async () => {
    const { service, servesUnder } = setUp();
    const earlier = await servesUnder(ballot(1));
    service.serveElsewhere(r2, 'r2 leads');
    const now = await servesUnder(ballot(3));
    const givenTo = async (generation: number) => ({
      answer: [await service.awaitAnswer(generation), service.mayAnswer(generation)],
      barrier: await service.barrier(generation),
      open: [...(await service.openTransactions([7], generation))],
      leadership: service.leadership(generation),
    });
    expect(await givenTo(now)).toEqual({
      answer: [true, true],
      barrier: true,
      open: [[7, { leadership: ballot(3), xid: 700n }]],
      leadership: ballot(3),
    });
    expect(await givenTo(earlier)).toEqual({
      answer: [false, false],
      barrier: false,
      open: [],
      leadership: null,
    });
  });

  it('has no barrier for a generation that ended before it was passed', async () => {
    const { settle, service, servesUnder, world, held } = setUp();
    const earlier = await servesUnder(ballot(1));
    world.holdsBarriers = true;
    const [ends, goesOn] = [service.barrier(earlier), service.barrier(earlier)];
    held[0]!();
    expect(await ends).toBe(true);
    await settle();
    service.serveElsewhere(r2, 'r2 leads');
    await servesUnder(ballot(3));
    held[1]!();
    expect(await goesOn).toBe(false);
  });

  it('looks for what turns the waiting of commits off before anybody is served, and again where that fails', async () => {
    const { settle, service, looks, lookers, generation, barriers } = setUp();
    service.serveHere(ballot(1));
    for (const n of [0, 1]) {
      looks[n]!.fail();
      await settle();
      expect(looks.length).toBe(n + 2);
      expect(service.service().kind).toBe('nowhere');
    }
    looks[2]!.tell({ code: 'clean' });
    await settle();
    expect(await service.awaitAnswer(generation())).toBe(true);
    expect([service.mayAnswer(generation()), barriers(), lookers()]).toEqual([true, 1, 1]);
    expect(looks.map(({ isServed }) => isServed)).toEqual([false, false, false]);
  });

  it.each(['hangs', 'fails'])(
    'serves without having found out anything where that %s for too long: then answers leave only behind barriers',
    async (how) => {
      const { time, settle, service, looks, generation, barriers } = setUp({ patienceMs: 30 });
      service.serveHere(ballot(1));
      const stopFailing = time.every(1, () => {
        if (how === 'fails') looks.at(-1)!.fail();
      });
      await time.pass(29);
      expect(service.service().kind).toBe('nowhere');
      expect(await time.passUntil(() => service.service().kind === 'here', 10)).toBe(true);
      stopFailing();
      expect(await service.awaitAnswer(generation())).toBe(true);
      expect(await service.awaitAnswer(generation())).toBe(true);
      expect([service.mayAnswer(generation()), barriers()]).toEqual([false, 2]);
      await settle();
      expect(looks.at(-1)!.isServed).toBe(true);
      // What the first ones find out now counts for nothing: somebody may have taken it back since.
      for (const { isServed, tell } of looks) if (!isServed) tell({ code: 'clean' });
      await settle();
      expect(service.mayAnswer(generation())).toBe(false);
      looks.at(-1)!.tell({ code: 'clean' });
      await settle();
      expect(service.mayAnswer(generation())).toBe(true);
    },
  );

  it('lets answers leave only behind barriers where something is found, in that generation', async () => {
    const { settle, service, looks, generation } = setUp();
    service.serveHere(ballot(1));
    looks[0]!.tell({ code: 'weakened', found: ['role app'] });
    await settle();
    expect(looks).toHaveLength(1);
    expect(await service.awaitAnswer(generation())).toBe(true);
    expect(service.mayAnswer(generation())).toBe(false);
    service.serveElsewhere(null, 'nobody leads');
    service.serveHere(ballot(2));
    looks[1]!.tell({ code: 'clean' });
    await settle();
    expect(await service.awaitAnswer(generation())).toBe(true);
    expect(service.mayAnswer(generation())).toBe(true);
  });

  it('serves at once where it cannot be known, looks again, and trusts when all is clear', async () => {
    const { settle, service, looks, lookers, generation } = setUp();
    service.serveHere(ballot(1));
    for (const n of [0, 1, 2]) {
      looks[n]!.tell({ code: 'unclear', reason: 'prepared' });
      await settle();
      expect(looks.length).toBe(n + 2);
      expect(await service.awaitAnswer(generation())).toBe(true);
      expect(service.mayAnswer(generation())).toBe(false);
    }
    looks[3]!.tell({ code: 'clean' });
    await settle();
    expect([service.mayAnswer(generation()), looks.length, lookers()]).toEqual([true, 4, 1]);
    expect(looks.map(({ isServed }) => isServed)).toEqual([false, true, true, true]);
  });

  it('looks as soon as it may, and then need not be waited for', async () => {
    const { settle, service, told, looks, generation } = setUp();
    service.lookAhead(ballot(1));
    expect(looks).toHaveLength(1);
    looks[0]!.tell({ code: 'clean' });
    await settle();
    expect([service.service().kind, service.servedUnder]).toEqual(['nowhere', null]);
    service.serveHere(ballot(1));
    await settle();
    expect(await service.awaitAnswer(generation())).toBe(true);
    expect([service.mayAnswer(generation()), looks.length, told.length]).toEqual([true, 1, 1]);
  });

  it('is waited for by clients only from when it could serve: a look that takes long until then may tell all the same', async () => {
    const { time, settle, service, looks, generation } = setUp({ patienceMs: 30 });
    service.lookAhead(ballot(1));
    await time.pass(100);
    service.serveHere(ballot(1));
    await time.pass(20);
    expect(service.service().kind).toBe('nowhere');
    looks[0]!.tell({ code: 'clean' });
    await settle();
    expect(await service.awaitAnswer(generation())).toBe(true);
    expect(service.mayAnswer(generation())).toBe(true);
  });

  it.each([
    ['another leadership', () => undefined, 2],
    [
      'one that was lost and is another by now',
      (service: ReplicaService) => service.serveElsewhere(r2, 'r2 leads'),
      1,
    ],
  ])('takes nothing from a look ahead of %s', async (_which, meanwhile, round) => {
    const { settle, service, looks } = setUp();
    service.lookAhead(ballot(1));
    looks[0]!.tell({ code: 'clean' });
    await settle();
    meanwhile(service);
    service.serveHere(ballot(round));
    await settle();
    expect(looks).toHaveLength(2);
    expect(service.service().kind).not.toBe('here');
    looks[1]!.tell({ code: 'weakened', found: ['role app'] });
    await settle();
    const now = service.service();
    expect(now.kind).toBe('here');
    expect('generation' in now && service.mayAnswer(now.generation)).toBe(false);
  });

  it('does not look again for a generation that has ended, nor serve in it', async () => {
    const { settle, service, looks, lookers, told } = setUp();
    service.serveHere(ballot(1));
    looks[0]!.fail();
    service.serveElsewhere(null, 'nobody leads');
    await settle();
    expect(looks).toHaveLength(1);
    service.serveHere(ballot(2));
    looks[1]!.tell({ code: 'unclear', reason: 'prepared' });
    service.serveElsewhere(null, 'nobody leads');
    await settle();
    expect([looks.length, lookers(), told.map(({ kind }) => kind)]).toEqual([2, 2, ['nowhere', 'nowhere']]);
  });

  it('takes nothing from a look of a generation that has ended', async () => {
    const { settle, service, looks, generation } = setUp();
    service.serveHere(ballot(1));
    service.serveElsewhere(null, 'nobody leads');
    service.serveHere(ballot(2));
    looks[0]!.tell({ code: 'clean' });
    await settle();
    expect(service.service().kind).toBe('nowhere');
    looks[1]!.tell({ code: 'unclear', reason: 'prepared' });
    await settle();
    expect(await service.awaitAnswer(generation())).toBe(true);
    expect(service.mayAnswer(generation())).toBe(false);
  });
});

describe('the functions of clients are looked at', () => {
  it('where everybody is served, and at a standby that has what all know', async () => {
    const { service, servesUnder, world } = setUp();
    const found = async () => (await service.lookAtFunctions('app', 'known', 5)) !== null;
    expect(await found()).toBe(false);
    await servesUnder(ballot(1));
    expect(await service.lookAtFunctions('app', 'known', 5)).toMatchObject({ mark: 'app known' });
    // For those who are to go on elsewhere.
    service.drain('it hands over');
    expect(await found()).toBe(true);
    service.serveElsewhere(r2, 'r2 leads');
    expect(await found()).toBe(false);
    world.standby = true;
    expect(await found()).toBe(true);
    world.isCurrent = false;
    expect(await found()).toBe(false);
    world.isCurrent = true;
    world.isAway = true;
    expect(await found()).toBe(false);
  });
});
