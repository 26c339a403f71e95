import { expect, it } from 'vitest';
import { decodeHarvestRow } from './harvest-row.ts';

/** As PostgreSQL's array_send makes it of a bytea[]. */
function arraySend(...values: readonly string[]): Buffer {
  const head = Buffer.alloc(20);
  head.writeInt32BE(1, 0);
  head.writeInt32BE(17, 8);
  head.writeInt32BE(values.length, 12);
  head.writeInt32BE(1, 16);
  const parts = values.flatMap((value) => {
    const bytes = Buffer.from(value);
    const length = Buffer.alloc(4);
    length.writeInt32BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat([head, ...parts]);
}

it('every kind of row is read', () => {
  const read = (...values: string[]) => decodeHarvestRow(arraySend(...values));
  expect(read('I"public"."t"', 'INSERT', '(1,ä)', '(2,)')).toEqual({
    kind: 'effect',
    sql: 'INSERT',
    effect: { kind: 'insert', relation: '"public"."t"', rows: ['(1,ä)', '(2,)'] },
  });
  expect(read('U"a"."b"', '', '(1)', '(2)')).toEqual({
    kind: 'effect',
    sql: null,
    effect: { kind: 'update', relation: '"a"."b"', before: ['(1)'], after: ['(2)'] },
  });
  expect(read('T"a"."b"', 's')).toMatchObject({ effect: { kind: 'truncate', relation: '"a"."b"' } });
  expect(read('X', 's', 'CREATE TABLE t()', 'barista', 'search_path', '"$user", public')).toMatchObject({
    effect: {
      kind: 'ddl',
      sql: 'CREATE TABLE t()',
      role: 'barista',
      settings: { search_path: '"$user", public' },
    },
  });
  expect(read('S"a"."s"', '', '-5', 'true', 'false')).toMatchObject({
    effect: { kind: 'sequence', lastValue: '-5', isCalled: true, exact: false },
  });
  expect(read('Z', '')).toEqual({ kind: 'serializable' });
  expect(read('Q', '', 'barista', 'x')).toEqual({ kind: 'request', role: 'barista', id: 'x' });
  expect(read('P', '', '12', 'INSERT 0 1')).toEqual({ kind: 'committedBefore', slot: 12, tag: 'INSERT 0 1' });
  expect(read('P', '', '', '')).toEqual({ kind: 'committedBefore', slot: null, tag: '' });
  expect(read('R', '', '0A000', 'no', 'try')).toEqual({
    kind: 'refused',
    sqlState: '0A000',
    message: 'no',
    hint: 'try',
  });
});

it('what is cut short, too long, unpaired or unknown is refused', () => {
  const whole = arraySend('I"public"."t"', 'INSERT', '(1)');
  for (let length = 0; length < whole.length; length += 1) {
    expect(() => decodeHarvestRow(whole.subarray(0, length))).toThrow('Malformed');
  }
  expect(() => decodeHarvestRow(Buffer.concat([whole, Buffer.from('x')]))).toThrow('Malformed');
  expect(() => decodeHarvestRow(arraySend('U"a"."b"', '', '(1)'))).toThrow('odd number');
  expect(() => decodeHarvestRow(arraySend('?', ''))).toThrow('kind ?');
});
