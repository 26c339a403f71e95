import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../adapters/system-clock.ts';
import type { ReplicaId } from '../../multipaxos/types.ts';
import type { Lsn } from '../../payload/wal/lsn.ts';
import type { Service } from '../../ports/client-service.ts';
import { AnswerGate } from './answer-gate.ts';
import type { Outcomes } from './outcomes.ts';
import { ReplicaService } from './service.ts';

const ballot = (round: number) => ({ round, replica: 'r1' as ReplicaId });
const r2 = 'r2' as ReplicaId;

function setUp() {
  let barriers = 0;
  const looks: { find: (what: readonly string[]) => void; fail: () => void }[] = [];
  const gate = new AnswerGate({
    leaseHeld: () => true,
    server: { isAlive: () => true, endedWaits: () => 0 },
    barrier: () => {
      barriers += 1;
      return Promise.resolve();
    },
    chosenEnd: () => 0 as Lsn,
    onEvent: () => {},
    timers: systemClock,
    leasePollMs: 1,
  });
  const service = new ReplicaService({
    id: 'r1' as ReplicaId,
    pgwireOf: (replica) => (replica === r2 ? { host: 'db2', port: 7432 } : null),
    gate,
    outcomes: {} as Outcomes,
    socketPath: () => '/tmp/socket',
    reservedUsers: ['postgres'],
    primary: () => null,
    installRequests: () => Promise.resolve(),
    weakenedCommits: () =>
      new Promise((resolve, reject) => {
        looks.push({ find: resolve, fail: () => reject(new Error('away')) });
      }),
    logger: pino({ level: 'silent' }),
  });
  const told: Service[] = [];
  service.onServiceChange((now) => told.push(now));
  const generation = (): number => {
    const now = service.service();
    if (now.kind !== 'here') throw new Error('it does not serve');
    return now.generation;
  };
  return { service, told, looks, generation, barriers: () => barriers };
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

describe('the service of a replica', () => {
  it('is told when it changes, and has a new generation for each leadership', () => {
    const { service, told, generation } = setUp();
    service.serveHere(ballot(1));
    const first = generation();
    expect(service.leadership(first)).toEqual(ballot(1));
    service.serveElsewhere(r2, 'r2 leads');
    expect(service.leadership(first)).toBeNull();
    expect(service.door()).toBeNull();
    service.serveElsewhere(r2, 'r2 leads');
    service.serveElsewhere(null, 'nobody leads');
    service.serveHere(ballot(3));
    expect(generation()).not.toBe(first);
    expect(told.map(({ kind }) => kind)).toEqual(['here', 'at', 'nowhere', 'here']);
    expect(service.mayAnswer(first)).toBe(false);
  });

  it('lets answers leave only behind barriers until nothing is found that turns the waiting of commits off', async () => {
    const { service, looks, generation, barriers } = setUp();
    service.serveHere(ballot(1));
    expect(await service.awaitAnswer(generation())).toBe(true);
    expect(await service.awaitAnswer(generation())).toBe(true);
    expect([service.mayAnswer(generation()), barriers()]).toEqual([false, 2]);
    looks[0]!.find([]);
    await settle();
    expect(service.mayAnswer(generation())).toBe(true);
  });

  it.each([
    (look: ReturnType<typeof setUp>['looks'][number]) => look.find(['role app']),
    (look: ReturnType<typeof setUp>['looks'][number]) => look.fail(),
  ])('goes on so where something is found, or it cannot be known, in that generation: %#', async (answer) => {
    const { service, looks, generation } = setUp();
    service.serveHere(ballot(1));
    answer(looks[0]!);
    await settle();
    expect(await service.awaitAnswer(generation())).toBe(true);
    expect(service.mayAnswer(generation())).toBe(false);
    service.serveElsewhere(null, 'nobody leads');
    service.serveHere(ballot(2));
    looks[1]!.find([]);
    expect(await service.awaitAnswer(generation())).toBe(true);
    await settle();
    expect(service.mayAnswer(generation())).toBe(true);
  });

  it('takes nothing from a look of a generation that has ended', async () => {
    const { service, looks, generation } = setUp();
    service.serveHere(ballot(1));
    service.serveElsewhere(null, 'nobody leads');
    service.serveHere(ballot(2));
    expect(await service.awaitAnswer(generation())).toBe(true);
    looks[0]!.find([]);
    await settle();
    expect(service.mayAnswer(generation())).toBe(false);
  });
});
