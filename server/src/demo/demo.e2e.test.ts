/** The demo with real processes, signals and ports, around replicas that have no PostgreSQL (testing/fake-main.ts). */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { ClusterStatus } from '../api/status.ts';
import type { ClusterReport } from './cluster-report.ts';
import { freePorts } from '../adapters/testing/ports.ts';
import { eventually } from '../ports/testing/eventually.ts';

const entry = join(import.meta.dirname, '..', 'main', 'testing', 'fake-main.ts');
const nodeArgs = ['--import', 'tsx', entry];
let dir = '';
let basePort = 0;
let demos: ChildProcess[] = [];

async function prepare(): Promise<void> {
  dir = mkdtempSync(join(tmpdir(), 'barista-demo-'));
  basePort = await freePorts(220);
}
async function cleanUp(): Promise<void> {
  for (const demo of demos) {
    demo.kill('SIGTERM');
    await ended(demo);
  }
  demos = [];
  rmSync(dir, { recursive: true, force: true });
}

const dashboardPort = () => basePort + 200;
const ended = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(child.exitCode);
    else child.once('exit', (code) => resolve(code));
  });

interface Demo {
  readonly child: ChildProcess;
  readonly output: () => string;
}
function startDemo(extra: string[] = [], env: Record<string, string> = {}): Demo {
  const ports = ['--port', String(basePort), '--dashboard-port', String(dashboardPort())];
  const child = spawn(
    process.execPath,
    [...nodeArgs, 'demo', '--data-dir', dir, '--no-dashboard', '--no-load', ...ports, ...extra],
    {
      env: { ...process.env, ...env },
    },
  );
  let text = '';
  child.stdout.on('data', (data: Buffer) => (text += data.toString()));
  child.stderr.on('data', (data: Buffer) => (text += data.toString()));
  demos.push(child);
  return { child, output: () => text };
}
async function readyDemo(extra: string[] = []): Promise<Demo> {
  const demo = startDemo(extra);
  await eventually(() => expect(demo.output()).toContain('Ctrl-C stops all of it'));
  return demo;
}

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
function barista(...words: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [...nodeArgs, ...words], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}
async function report(): Promise<ClusterReport> {
  const response = await fetch(`http://127.0.0.1:${dashboardPort()}/api/report`);
  return (await response.json()) as ClusterReport;
}
async function cluster(): Promise<ClusterStatus> {
  const response = await fetch(`http://127.0.0.1:${dashboardPort()}/api/cluster`);
  return (await response.json()) as ClusterStatus;
}
async function fault(body: unknown): Promise<[number, { error?: { code: string } }]> {
  const response = await fetch(`http://127.0.0.1:${dashboardPort()}/api/fault`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return [response.status, (await response.json()) as { error?: { code: string } }];
}
const states = async () => (await report()).replicas.map((replica) => replica.state);
const processes = async () => (await cluster()).replicas.map((replica) => replica.process);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
/** The replicas and what stands for their PostgreSQL. */
async function pidsOfAll(): Promise<number[]> {
  const { replicas } = await report();
  const pids = replicas.flatMap(({ pid, postgres }) => [pid, postgres.pid]);
  return pids.filter((pid) => pid !== null);
}

describe('a running demo', () => {
  let demo: Demo;
  beforeAll(async () => {
    await prepare();
    demo = await readyDemo();
  });
  afterAll(cleanUp);

  it('says where everything is, and its status has the fixed names', async () => {
    expect(demo.output()).toContain(`psql postgresql://barista:barista@127.0.0.1:${basePort}/barista`);
    expect(demo.output()).toContain(`http://127.0.0.1:${dashboardPort()}`);
    const { code, stdout } = await barista('status', '--json', '--data-dir', dir);
    expect(code).toBe(0);
    const status = JSON.parse(stdout) as ClusterReport;
    expect(status.replicas.map((replica) => replica.id)).toEqual(['r1', 'r2', 'r3']);
    expect(status.replicas[1]).toEqual({
      id: 'r2',
      incarnation: 1,
      member: 'voter',
      recovery: null,
      role: 'follower',
      ballot: { round: 4, replica: 'r2' },
      leader: 'r1',
      commitPoint: 17,
      applicationPointer: 16,
      state: 'serving',
      pgwire: { host: '127.0.0.1', port: basePort + 1 },
      pid: expect.any(Number) as number,
      postgres: { pid: expect.any(Number) as number, socketDir: join(dir, 'r2'), port: 5432 },
      wal: {
        role: 'primary',
        timeline: 2,
        chosen: '0/3000100',
        flushed: '0/3000160',
        replayed: '0/3000160',
        unchosenBytes: 96,
      },
    });
    const table = await barista('status', '--dashboard-port', String(dashboardPort()));
    expect(table.stdout).toMatch(/r1 +1 +voter +leader +serving/);
  });

  it('crashes a replica for good, until it is restarted', async () => {
    const before = (await report()).replicas[0];
    const crashed = await barista('fault', 'crash', 'r1', '--data-dir', dir);
    expect([crashed.code, crashed.stdout]).toEqual([0, expect.stringMatching(/^r1: its process was killed/)]);
    expect(await states()).toEqual(['down', 'serving', 'serving']);
    expect((await report()).replicas[0]).toMatchObject({ role: null, pid: null, pgwire: { port: basePort } });
    expect(isAlive(before?.pid ?? 0)).toBe(false);
    expect(isAlive(before?.postgres.pid ?? 0)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await processes()).toEqual(['stopped', 'running', 'running']);
    process.kill(before?.postgres.pid ?? 0, 'SIGKILL');
    const again = await barista('fault', 'crash', 'r1', '--data-dir', dir);
    expect([again.code, again.stderr]).toEqual([4, 'Refused: r1 is not running\n']);
    await fault({ action: 'restart', replica: 'r1' });
    await eventually(async () => expect(await states()).toEqual(['serving', 'serving', 'serving']));
    expect((await report()).replicas[0]?.pid).not.toBe(before?.pid);
  });

  it('pauses and resumes a replica, and kills a database alone', async () => {
    const third = (await report()).replicas[2];
    await fault({ action: 'pause', replica: 'r3' });
    expect(await processes()).toEqual(['running', 'running', 'paused']);
    expect((await states())[2]).toBe('down');
    expect((await fault({ action: 'pause', replica: 'r3' }))[0]).toBe(409);
    await fault({ action: 'resume', replica: 'r3' });
    await eventually(async () => expect((await states())[2]).toBe('serving'));
    expect(await fault({ action: 'killPostgres', replica: 'r3' })).toMatchObject([200, { ok: true }]);
    expect(isAlive(third?.postgres.pid ?? 0)).toBe(false);
    expect(isAlive(third?.pid ?? 0)).toBe(true);
  });

  it('wipes a disk: everything ends, what was asked for is gone, and it starts again', async () => {
    const [first, second] = (await report()).replicas;
    const marks = ['log', 'postgres'].map((name) => join(dir, 'r2', name, 'mark'));
    const left = () => marks.map((mark) => existsSync(mark));
    const back = async (incarnation: number) => {
      await eventually(async () => {
        expect((await report()).replicas[1]).toMatchObject({ state: 'serving', incarnation });
      });
      for (const mark of marks) writeFileSync(mark, '');
    };
    for (const mark of marks) writeFileSync(mark, '');
    expect((await barista('fault', 'wipe', 'r2', '--database', '--data-dir', dir)).code).toBe(0);
    expect(left()).toEqual([true, false]);
    expect([isAlive(second?.pid ?? 0), isAlive(second?.postgres.pid ?? 0)]).toEqual([false, false]);
    await back(1);
    expect((await barista('fault', 'wipe', 'r2', '--log', '--data-dir', dir)).code).toBe(0);
    expect(left()).toEqual([false, true]);
    await back(2);
    // One that is down already, its database left behind, and twice at once.
    await fault({ action: 'crash', replica: 'r2' });
    const both = { action: 'wipe', replica: 'r2', what: 'both' };
    expect((await Promise.all([fault(both), fault(both)])).map(([status]) => status)).toEqual([200, 200]);
    expect(left()).toEqual([false, false]);
    await eventually(async () => expect(await states()).toEqual(['serving', 'serving', 'serving']));
    expect((await report()).replicas[0]?.pid).toBe(first?.pid);
    expect((await fault({ ...both, what: 'disk' }))[0]).toBe(400);
    expect((await fault({ ...both, replica: 'r9' }))[1].error?.code).toBe('unknownReplica');
  });

  it('passes on what operators ask, and refuses what makes no sense', async () => {
    const post = async (path: string, body: unknown) => {
      const response = await fetch(`http://127.0.0.1:${dashboardPort()}/api/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return [response.status, ((await response.json()) as { error?: { code: string } }).error?.code];
    };
    expect(await post('members', { action: 'add', replica: 'r4' })).toEqual([400, 'badRequest']);
    expect(await post('verify', { repair: 'yes' })).toEqual([400, 'badRequest']);
    const listed = await barista('members', 'list', '--data-dir', dir);
    expect(listed.stdout).toContain('r3       voter  r3');
  });

  it('carries link faults to the replicas, and again to one that was restarted', async () => {
    const faultsOf = async (index: number) => (await cluster()).replicas[index]?.status?.faults;
    const cut = { from: 'r2', to: 'r3', cut: true, delayMs: 0, drop: 0, duplicate: 0 };
    const cutting = await barista('fault', 'cut', 'r2', 'r3', '--data-dir', dir);
    expect([cutting.code, cutting.stdout]).toEqual([0, 'link r2 to r3: cut\n']);
    expect((await barista('fault', 'delay', 'r2', 'r3', '--data-dir', dir)).code).toBe(2);
    expect(await faultsOf(1)).toEqual([cut]);
    const before = (await report()).replicas[1]?.pid;
    await fault({ action: 'restart', replica: 'r2' });
    await eventually(async () => {
      const status = (await cluster()).replicas[1]?.status;
      expect(status?.pid).not.toBe(before);
      expect(status?.faults).toEqual([cut]);
    });
    await fault({ action: 'isolate', replica: 'r1' });
    expect([(await faultsOf(0))?.length, (await faultsOf(1))?.length, (await faultsOf(2))?.length]).toEqual([
      2, 2, 1,
    ]);
    await fault({ action: 'heal' });
    expect([await faultsOf(0), await faultsOf(1), await faultsOf(2)]).toEqual([[], [], []]);
    expect((await fault({ action: 'cut', from: 'r1', to: 'r9' }))[1].error?.code).toBe('badFault');
    expect((await fault({ action: 'crash' }))[0]).toBe(400);
  });

  it('streams the cluster and rates to a page, and nothing to a page of another site', async () => {
    const open = (headers: Record<string, string>) =>
      new WebSocket(`ws://127.0.0.1:${dashboardPort()}/api/stream`, { headers });
    const socket = open({});
    const frames: {
      type: string;
      perReplica?: Record<string, { transactionsPerSecond: number; latencyMsP50: number }>;
    }[] = [];
    socket.on('message', (data) =>
      frames.push(JSON.parse((data as Buffer).toString()) as (typeof frames)[0]),
    );
    await eventually(() => {
      const rates = frames.findLast((frame) => frame.type === 'rates')?.perReplica?.['r1'];
      expect(rates?.transactionsPerSecond).toBeGreaterThan(50);
      expect(rates?.latencyMsP50).toBeGreaterThan(3);
      expect(frames.filter((frame) => frame.type === 'cluster').length).toBeGreaterThan(4);
    });
    expect(frames[0]?.type).toBe('cluster');
    socket.terminate();
    const foreign = open({ origin: 'http://evil.example' });
    const refusal = await new Promise<Error>((resolve) => foreign.on('error', resolve));
    expect(refusal.message).toContain('403');
    const post = await fetch(`http://127.0.0.1:${dashboardPort()}/api/fault`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'http://evil.example' },
      body: '{"action":"crash","replica":"r1"}',
    });
    expect(post.status).toBe(403);
    expect(await states()).toEqual(['serving', 'serving', 'serving']);
  });
});

describe('the founding of a demo', () => {
  beforeEach(prepare);
  afterEach(cleanUp);

  const stopped = async (demo: Demo) => {
    demo.child.kill('SIGINT');
    await ended(demo.child);
  };
  const founder = () => readFileSync(join(dir, 'r1', 'log', 'cluster'), 'utf8');

  it('is done once, on the first replica, and never again for one whose disk was lost', async () => {
    const first = await readyDemo();
    expect(founder()).toBe('fa4e');
    expect(JSON.parse(readFileSync(join(dir, 'demo.json'), 'utf8'))).toMatchObject({ founded: true });
    await stopped(first);
    rmSync(join(dir, 'r1'), { recursive: true });
    await readyDemo();
    expect(founder()).toBe('joined');
  });

  it('that was interrupted before it was noted is found done', async () => {
    await stopped(await readyDemo());
    const note = JSON.parse(readFileSync(join(dir, 'demo.json'), 'utf8')) as object;
    writeFileSync(join(dir, 'demo.json'), JSON.stringify({ ...note, founded: false }));
    await readyDemo();
    expect(JSON.parse(readFileSync(join(dir, 'demo.json'), 'utf8'))).toMatchObject({ founded: true });
  });
});

describe('the end of a demo', () => {
  beforeEach(prepare);
  afterEach(cleanUp);

  it('stops all of it on a signal, whatever state it is in: paused, crashed, its database left behind', async () => {
    const demo = await readyDemo();
    const pids = await pidsOfAll();
    expect(pids.length).toBe(6);
    await fault({ action: 'crash', replica: 'r1' });
    await fault({ action: 'pause', replica: 'r2', force: true });
    demo.child.kill('SIGINT');
    expect(await ended(demo.child)).toBe(0);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(demo.output()).toContain('Stopped.');
  });

  it('starts a replica again by itself if told to, but not one that was crashed on purpose', async () => {
    await readyDemo(['--auto-restart']);
    const [first, second] = (await report()).replicas;
    await fault({ action: 'crash', replica: 'r1' });
    process.kill(second?.pid ?? 0, 'SIGKILL');
    await eventually(async () => {
      const again = (await report()).replicas[1];
      expect(again).toMatchObject({ state: 'serving' });
      expect(again?.pid).not.toBe(second?.pid);
    });
    expect(await processes()).toEqual(['stopped', 'running', 'running']);
    for (const pid of [first?.postgres.pid, second?.postgres.pid]) process.kill(pid ?? 0, 'SIGKILL');
  });
});

describe('a supervisor that is killed', () => {
  beforeEach(prepare);
  afterEach(cleanUp);

  it('takes its replicas with it, and even a frozen one gives way to the next start', async () => {
    const demo = await readyDemo();
    const pids = await pidsOfAll();
    await fault({ action: 'pause', replica: 'r2' });
    demo.child.kill('SIGKILL');
    await ended(demo.child);
    await eventually(() => expect(pids.filter(isAlive).length).toBe(2));
    await readyDemo();
    expect(pids.filter(isAlive)).toEqual([]);
  });
});

describe('a demo that cannot start', () => {
  beforeEach(prepare);
  afterEach(cleanUp);

  it('names the port that is in use, what it is for, and the option', async () => {
    const blocker = createServer().listen(basePort + 1, '127.0.0.1');
    const demo = startDemo();
    expect(await ended(demo.child)).toBe(1);
    expect(demo.output()).toMatch(
      new RegExp(`Port ${basePort + 1}, needed for SQL clients of r2, is in use.*--port`),
    );
    blocker.close();
  });

  it('leaves a directory alone that another demo runs in, or that holds another number of replicas', async () => {
    await readyDemo();
    basePort = await freePorts(220);
    const second = startDemo();
    expect(await ended(second.child)).toBe(1);
    expect(second.output()).toContain('Another demo is running here');
    demos[0]?.kill('SIGTERM');
    await ended(demos[0] as ChildProcess);
    const five = startDemo(['--replicas', '5']);
    expect(await ended(five.child)).toBe(2);
    expect(five.output()).toContain('holds a cluster of 3 replicas');
  });

  it('shows the end of the output of the replica that failed, and leaves nothing running', async () => {
    const demo = startDemo([], { FAKE_REPLICA: 'fails' });
    expect(await ended(demo.child)).toBe(1);
    expect(demo.output()).toContain('the fake replica fails as it was told');
    const status = await barista('status', '--data-dir', dir, '--dashboard-port', String(dashboardPort()));
    expect([status.code, status.stderr]).toEqual([3, expect.stringContaining('No demo answers')]);
  });
});
