import { describe, expect, it } from 'vitest';
import { createActivityReader, waitOf } from './activity.ts';

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
