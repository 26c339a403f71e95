import { expect, it } from 'vitest';
import { raisedTo, watchLimits } from './standby-limits.ts';

const least = {
  max_connections: 170,
  max_worker_processes: 8,
  max_wal_senders: 8,
  max_prepared_transactions: 170,
  max_locks_per_transaction: 128,
};

it('what is configured lower, or not at all where PostgreSQL would take less, is raised; all else stays', () => {
  const settings = {
    max_connections: '40',
    max_wal_senders: '10',
    max_prepared_transactions: '170',
    jit: 'off',
  };
  expect(raisedTo(least, settings)).toEqual({
    max_connections: '170',
    max_wal_senders: '10',
    max_prepared_transactions: '170',
    max_locks_per_transaction: '128',
    jit: 'off',
  });
});

it('what PostgreSQL must judge is left to it', () => {
  expect(raisedTo(least, { ...raisedTo(least, {}), max_connections: 'many' })).toMatchObject({
    max_connections: 'many',
  });
});

it('that a standby cannot go on is heard once, wherever the text is cut', () => {
  const text =
    '2026-11-22 09:00:00.000 UTC [7] 22023 WARNING:  hot standby is not possible because of insufficient parameter settings\n';
  for (let at = 0; at <= text.length; at += 1) {
    let times = 0;
    const hear = watchLimits(() => {
      times += 1;
    });
    hear('x'.repeat(1_000));
    hear(text.slice(0, at));
    hear(text.slice(at));
    hear('and more');
    expect(times).toBe(1);
  }
});
