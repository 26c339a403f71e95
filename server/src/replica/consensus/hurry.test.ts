/** When a replica's core is given a Tick that is not the next one. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createMemoryDisk, createMemoryLog } from '../../adapters/memory-log/memory-log.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import type { Message } from '../../multipaxos/types/messages.ts';
import type { GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { foundedBy } from '../testing/configurations.ts';
import { CoreHost, type CoreListener } from './core-host.ts';

const group = 'g' as GroupId;
const [r1, r2, r3] = ['r1', 'r2', 'r3'] as [ReplicaId, ReplicaId, ReplicaId];
/** So long that no regular one comes in these tests. */
const tickMs = 1_000_000;
const leaseMs = 700;

let time: SimulatedTime;
let host: CoreHost;
let hear: (from: ReplicaId, message: Message) => void;
let say: (replica: ReplicaId) => void;
let askedAtMs: number[];
let draw: number;
/** By how much what was asked for comes too soon, as the system's timers may. */
let earlyMs: number;
let onAsked: () => void;

const heartbeat: Message = {
  kind: 'Heartbeat',
  group,
  ballot: { round: 1, replica: r2 },
  sentAtMs: 1,
  commitPoint: 0 as Slot,
  globalApplicationPointer: 0 as Slot,
  configuration: foundedBy([r1, r2, r3]),
};

const nothing = (): void => undefined;
const listener: CoreListener = {
  chosen: nothing,
  proposal: nothing,
  leadership: nothing,
  configuration: nothing,
  reconfigured: nothing,
  handOver: nothing,
  disbelieved: nothing,
  trace: nothing,
  traceLease: nothing,
  logIdle: nothing,
  leaderNote: () => null,
  leaderNoted: nothing,
  pace: () => null,
  answered: nothing,
  logTrouble: nothing,
  purgedByPeer: nothing,
  purged: nothing,
  fatal: (error) => {
    throw error;
  },
};

beforeEach(async () => {
  time = new SimulatedTime();
  askedAtMs = [];
  draw = 0.5;
  earlyMs = 0;
  onAsked = nothing;
  const configuration = foundedBy([r1, r2, r3]);
  const identity = { cluster: 'c', member: r1 };
  const log = await createMemoryLog(createMemoryDisk(group), {
    identity,
    configuration,
    base: 0 as Slot,
    promised: ballotNone,
  });
  host = new CoreHost({
    config: {
      group,
      id: r1,
      heartbeatMs: 200,
      electionTimeoutMinMs: 1200,
      electionTimeoutMaxMs: 2000,
      leaseMs,
      clockDriftMax: 0.05,
      retransmitMs: 100,
      windowSlotsMax: 64,
      windowBytesMax: 1 << 20,
      acceptBatchBytesMax: 1 << 16,
      catchUpSlotsMax: 64,
      trace: 'none',
    },
    log,
    transport: {
      send: (to, { kind }) => {
        if (kind !== 'PreVote' || to !== r3) return;
        askedAtMs.push(time.nowMs());
        onAsked();
      },
      onMessage: (handler) => {
        hear = handler;
      },
      sendControl: nothing,
      onControl: nothing,
      onGone: (handler) => {
        say = handler;
      },
      become: nothing,
      setPeers: nothing,
      connected: () => [r2, r3],
      versionOf: () => null,
      close: () => Promise.resolve(),
    },
    timers: {
      nowMs: () => time.nowMs(),
      after: (ms, work) => time.after(ms - earlyMs, work),
      every: (ms, work) => time.every(ms, work),
      soon: (work) => time.soon(work),
    },
    random: () => draw,
    tickMs,
    logRetryMs: 5,
    catchUpBytesMax: 1 << 16,
  });
  host.start(listener);
  // Behind the wait of whoever has just started.
  await time.pass(5000);
  hear(r2, heartbeat);
});
afterEach(() => host.stop());

it('the end of the lease is not waited past, however far apart the Ticks are', async () => {
  const heardAtMs = time.nowMs();
  say(r2);
  await time.pass(leaseMs + 100);
  expect(askedAtMs[0]).toBeCloseTo(heardAtMs + leaseMs + 10 + 0.5 * 0.2 * 800, -1);
});

it('asks again, and no longer than a time-out', async () => {
  draw = 0;
  say(r2);
  const before = time.steps;
  await time.pass(20_000);
  const lastMs = (askedAtMs.at(-1) ?? 0) - 5000;
  expect(askedAtMs.length).toBeGreaterThan(50);
  expect(lastMs).toBeLessThanOrEqual(2000 + 10);
  // Each Tick asked: none came in vain but the first, for which the draw of before was taken, and the last.
  expect(time.steps - before).toBeLessThanOrEqual(askedAtMs.length + 10);
});

it('a message of the leader ends it', async () => {
  say(r2);
  await time.pass(500);
  const before = time.steps;
  hear(r2, heartbeat);
  await time.pass(20_000);
  expect(askedAtMs).toEqual([]);
  expect(time.steps).toBe(before);
});

it('who has stopped does nothing any more', async () => {
  say(r2);
  host.stop();
  const before = time.steps;
  say(r2);
  await time.pass(20_000);
  expect(askedAtMs).toEqual([]);
  expect(time.steps).toBe(before);
});

it('many messages ask for one Tick', async () => {
  say(r2);
  const before = time.waiting;
  for (let n = 0; n < 100; n++) say(r2);
  expect(time.waiting).toBe(before);
  await time.pass(leaseMs + 100);
  expect(askedAtMs.length).toBe(1);
});

it('a timer that comes too soon is set once more', async () => {
  earlyMs = 0.4;
  say(r2);
  await time.pass(leaseMs + 100);
  expect(askedAtMs.length).toBe(1);
});

it('who is stopped by what it says sets no timer behind that', async () => {
  onAsked = () => host.stop();
  say(r2);
  await time.pass(leaseMs + 100);
  const before = time.steps;
  await time.pass(20_000);
  expect(askedAtMs.length).toBe(1);
  expect(time.steps).toBe(before);
});
