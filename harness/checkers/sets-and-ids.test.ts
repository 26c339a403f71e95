import { describe, expect, it } from 'vitest';
import { checkElementSet } from './element-set.ts';
import { callsOf, type ScriptedCall } from './testing/script.ts';
import { checkUniqueIds } from './unique-ids.ts';

const id = (sequence: string, value: number, outcome: ScriptedCall['outcome'] = 'ok') => ({
  f: 'generate',
  from: 0,
  to: 1,
  asked: sequence,
  answer: [sequence, value],
  outcome,
});

describe('ids', () => {
  it('may skip, and may be the same in two sequences', () => {
    expect(checkUniqueIds(callsOf([id('a', 1), id('a', 33), id('b', 1)])).anomalies).toEqual([]);
  });

  it('must not be handed out twice', () => {
    const { anomalies } = checkUniqueIds(callsOf([id('a', 1), id('a', 2), id('a', 1)]));
    expect(anomalies).toMatchObject([{ kind: 'doubled-id', summary: 'sequence a has handed out 1 twice' }]);
  });
});

const add = (element: number, from: number, to: number, outcome: ScriptedCall['outcome'] = 'ok') => ({
  f: 'add',
  from,
  to,
  asked: element,
  outcome,
});
const read = (from: number, ...elements: number[]) => ({
  f: 'read',
  from,
  to: from + 1,
  asked: null,
  answer: elements,
});
const kinds = (...script: ScriptedCall[]) =>
  checkElementSet(callsOf(script)).anomalies.map(({ kind }) => kind);

describe('a set', () => {
  it('has what was acknowledged, and perhaps what nobody knows of', () => {
    expect(
      kinds(
        add(1, 0, 1),
        add(2, 0, 1, 'info'),
        add(3, 0, 1, 'fail'),
        add(4, 5, 9),
        read(6, 1),
        read(20, 1, 2, 4),
      ),
    ).toEqual([]);
  });

  it('must not lose an acknowledged element, in the middle or at the end', () => {
    expect(kinds(add(1, 0, 1), read(2), read(4, 1))).toEqual(['lost-element']);
    expect(kinds(add(1, 0, 1), read(2, 1), read(4))).toEqual(['lost-element']);
  });

  it('must not have an element that failed, was never sent, comes later, or is there twice', () => {
    expect(kinds(add(1, 0, 1, 'fail'), read(4, 1))).toEqual(['failed-element']);
    expect(kinds(read(4, 1))).toEqual(['unasked-element']);
    expect(kinds(read(0, 1), add(1, 4, 5), read(8, 1))).toEqual(['future-element']);
    expect(kinds(add(1, 0, 1), read(4, 1, 1))).toEqual(['doubled-element']);
  });

  it('is not decided without a read at the end', () => {
    expect(checkElementSet(callsOf([read(0), add(1, 4, 5)])).gaveUp).toContain('final read');
  });
});
