/** What the supervisor says of each fault: what was done, what is now so, and why it cannot be. Its machines are in memory, and nobody answers on their ports. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { FaultRequest } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { type DemoOptions, planReplica, planReplicas } from './layout.ts';
import { segmentStore } from './demo-store.ts';
import { refused } from './fault-outcome.ts';
import type { ReplicaMachine } from './replica-machine.ts';
import type { ExitReport, ProcessState } from './replica-process.ts';
import { createReplicaMonitor } from './replica-monitor.ts';
import { Supervisor } from './supervisor.ts';

const states = new Map<string, ProcessState>();
const started: string[] = [];
let exits = new Map<string, (report: ExitReport) => void>();
/** A process takes this long to end. */
let ending: Promise<void> = Promise.resolve();
/** What keeps a process from being started. */
let unstartable: string | null = null;
const lines: string[] = [];
/** What PostgreSQL objects to when it is to end. */
let stuck: string | null = null;
let supervisor: Supervisor;

const options: DemoOptions = {
  dataDir: '/nowhere',
  replicas: 3,
  port: 7432,
  // The replicas' ports are 1 and up.
  dashboardPort: 0,
  pgBin: null,
  autoRestart: false,
  trace: false,
  check: false,
  logBytesMax: null,
  clientsMax: null,
  electionTimeoutMs: null,
  logStore: segmentStore,
  payload: 'wal',
  protocol: 'multi-paxos',
};

function create(replicas: number, autoRestart = false): Supervisor {
  const plans = planReplicas({ ...options, replicas });
  const made = new Supervisor({
    plans,
    machineOf: (plan, onExit): ReplicaMachine => {
      exits.set(plan.id, onExit);
      const to = (state: ProcessState) => () => void states.set(plan.id, state);
      const ends = (): Promise<void> => ending.then(to('stopped'));
      return {
        plan,
        state: () => states.get(plan.id) ?? 'stopped',
        pid: () => null,
        endedByItself: () => states.get(plan.id) === 'stopped',
        start: () => {
          if (unstartable !== null) throw new Error(unstartable);
          started.push(plan.id);
          states.set(plan.id, 'running');
        },
        crash: ends,
        pause: to('paused'),
        resume: to('running'),
        stop: ends,
        heard: () => undefined,
        killPostgres: () =>
          Promise.resolve(states.get(plan.id) === 'stopped' ? refused('notRunning', 'none') : { ok: true }),
        wipe: () => Promise.resolve({ ok: true }),
        endPostgres: () => Promise.resolve(stuck),
      };
    },
    monitorOf: createReplicaMonitor,
    autoRestart,
    say: (line) => lines.push(line),
    onChildren: () => undefined,
  });
  made.start();
  return made;
}

beforeEach(() => {
  started.length = 0;
  exits = new Map();
  ending = Promise.resolve();
  stuck = null;
  unstartable = null;
  lines.length = 0;
  supervisor = create(3);
});
afterEach(async () => {
  await supervisor.stop();
});

const said = async (request: object): Promise<string> => {
  const outcome = await supervisor.fault(request as FaultRequest);
  return outcome.ok ? outcome.message : `${outcome.code}: ${outcome.message}`;
};

describe('what is said of a fault', () => {
  it('names the replica, what was done to its process, and what undoes it', async () => {
    const r1 = (action: string) => said({ action, replica: 'r1' });
    expect(await r1('pause')).toBe('r1: its process is frozen (SIGSTOP) until "barista fault resume r1".');
    expect(await r1('pause')).toBe('notRunning: r1 is paused');
    expect(await r1('killPostgres')).toBe(
      'r1: its PostgreSQL was killed (kill -9). The replica is frozen, and starts it again once it is resumed.',
    );
    expect(await r1('resume')).toBe('r1: its process is thawed (SIGCONT) and runs.');
    expect(await r1('resume')).toBe('notPaused: r1 is running');
    expect(await r1('crash')).toBe(
      'r1: its process was killed (kill -9). It is down until "barista fault restart r1".',
    );
    expect(await r1('crash')).toBe('notRunning: r1 is not running');
    expect(await r1('restart')).toBe('r1: its process was down, and was started.');
    expect(await r1('restart')).toBe('r1: its process was stopped and started again.');
    await r1('pause');
    expect(await r1('restart')).toBe('r1: its process was frozen; it was thawed, stopped and started again.');
  });

  it.each([
    ['log', 'its log is'],
    ['database', 'its PostgreSQL is'],
    ['both', 'its log and its PostgreSQL are'],
  ])('names what a lost disk took: %s', async (what, words) => {
    expect(await said({ action: 'wipe', replica: 'r2', what })).toBe(
      `r2: ${words} gone, as with a lost disk, and it was started again. "barista status" shows how it comes back.`,
    );
  });

  it('names the link and all that it now has, and who is not told yet', async () => {
    const untold = '\nr1 does not answer, and is told as soon as it does.';
    const link = { from: 'r1', to: 'r2' };
    expect(await said({ action: 'delay', ...link, amount: 50 })).toBe(
      `link r1 to r2: delayed by 50 ms${untold}`,
    );
    expect(await said({ action: 'cut', ...link })).toBe(`link r1 to r2: cut, delayed by 50 ms${untold}`);
    expect(await said({ action: 'cut', ...link, amount: 0 })).toBe(
      `link r1 to r2: delayed by 50 ms${untold}`,
    );
    expect(await said({ action: 'heal' })).toBe(
      `All links are healthy. These had faults:\n  link r1 to r2: delayed by 50 ms${untold}`,
    );
    expect(await said({ action: 'heal' })).toBe('All links are healthy. None had a fault.');
  });

  it('names what does not run, behind healed links', async () => {
    await said({ action: 'crash', replica: 'r1' });
    await said({ action: 'pause', replica: 'r3', force: true });
    expect(await said({ action: 'heal' })).toBe(
      `All links are healthy. None had a fault.
Not running (all of them at once: "barista fault heal --all"):
  r1 is down: barista fault restart r1
  r3 is frozen: barista fault resume r3`,
    );
  });

  it('names each link of a replica that is isolated', async () => {
    const cut = ['r1 to r2', 'r2 to r1', 'r2 to r3', 'r3 to r2'].map((link) => `  link ${link}: cut`);
    expect(await said({ action: 'isolate', replica: 'r2' })).toBe(
      [
        'r2: every link to and from it is cut, until "barista fault heal".',
        ...cut,
        'r1, r2, r3 do not answer, and are told as soon as they do.',
      ].join('\n'),
    );
  });

  it('refuses what leaves no majority, unless it is forced', async () => {
    const wipe = { action: 'wipe', replica: 'r2', what: 'both' };
    await said({ action: 'crash', replica: 'r1' });
    expect(await said(wipe)).toBe(
      'beyondMinority: r1 is down already: with r2 wiped, no majority of logs is left; the group is gone until r1 is back.',
    );
    expect(started).toEqual(['r1', 'r2', 'r3']);
    expect(await said({ ...wipe, force: true })).toMatch(/^r2: its log and its PostgreSQL are gone/);
    await said({ action: 'restart', replica: 'r1' });
    // Nobody has told that r2 has recovered.
    expect(await said({ action: 'pause', replica: 'r3' })).toMatch(
      /^beyondMinority: r2 was wiped and has not/,
    );
    expect(await said({ action: 'pause', replica: 'r3', force: true })).toMatch(/^r3: .*frozen/);
  });

  it('refuses the second of two that are asked for at the same moment', async () => {
    const both = ['r1', 'r2'].map((replica) => said({ action: 'crash', replica }));
    expect((await Promise.all(both)).map((words) => words.split(':')[0])).toEqual(['r1', 'beyondMinority']);
  });

  it('says why it cannot be', async () => {
    const there = 'there is no replica r9; there are r1, r2, r3';
    expect(await said({ action: 'crash', replica: 'r9' })).toBe(`unknownReplica: ${there}`);
    expect(await said({ action: 'cut', from: 'r1', to: 'r9' })).toBe(`badFault: ${there}`);
    expect(await said({ action: 'cut', from: 'r1', to: 'r1' })).toMatch(
      /^badFault: a link joins two different/,
    );
    await supervisor.stop();
    supervisor = create(1);
    expect(await said({ action: 'isolate', replica: 'r1' })).toBe(
      'badFault: r1 is the only replica, and has no links',
    );
    expect(await said({ action: 'crash', replica: 'r2' })).toBe(
      'unknownReplica: there is no replica r2; there is r1',
    );
  });
});

describe('a replica that is removed', () => {
  it.each([
    ['restart', {}],
    ['wipe', { what: 'both' }],
    ['crash', {}],
  ])('is not started by what waits behind its removal: %s', async (action, more) => {
    let end = (): void => undefined;
    ending = new Promise((resolve) => (end = resolve));
    const removed = supervisor.remove('r2' as ReplicaId);
    const asked = said({ action, replica: 'r2', ...more });
    const again = supervisor.remove('r2' as ReplicaId);
    end();
    expect(await removed).toBeNull();
    expect(await asked).toBe('unknownReplica: there is no replica r2; there are r1, r3');
    expect(await again).toBeNull();
    expect(started).toEqual(['r1', 'r2', 'r3']);
    expect(supervisor.plans().map(({ id }) => id)).toEqual(['r1', 'r3']);
  });

  it('is not started again by itself, nor is the one that has its name since', async () => {
    await supervisor.stop();
    vi.useFakeTimers();
    try {
      supervisor = create(3, true);
      started.length = 0;
      const plan = planReplica(options, 2);
      let end = (): void => undefined;
      exits.get('r2')?.({ plan, code: 1, signal: null, unexpected: true });
      states.set('r2', 'stopped');
      ending = new Promise((resolve) => (end = resolve));
      const removed = supervisor.remove(plan.id);
      await vi.advanceTimersByTimeAsync(1500);
      end();
      await removed;
      await vi.advanceTimersByTimeAsync(1500);
      expect(started).toEqual([]);
      expect(supervisor.add(plan)).toBe(true);
      expect(started).toEqual(['r2']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('that cannot be started is told of, by itself and when it is asked for, and tried again', async () => {
    await supervisor.stop();
    vi.useFakeTimers();
    try {
      supervisor = create(3, true);
      unstartable = 'EISDIR: r2.log';
      states.set('r2', 'stopped');
      const ended = { plan: planReplica(options, 2), code: 1, signal: null, unexpected: true };
      exits.get('r2')?.(ended);
      await vi.advanceTimersByTimeAsync(1500);
      expect(lines.at(-1)).toBe('r2 cannot be started again: EISDIR: r2.log');
      expect(await said({ action: 'restart', replica: 'r2' })).toBe('failed: r2: EISDIR: r2.log');
      unstartable = null;
      expect(await said({ action: 'restart', replica: 'r2' })).toMatch(/^r2: .*was started/);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is known for as long as its PostgreSQL does not go away, and can be removed again', async () => {
    stuck = 'PostgreSQL of r2 (process 7) does not go away';
    expect(await supervisor.remove('r2' as ReplicaId)).toBe(stuck);
    expect(supervisor.plan('r2')).not.toBeNull();
    stuck = null;
    expect(await supervisor.remove('r2' as ReplicaId)).toBeNull();
    expect(supervisor.plan('r2')).toBeNull();
  });

  it('comes no more once the demo is stopping', async () => {
    await supervisor.stop();
    started.length = 0;
    expect(supervisor.add(planReplica(options, 4))).toBe(false);
    expect(started).toEqual([]);
  });
});
