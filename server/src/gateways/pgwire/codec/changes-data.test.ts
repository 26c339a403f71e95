import { expect, it } from 'vitest';
import { changesData } from './changes-data.ts';

function changes(text: string): boolean {
  const bytes = Buffer.from(`..${text}`, 'latin1');
  return changesData(bytes, 2, bytes.length);
}

it.each([
  'INSERT INTO t VALUES (1)',
  'update t SET a = 1',
  '  \n\tDelete FROM t',
  'merge',
  '-- first\n-- second\nINSERT',
  '/* who */ /**/UPDATE t',
  '-- one\r\n/* two */INSERT',
])('%j changes data', (text) => expect(changes(text)).toBe(true));

it.each([
  '',
  ' ',
  'SELECT 1',
  'INSERTS',
  'UPDATE_t',
  'updat',
  'WITH x AS (DELETE FROM t) SELECT 1',
  '-- INSERT',
  '/* INSERT',
  '/* one',
  '-',
  '/',
  '(INSERT',
])('%j is not known to', (text) => expect(changes(text)).toBe(false));

it('looks at no byte beyond the end', () => {
  const bytes = Buffer.from('/*a*/ INSERT', 'latin1');
  for (let to = 0; to < bytes.length; to += 1) expect(changesData(bytes, 0, to)).toBe(false);
  expect(changesData(Buffer.from('-- x\nINSERT'), 0, 4)).toBe(false);
});
