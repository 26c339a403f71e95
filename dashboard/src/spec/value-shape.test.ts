import { describe, expect, it } from 'vitest';
import { readPrintedValue } from '../../../harness/tla/read-literal.ts';
import { briefOf, type Item, lineOf, type Shape, shapeOf } from './value-shape.ts';

const shape = (now: string, before?: string): Shape =>
  shapeOf(readPrintedValue(now), before === undefined ? undefined : readPrintedValue(before));

/** As people would read it: changed parts between stars, gone ones between dashes. */
function drawn({ shape: one, mark }: Item): string {
  const inner =
    one.kind === 'text'
      ? one.text
      : one.kind === 'items'
        ? one.items.map(drawn).join(' ')
        : one.kind === 'rows'
          ? one.rows.map((row) => `${row.name}:${drawn(row)}`).join(' ')
          : one.rows.map((row) => `${row.name}|${row.cells.map(drawn).join('|')}`).join(' ');
  return mark === 'same' ? inner : mark === 'gone' ? `-${inner}-` : `*${inner}*`;
}

const all = (now: string, before?: string): string => drawn({ shape: shape(now, before), mark: 'same' });

describe('a value for people', () => {
  it('is in a line where it is short: strings without quotes, records with colons', () => {
    expect(lineOf(readPrintedValue('[type |-> "Prepare", ballot |-> <<1, 2>>]'))).toBe(
      '[ballot: ⟨1, 2⟩, type: Prepare]',
    );
    expect(lineOf(readPrintedValue('(r1 :> {} @@ r2 :> {TRUE})'))).toBe('(r1: {}, r2: {TRUE})');
  });

  it('of a message is as brief as its type', () => {
    expect(briefOf(readPrintedValue('[type |-> "Prepare", ballot |-> <<1, 2>>]'))).toBe('Prepare…');
    expect(briefOf(7)).toBe('7');
  });

  it('is rows by replica, with what is another one than before', () => {
    expect(all('<<1, 2, 3>>', '<<1, 5, 3>>')).toBe('1:1 2:*2* 3:3');
    expect(all('(r1 :> 0 @@ r2 :> 0)', '(r1 :> 0 @@ r2 :> 1)')).toBe('r1:0 r2:*0*');
  });

  it('is a table where each replica has a record of the same few fields', () => {
    const now = '<<[phase |-> "ran", n |-> 1], [phase |-> "none", n |-> 0]>>';
    const before = '<<[phase |-> "asked", n |-> 1], [phase |-> "none", n |-> 0]>>';
    expect(shape(now, before)).toMatchObject({ kind: 'table', columns: ['n', 'phase'] });
    expect(all(now, before)).toBe('1|1|*ran* 2|0|none');
  });

  it('of a set tells what came and what went', () => {
    expect(all('{1, 2}', '{1, 3}')).toBe('1 *2* -3-');
  });

  it('is the same with nothing before it, and where what was before is of another kind', () => {
    expect(all('<<1, 2>>')).toBe('1:1 2:2');
    expect(all('<<"none", 2>>', '<<3, 2>>')).toBe('1:*none* 2:2');
  });
});
