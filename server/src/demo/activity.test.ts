import { describe, expect, it } from 'vitest';
import type { Client } from 'pg';
import { createActivityReader, look, waitOf } from './activity.ts';

describe('what a session waits for', () => {
  it("is Barista's gate where PostgreSQL waits for its synchronous standby", () => {
    expect(waitOf('active', 'IPC', 'SyncRep')).toEqual({ kind: 'gate', text: 'until its WAL is chosen' });
    expect(waitOf('active', 'Lock', 'transactionid')).toEqual({ kind: 'lock', text: 'Lock: transactionid' });
    expect(waitOf('active', 'IO', 'WalSync')).toEqual({ kind: 'other', text: 'IO: WalSync' });
  });

  it('is nothing to tell of while it waits for its client', () => {
    expect(waitOf('idle in transaction', 'Client', 'ClientRead')).toBeNull();
    expect(waitOf('active', null, null)).toBeNull();
  });
});

it('a replica whose PostgreSQL does not run cannot be asked, and says so', async () => {
  await expect(createActivityReader().read('/nowhere')).rejects.toThrow('its PostgreSQL is not running');
});

it('whoever looks writes nothing, by PostgreSQL itself; where statements are not counted yet it says what to do', async () => {
  const asked: string[] = [];
  const client = {
    query: async (sql: string) => {
      asked.push(sql);
      if (sql.includes('pg_is_in_recovery')) return { rows: [{ standby: false }] };
      if (sql.includes('shared_preload')) return { rows: [{ loaded: 'pg_stat_statements', schema: null }] };
      return { rows: [] };
    },
  } as unknown as Pick<Client, 'query'>;
  const { statements } = await look(client);
  expect(statements).toMatchObject({ kind: 'untold', canCount: true });
  expect([asked[0], asked.at(-1)]).toEqual(['BEGIN TRANSACTION READ ONLY', 'COMMIT']);
  expect(asked.join()).not.toContain('CREATE');
});

it("passwords in clients' statements are told to nobody", async () => {
  const sql = "ALTER ROLE ann PASSWORD 'secret'";
  const client = {
    query: async (asked: string) => {
      if (asked.includes('pg_is_in_recovery')) return { rows: [{ standby: false }] };
      if (asked.includes('shared_preload')) return { rows: [{ loaded: 'pg_stat_statements', schema: 'x' }] };
      if (asked.includes('pg_stat_activity')) return { rows: [{ sql, state: 'active', stateMs: '1' }] };
      return asked.includes('FROM x.pg_stat_statements(true)') ? { rows: [{ sql }] } : { rows: [] };
    },
  } as unknown as Pick<Client, 'query'>;
  const told = await look(client);
  expect(told.sessions).toHaveLength(1);
  expect(told.statements).toMatchObject({ kind: 'told' });
  expect(JSON.stringify(told)).not.toContain('secret');
});
