import { describe, expect, it } from 'vitest';
import { checkAccounts } from './accounts.ts';
import type { MicroOperation } from './append-transactions.ts';
import type { Verdict } from './anomaly.ts';
import { checkElementSet } from './element-set.ts';
import { checkListAppend } from './list-append.ts';
import { type ReadMode, readModes, type ReadRules, statedReadRules } from './read-terms.ts';
import { checkRegisters } from './register.ts';
import { callsOf, inMode, type ScriptedCall } from './testing/script.ts';

/** The bound of staleness, and the clock's resolution, in moments of a script. */
const [bound, resolution] = [10_000, 1000];
const strict: ReadRules = { leaderHasWhatFollowersShow: readModes };
const lax: ReadRules = { leaderHasWhatFollowersShow: [] };
const all = (script: readonly ScriptedCall[], mode: ReadMode): readonly ScriptedCall[] =>
  script.map((call) => Object.assign({}, call, inMode(mode)));
const kindsOf = ({ anomalies }: Verdict) => anomalies.map(({ kind }) => kind);

describe('of a register', () => {
  const write = (from: number, to: number, value: number): ScriptedCall => ({
    f: 'write',
    from,
    to,
    asked: { key: 'x', value },
  });
  const read = (from: number, value: number | null): ScriptedCall => ({
    f: 'read',
    from,
    to: from + 1,
    asked: { key: 'x' },
    answer: { key: 'x', value },
  });
  const kinds = (script: readonly ScriptedCall[], rules = statedReadRules) =>
    kindsOf(checkRegisters(callsOf(script), { rules }));
  const two = [write(0, 1, 1), write(2, 3, 2)];

  it('a linearizable read at a follower must not be stale', () => {
    expect(kinds([...two, { ...read(4, 2), ...inMode('linearizable') }])).toEqual([]);
    expect(kinds([...two, { ...read(4, 1), ...inMode('linearizable') }])).toEqual(['nonlinearizable']);
  });

  it('a bounded read must have what was there so long ago', () => {
    const limit = 3 + bound + resolution;
    expect(kinds([...two, { ...read(limit, 1), ...inMode('bounded') }])).toEqual([]);
    expect(kinds([...two, { ...read(limit + 1, 1), ...inMode('bounded') }])).toEqual(['nonlinearizable']);
    expect(kinds([...two, { ...read(limit + 1, 2), ...inMode('bounded') }])).toEqual([]);
  });

  it('a bounded read must not show what is written later', () => {
    expect(kinds([{ ...read(0, 1), ...inMode('bounded') }, write(2, 3, 1)])).toEqual(['nonlinearizable']);
  });

  it('a snapshot may be of any age, and of nothing that never was', () => {
    expect(kinds([...two, { ...read(bound * 9, 1), ...inMode('snapshot') }])).toEqual([]);
    expect(kinds([...two, { ...read(4, 3), ...inMode('snapshot') }])).toEqual(['unwritten']);
    expect(kinds([{ ...read(0, 2), ...inMode('snapshot') }, ...two])).toEqual(['unwritten']);
    const failed = { ...write(0, 1, 3), outcome: 'fail' as const };
    expect(kinds([failed, { ...read(4, 3), ...inMode('snapshot') }])).toEqual(['unwritten']);
  });

  it.each(['bounded', 'snapshot'] as const)('a %s session must not go back', (mode) => {
    const [newer, older] = [read(4, 2), read(6, 1)];
    expect(
      kinds([...two, { ...older, ...inMode(mode) }, { ...newer, ...inMode(mode, { session: 2 }) }]),
    ).toEqual([]);
    expect(kinds([...two, { ...newer, ...inMode(mode) }, { ...older, ...inMode(mode) }])).toContain(
      'session-went-back',
    );
    expect(kinds([...two, { ...newer, ...inMode(mode) }, { ...read(6, null), ...inMode(mode) }])).toContain(
      'session-went-back',
    );
  });

  it('what was swapped for another value is older, whenever its swap ended', () => {
    const swap = { f: 'cas', from: 0, to: 9, asked: { key: 'x', from: 1, to: 2 }, answer: { swapped: true } };
    const session = all([read(2, 2), read(4, 1)], 'snapshot');
    expect(kinds([write(0, 9, 1), swap, ...session])).toEqual(['session-went-back']);
  });

  it('a read at the leader may miss what a bounded one has shown, as is stated; nobody misses what a linearizable one has', () => {
    const shown = (mode: ReadMode) => [write(0, 9, 1), { ...read(1, 1), ...inMode(mode) }];
    const atLeader = [
      read(4, null),
      { ...read(4, null), ...inMode('linearizable', { by: 'leader', session: 2 }) },
      { f: 'cas', from: 4, to: 5, asked: { key: 'x', from: 1, to: 2 }, answer: { swapped: false } },
    ];
    for (const missing of atLeader) {
      expect(kinds([...shown('bounded'), missing])).toEqual([]);
      expect(kinds([...shown('bounded'), missing], strict)).toEqual(['nonlinearizable']);
      expect(kinds([...shown('linearizable'), missing])).toContain('nonlinearizable');
      expect(kinds([...shown('linearizable'), missing], lax)).toEqual([]);
    }
    const follower = { ...read(4, null), ...inMode('linearizable', { session: 2 }) };
    expect(kinds([...shown('bounded'), follower])).toEqual(['nonlinearizable']);
    expect(kinds([...shown('linearizable'), follower], lax)).toEqual(['nonlinearizable']);
  });
});

describe('of a set', () => {
  const add = (element: number, from: number, to: number): ScriptedCall => ({
    f: 'add',
    from,
    to,
    asked: element,
  });
  const read = (from: number, elements: readonly number[], asked: unknown = null): ScriptedCall => ({
    f: 'read',
    from,
    to: from + 1,
    asked,
    answer: elements,
  });
  const kinds = (script: readonly ScriptedCall[], rules = statedReadRules) =>
    kindsOf(checkElementSet(callsOf(script), rules));

  it('a linearizable read must have what was acknowledged, in the window that it asks for', () => {
    expect(kinds([add(1, 0, 1), { ...read(2, [1]), ...inMode('linearizable') }])).toEqual([]);
    expect(kinds([add(1, 0, 1), { ...read(2, []), ...inMode('linearizable') }])).toEqual(['stale-read']);
    const window = { above: 1, upTo: 2 };
    const script = [add(1, 0, 1), add(2, 0, 1), add(3, 0, 1)];
    expect(kinds([...script, { ...read(2, [2], window), ...inMode('linearizable') }])).toEqual([]);
    expect(kinds([...script, { ...read(2, [], window), ...inMode('linearizable') }])).toEqual(['stale-read']);
  });

  it('a bounded read must have what was acknowledged so long ago', () => {
    const limit = 1 + bound + resolution;
    expect(kinds([add(1, 0, 1), { ...read(limit, []), ...inMode('bounded') }])).toEqual([]);
    expect(kinds([add(1, 0, 1), { ...read(limit + 1, []), ...inMode('bounded') }])).toEqual(['stale-read']);
  });

  it('a snapshot may lack anything, but for what its session was shown', () => {
    expect(kinds([add(1, 0, 1), { ...read(bound * 9, []), ...inMode('snapshot') }])).toEqual([]);
    const session = all([read(2, [1]), read(4, [])], 'snapshot');
    expect(kinds([add(1, 0, 1), ...session])).toEqual(['session-went-back']);
    expect(kinds([{ ...read(0, [7]), ...inMode('snapshot') }])).toEqual(['unasked-element']);
  });

  it('what a snapshot has shown no follower may miss, and the leader may, as is stated', () => {
    const shown = [add(1, 0, 9), { ...read(1, [1]), ...inMode('snapshot') }];
    expect(kinds([...shown, { ...read(4, []), ...inMode('linearizable', { session: 2 }) }])).toEqual([
      'stale-read',
    ]);
    expect(kinds([...shown, read(4, [])])).toEqual([]);
    expect(kinds([...shown, read(4, [])], strict)).toEqual(['lost-element']);
    expect(kinds([add(1, 0, 9), read(1, [1]), read(4, [])])).toEqual(['lost-element']);
  });
});

describe('of lists', () => {
  const r = (key: string, ...list: number[]): MicroOperation => ['r', key, list];
  const a = (key: string, value: number): MicroOperation => ['append', key, value];
  const t = (from: number, to: number, ...answer: readonly MicroOperation[]): ScriptedCall => ({
    f: 'txn',
    from,
    to,
    asked: answer.map((micro) => (micro[0] === 'r' ? ['r', micro[1], null] : micro)),
    answer,
  });
  const kinds = (script: readonly ScriptedCall[], rules = statedReadRules) =>
    kindsOf(checkListAppend(callsOf(script), rules));

  it.each(readModes)('a %s read must not see half a transaction', (mode) => {
    const half = { ...t(0, 9, r('x', 1), r('y')), ...inMode(mode) };
    expect(kinds([t(0, 9, a('x', 1), a('y', 1)), half])).toEqual(['G-single']);
  });

  it('a linearizable read must not be stale', () => {
    const script = [t(0, 1, a('x', 1)), t(8, 9, r('x', 1))];
    expect(kinds([...script, { ...t(2, 3, r('x', 1)), ...inMode('linearizable') }])).toEqual([]);
    expect(kinds([...script, { ...t(2, 3, r('x')), ...inMode('linearizable') }])).toEqual([
      'G-single-realtime',
    ]);
  });

  it('an append is lost only to who had to see it', () => {
    const late = (from: number) => [
      t(0, 1, a('x', 1)),
      { ...t(from, from + 1, r('x')), ...inMode('bounded') },
    ];
    expect(kinds(late(1 + bound + resolution))).toEqual([]);
    expect(kinds(late(2 + bound + resolution))).toContain('lost-append');
    expect(
      kinds([t(0, 1, a('x', 1)), { ...t(bound * 9, bound * 9, r('x')), ...inMode('snapshot') }]),
    ).toEqual([]);
  });

  it('a bounded read must have what was there so long ago', () => {
    const script = [t(0, 1, a('x', 1)), t(bound * 9, bound * 9 + 1, r('x', 1))];
    const limit = 1 + bound + resolution;
    const read = (from: number) => ({ ...t(from, from + 1, r('x')), ...inMode('bounded') });
    expect(kinds([...script, read(limit)])).toEqual([]);
    expect(kinds([...script, read(limit + 1)])).toEqual(['G-single-realtime']);
  });

  it('a snapshot may be of any age, but in one session must not go back', () => {
    const script = [t(0, 1, a('x', 1)), t(8, 9, r('x', 1))];
    const [newer, older] = [t(2, 3, r('x', 1)), t(4, 5, r('x'))];
    expect(kinds([...script, { ...older, ...inMode('snapshot') }])).toEqual([]);
    const inTurn = all([newer, older], 'snapshot');
    expect(kinds([...script, ...inTurn])).toEqual(['G-single-realtime']);
  });

  it('a snapshot in between two transactions that passed each other is PostgreSQL’s, and theirs alone is none', () => {
    // T1 missed what T2 appended, and the read has T2's, not T1's: serializable only without the read.
    const passing = [t(0, 9, r('y'), a('x', 1)), t(0, 5, a('y', 1)), t(20, 21, r('x', 1), r('y', 1))];
    expect(kinds([...passing, { ...t(6, 7, r('x'), r('y', 1)), ...inMode('linearizable') }])).toEqual([]);
    expect(kinds([...passing, t(6, 7, r('x'), r('y', 1))])).toEqual(['G2']);
  });

  it('the leader may miss what a snapshot has shown, as is stated, and nothing of a linearizable read; another follower neither', () => {
    const shown = (mode: ReadMode) => [
      t(0, 9, a('x', 1)),
      { ...t(1, 2, r('x', 1)), ...inMode(mode) },
      t(20, 21, r('x', 1)),
    ];
    expect(kinds([...shown('snapshot'), t(4, 5, r('x'))])).toEqual([]);
    expect(kinds([...shown('snapshot'), t(4, 5, r('x'))], strict)).toEqual(['G-single-realtime']);
    expect(kinds([...shown('linearizable'), t(4, 5, r('x'))])).toEqual(['G-single-realtime']);
    expect(
      kinds([...shown('snapshot'), { ...t(4, 5, r('x')), ...inMode('linearizable', { session: 2 }) }]),
    ).toEqual(['G-single-realtime']);
  });
});

it.each(readModes)('of a bank, a %s read must see the same total', (mode) => {
  const read = {
    f: 'read',
    from: 0,
    to: 1,
    asked: null,
    answer: [
      [1, 9],
      [2, 10],
    ],
  };
  const calls = callsOf([{ ...read, ...inMode(mode) }]);
  expect(kindsOf(checkAccounts(calls, { accounts: 2, balance: 10 }))).toEqual(['wrong-total']);
});
