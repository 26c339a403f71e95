import { describe, expect, test } from 'vitest';
import {
  coresOfOthers,
  cpuMsByPart,
  parseMachine,
  parseProcess,
  treeCpuMs,
  type ProcessTable,
} from './processes.ts';

/** Fields 14 to 17 of the line: user, system, and both of ended children. */
const line = (name: string, times: string): string =>
  `4711 (${name}) S 42 4711 4711 0 -1 4194304 1 2 3 4 ${times} 20 0 1 0 999 1000 20`;

const table = (machineMs: number, atMs: number, ...rows: readonly (readonly [number, number, number])[]) =>
  ({
    processes: new Map(
      rows.map(([pid, parent, cpuMs]) => [
        pid,
        { pid, parent, program: pid < 12 ? 'node' : 'postgres', cpuMs },
      ]),
    ),
    machineMs,
    atMs,
  }) satisfies ProcessTable;

describe('CPU time of one process', () => {
  test('is that of itself and of the children that it waited for, in milliseconds', () => {
    expect(parseProcess(line('node', '5 7 11 13'))).toEqual({
      pid: 4711,
      parent: 42,
      program: 'node',
      cpuMs: 360,
    });
  });

  test('is found behind a name with spaces and parentheses', () => {
    expect(parseProcess(line('a) S 1 (b', '1 0 0 0'))).toEqual({
      pid: 4711,
      parent: 42,
      program: 'a) S 1 (b',
      cpuMs: 10,
    });
  });
});

describe('CPU time of the machine', () => {
  test('is all but idling and waiting for disks', () => {
    expect(parseMachine('cpu  1 2 4 1000 2000 8 16 32 64 128\ncpu0 9 9 9 9 9 9 9 9\n')).toBe(630);
  });
});

describe('CPU time of trees', () => {
  const processes = table(0, 0, [1, 0, 1000], [10, 1, 5], [11, 10, 7], [12, 11, 9], [20, 1, 100]);

  test('a tree is its root and all that descends from it', () => {
    expect(treeCpuMs(processes, [10])).toBe(21);
  });

  test('a root below another one is counted once', () => {
    expect(treeCpuMs(processes, [10, 12])).toBe(21);
  });

  test('parts of one role count together, each program for itself', () => {
    const parts = [
      { role: 'leader', pid: 10 },
      { role: 'followers', pid: 20 },
      { role: 'followers', pid: 12 },
    ];
    expect(Object.fromEntries(cpuMsByPart(processes, parts))).toEqual({
      'leader node': 12,
      'leader postgres': 9,
      'followers postgres': 109,
    });
  });

  test('a root that is gone counts nothing', () => {
    expect(treeCpuMs(processes, [99])).toBe(0);
  });

  test('what does not descend from this process is the work of others', () => {
    const own = process.pid;
    const before = table(1000, 0, [own, 1, 100], [777, own, 100], [888, 1, 500]);
    const after = table(3000, 2000, [own, 1, 200], [777, own, 1000], [888, 1, 1500]);
    expect(coresOfOthers(before, after)).toBe(0.5);
  });
});
