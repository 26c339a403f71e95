import { describe, expect, it } from 'vitest';
import type { Counterexample, CounterexampleStep } from './counterexample.ts';
import { droppedRules } from './dropped-rule.ts';
import { addressOfPlace, placeFrom, readSpecPlace } from './spec-address.ts';
import { modelTextOf, walkOf } from './walk.ts';

const text = modelTextOf(
  new Map([
    [
      'Small',
      `(* Pick: the first vote ... *)
First(votes) == 1
(* ... or none at all. *)
None(votes) == 0
Init == x = 0
Add(r, n) == x' = x + n
Take(r) == x' = x - 1
SmallNext ==
  \\/ \\E r \\in R : Add(r, 1)
  \\/ \\E r \\in R : Take(r) \\/ Add(r, 2)
`,
    ],
  ]),
);

const step = (line: number, changed: Record<string, string>): CounterexampleStep => ({
  action: 'SmallNext',
  place: { module: 'Small', line, column: 6, endLine: line, endColumn: 60 },
  changed,
});

const steps: readonly CounterexampleStep[] = [
  { action: null, place: null, changed: { x: '0', y: '{}' } },
  step(9, { x: '1' }),
  step(10, { x: '0' }),
  { ...step(10, { x: '2' }), by: { name: 'Add', operands: { r: 'r1', n: '2' } } },
];
const counterexample = { steps } as unknown as Counterexample;

describe('a counterexample as a walk', () => {
  it('names each step by its action and what it was taken with, and says where in the text that is', () => {
    const walk = walkOf(counterexample, text);
    expect(walk.map(({ title, operands }) => `${title}${operands}`)).toEqual([
      'Init',
      'Add',
      'Take or Add',
      'Add(r1, 2)',
    ]);
    expect(walk.map(({ place }) => place?.first)).toEqual([5, 6, 10, 6]);
  });

  it('names a step that TLC does not tell from others by what the specification notes of it', () => {
    const noted = modelTextOf(
      new Map([
        [
          'Noted',
          "Init == act = 0\nAdd(r) == act' = 1\nTake(r) == act' = 2\nLive == act' = 3\nNext == Add(1) \\/ Take(1)\n",
        ],
      ]),
    );
    const place = { module: 'Noted', line: 5, column: 9, endLine: 5, endColumn: 24 };
    const act = '[name |-> "Take", params |-> [replica |-> 2, ballot |-> <<1, 2>>]]';
    const walk = walkOf(
      {
        ...counterexample,
        steps: [
          { action: null, place: null, changed: { act: '0' } },
          { action: 'Next', place, changed: { act } },
        ],
      },
      noted,
    );
    expect(walk[1]).toMatchObject({
      title: 'Take',
      operands: '(2, ⟨1, 2⟩)',
      place: { module: 'Noted', first: 3, last: 3 },
    });
  });

  it('has the whole state behind each step, and what that changed', () => {
    const walk = walkOf(counterexample, text);
    expect(walk.map(({ values }) => values.get('x'))).toEqual([0, 1, 0, 2]);
    expect(walk.every(({ values }) => values.has('y'))).toBe(true);
    expect(walk.map(({ changed }) => [...changed].join())).toEqual(['', 'x', 'x', 'x']);
  });

  it('explains what is dropped, where that is said for several rules at once, too', () => {
    const [rule] = droppedRules([{ rule: 'Pick', by: 'None' }], text.definitions);
    expect(rule?.byWords).toBe('as where the first vote: none at all.');
    const [first] = droppedRules([{ rule: 'Pick', by: 'First' }], text.definitions);
    expect(first?.byWords).toBe('the first vote.');
  });
});

describe('the address of a place in the specifications', () => {
  it('is read as it was written, beside a simulated run, too', () => {
    const place = { mode: 'hand' as const, model: 'BugLease-no-wait', step: 4, walk: [3, 0, 12] };
    for (const hash of ['#spec', '#sim?seed=7&view=spec', '#sim?seed=7&view=spec&model=Other&step=9']) {
      const written = addressOfPlace(hash, place);
      expect(written.startsWith(hash.replace(/&model.*/, ''))).toBe(true);
      expect(readSpecPlace(written)).toEqual(place);
    }
  });

  it('is followed where it leads elsewhere, and stays as it is where it says the same or is of another view', () => {
    const from = readSpecPlace('#spec?model=BugLease-no-wait&step=4');
    const to = placeFrom(from, '#spec?model=BugPaxos-no-wait&step=1');
    expect(to).toMatchObject({ mode: 'bugs', model: 'BugPaxos-no-wait', step: 1 });
    expect(placeFrom(from, '#sim?seed=7&view=spec&mode=run')).toMatchObject({ mode: 'run', model: null });
    for (const same of ['#spec?model=BugLease-no-wait&step=4', '#lab', '#sim?seed=7', '#operator'])
      expect(placeFrom(from, same)).toBe(from);
  });

  it('names nothing where it makes no sense', () => {
    expect(readSpecPlace('#spec?step=-3&walk=a.b')).toEqual({ mode: 'bugs', model: null, step: 0, walk: [] });
    expect(addressOfPlace('#spec?model=A&step=1', { mode: 'bugs', model: null, step: 0, walk: [] })).toBe(
      '#spec',
    );
  });
});
