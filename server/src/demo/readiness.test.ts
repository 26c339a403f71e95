import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ClusterReplica, ReplicaStatus } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { lastWords, readyMsMax, untilServing } from './readiness.ts';

let replicas: ClusterReplica[];
let said: string[];

beforeEach(() => {
  vi.useFakeTimers();
  said = [];
});
afterEach(() => vi.useRealTimers());

function replicaOf(id: string, changes: Partial<ReplicaStatus>, ageMs = 10): ClusterReplica {
  const member = { id, replica: id, incarnation: 1, role: 'voter' };
  const membership = { members: [member] };
  const status = { id, incarnation: 1, state: 'starting', message: null, membership, ...changes };
  return { id: id as ReplicaId, process: 'running', status: status as unknown as ReplicaStatus, ageMs };
}
const serving = (id: string, ageMs?: number): ClusterReplica => replicaOf(id, { state: 'serving' }, ageMs);

/** What became of it, once it is known. */
function wait(signal?: AbortSignal): { outcome: string | null } {
  const wanted: { outcome: string | null } = { outcome: null };
  untilServing(
    {
      cluster: () => replicas,
      whyStopped: (id) => Promise.resolve(`${id} has ended`),
      logFileOf: (id) => `/data/${id}.log`,
      nowMs: () => performance.now(),
      say: (line) => said.push(line),
    },
    signal,
  ).then(
    () => (wanted.outcome = 'ready'),
    (error: unknown) => (wanted.outcome = (error as Error).message),
  );
  return wanted;
}

it('a cluster is ready when all of it serves and votes, and nothing is said of a quick one', async () => {
  const learner = { members: [{ id: 'r2', replica: 'r2', incarnation: 1, role: 'learner' }] };
  replicas = [serving('r1'), replicaOf('r2', { state: 'serving', membership: learner as never })];
  const waiting = wait();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(waiting.outcome).toBeNull();
  replicas = [serving('r1'), serving('r2')];
  await vi.advanceTimersByTimeAsync(100);
  expect(waiting.outcome).toBe('ready');
  expect(said).toEqual([]);
});

it('where nothing is replicated one is enough, and the others have started', async () => {
  const protocol = { name: 'primary', replication: 'none' } as never;
  const alone = (id: string): ClusterReplica => replicaOf(id, { state: 'noLeader', protocol });
  const wanted = [alone('r1'), alone('r2'), replicaOf('r3', { protocol })];
  replicas = wanted;
  const waiting = wait();
  await vi.advanceTimersByTimeAsync(1000);
  replicas = [serving('r1'), ...wanted.slice(1)];
  await vi.advanceTimersByTimeAsync(1000);
  expect(waiting.outcome).toBeNull();
  replicas = [serving('r1'), alone('r2'), alone('r3')];
  await vi.advanceTimersByTimeAsync(100);
  expect(waiting.outcome).toBe('ready');
});

it('a disk may take its time, and people hear what it is used for', async () => {
  replicas = [
    replicaOf('r1', { message: 'A new database is being created.' }),
    { id: 'r2' as ReplicaId, process: 'running', status: null, ageMs: null },
  ];
  const waiting = wait();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(waiting.outcome).toBeNull();
  expect(said.length).toBe(6);
  expect(said[0]).toBe(
    'Not ready after 15 s:\n  r1: A new database is being created.\n  r2: has not answered yet',
  );
  replicas = [serving('r1'), serving('r2')];
  await vi.advanceTimersByTimeAsync(100);
  expect(waiting.outcome).toBe('ready');
});

it('waiting ends, with what is missing and where more is to be read', async () => {
  replicas = [replicaOf('r1', {}), serving('r2', 9000), serving('r3')];
  const waiting = wait();
  await vi.advanceTimersByTimeAsync(readyMsMax + 200);
  expect(waiting.outcome).toBe(
    'The cluster does not serve.\n  r1: starting\n  r2: has not answered for 9 s\nMore is in /data/r1.log, /data/r2.log.',
  );
});

it('a cluster with a majority can be used', async () => {
  replicas = [
    replicaOf('r1', { state: 'logCorrupt', message: 'The log is damaged.' }),
    serving('r2'),
    serving('r3'),
  ];
  const waiting = wait();
  await vi.advanceTimersByTimeAsync(100);
  expect(waiting.outcome).toBe('ready');
  expect(said).toEqual(['The cluster serves, but not every replica does:\n  r1: The log is damaged.']);
});

it('a replica that ends, or Ctrl-C, ends the waiting', async () => {
  replicas = [{ ...serving('r1'), process: 'stopped' }, replicaOf('r2', {})];
  const ended = wait();
  await vi.advanceTimersByTimeAsync(100);
  expect(ended.outcome).toBe('r1 has ended');
  replicas = [replicaOf('r1', {})];
  const end = new AbortController();
  const interrupted = wait(end.signal);
  await vi.advanceTimersByTimeAsync(1000);
  end.abort(new Error('interrupted'));
  await vi.advanceTimersByTimeAsync(100);
  expect(interrupted.outcome).toBe('interrupted');
});

it('replicas that are no members any more are missed by nobody, however many they are', async () => {
  const removed = (id: string): ClusterReplica => replicaOf(id, { state: 'removed' });
  replicas = [serving('r1'), removed('r2'), serving('r3'), removed('r4')];
  const waiting = wait();
  await vi.advanceTimersByTimeAsync(1000);
  expect(waiting.outcome).toBe('ready');
  expect(said.join()).toContain('r2: is no member any more: remove it in the operator’s view');
  replicas = [serving('r1'), removed('r2'), replicaOf('r3', { state: 'logCorrupt' })];
  const inVain = wait();
  await vi.advanceTimersByTimeAsync(1000);
  expect(inVain.outcome).toMatch(/The cluster does not serve/);
  replicas = [removed('r2')];
  const nobody = wait();
  await vi.advanceTimersByTimeAsync(1000);
  expect(nobody.outcome).toMatch(/The cluster does not serve/);
});

it('of a log that has ended what tells of trouble is shown, or its end', () => {
  const told = '{"level":30,"msg":"peer"}';
  const fatal = '{"level":60,"msg":"failed"}';
  const trace = '    at serve (serve.js:1:1)';
  expect(lastWords(`${fatal}\n${trace}\n${told}\n${told}\n`)).toBe(`${fatal}\n${trace}`);
  expect(lastWords(`${told}\n`.repeat(19))).toBe(Array(12).fill(told).join('\n'));
});
