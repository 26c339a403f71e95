import { describe, expect, it } from 'vitest';
import { changesTables, columnsMeant, quoted, tablesIn } from './sql-tables.ts';

const rows = [
  ['public', 'orders', 'id'],
  ['public', 'orders', 'drink'],
  ['public', 'tables', 'id'],
  ['shop', 'orders', 'total'],
];

describe('tables for completion', () => {
  it('are gathered by schema and name, in the order of their columns', () => {
    expect(tablesIn({ rows })).toEqual([
      { schema: 'public', name: 'orders', columns: ['id', 'drink'] },
      { schema: 'public', name: 'tables', columns: ['id'] },
      { schema: 'shop', name: 'orders', columns: ['total'] },
    ]);
  });

  it('give the columns of those that the text names, each once', () => {
    const meant = columnsMeant('select  from "orders" o join Tables t', tablesIn({ rows }));
    expect([...meant]).toEqual([
      ['id', ['orders', 'tables']],
      ['drink', ['orders']],
      ['total', ['orders']],
    ]);
    expect(columnsMeant('select from order', tablesIn({ rows })).size).toBe(0);
  });

  it('are asked for again after what may have made others of them', () => {
    const run = (...commands: string[]) => {
      const all = commands.map((command) => ({ columns: [], rows: [], truncated: false, command }));
      return changesTables({ ...all.at(-1)!, earlier: all.slice(0, -1) });
    };
    expect([run('CREATE TABLE'), run('DROP TABLE', 'SELECT 1'), run('ALTER TABLE')]).toEqual([
      true,
      true,
      true,
    ]);
    expect([run('INSERT 0 1'), run('SELECT 2', 'UPDATE 1')]).toEqual([false, false]);
  });

  it('are quoted where PostgreSQL would read another name', () => {
    expect([quoted('orders'), quoted('Orders'), quoted('a"b')]).toEqual(['orders', '"Orders"', '"a""b"']);
  });
});
