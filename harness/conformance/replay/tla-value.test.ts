import { describe, expect, it } from 'vitest';
import { parseBehaviour, parseTlaState, parseTlaValue } from './tla-value.ts';

describe('values as TLC prints them', () => {
  it.each([
    ['-12', -12],
    ['"a \\"b\\" \\\\"', 'a "b" \\'],
    ['TRUE', true],
    ['<<>>', []],
    ['<<1, <<"x">>, FALSE>>', [1, ['x'], false]],
    ['{}', { set: [] }],
    ['{ 1,\n  {2} }', { set: [1, { set: [2] }] }],
    ['[a |-> 1, b |-> [c |-> {}]]', { record: { a: 1, b: { record: { c: { set: [] } } } } }],
    [
      '(0 :> "x" @@ 5 :> <<1>>)',
      {
        pairs: [
          [0, 'x'],
          [5, [1]],
        ],
      },
    ],
  ])('%s', (text, value) => {
    expect(parseTlaValue(text)).toEqual(value);
  });

  it.each(['', '<<1', '{1,}', '[a |-> ]', '(1 :> )', '1 2', 'Nothing', '[a = 1]'])(
    '%s is refused',
    (text) => {
      expect(() => parseTlaValue(text)).toThrow(SyntaxError);
    },
  );

  it('a state is a value for each variable', () => {
    expect(parseTlaState('/\\ x = 1\n/\\ longName_2 = << 1,\n  2 >>\n')).toEqual({
      x: 1,
      longName_2: [1, 2],
    });
    expect(() => parseTlaState('x = 1')).toThrow(SyntaxError);
  });

  it('a behaviour is its states in order', () => {
    const file = '--- MODULE b_0 ---\nSTATE_1 == \n/\\ x = 1\n\nSTATE_2 == \n/\\ x = 2\n\n\n====\n';
    expect(parseBehaviour(file)).toEqual([{ x: 1 }, { x: 2 }]);
  });
});
