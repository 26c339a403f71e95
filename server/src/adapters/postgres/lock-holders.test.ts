import { expect, it } from 'vitest';
import { holdersPlan, type LockTableFacts } from './lock-holders.ts';

const bytes = { lock: 168, holder: 80 };

/** How many locks clients can take, and how many of them a standby can have for itself and for its prepared transactions. */
function after(facts: LockTableFacts): { readonly clients: number; readonly promoted: number } {
  const { sessions, locks } = holdersPlan(facts)!;
  const total = facts.free + (facts.entries / 2) * bytes.lock + facts.entries * bytes.holder;
  const holders = Math.max(facts.entries, sessions * locks);
  return {
    clients: Math.floor((total - holders * bytes.holder) / bytes.lock),
    promoted: Math.floor(total / (bytes.lock + 2 * bytes.holder)),
  };
}

// As PostgreSQL 18 tells them with 16 and 64 locks for each transaction, and 30 and 100 sessions.
it.each([
  { entries: 1_520, used: 0, free: 576_000, nominal: 960 },
  { entries: 15_040, used: 0, free: 3_621_120, nominal: 12_800 },
])('clients can take what the settings say, and no more than a standby can be promoted with: %o', (facts) => {
  const { clients, promoted } = after(facts);
  expect(clients).toBeLessThanOrEqual(promoted);
  expect(clients).toBeGreaterThanOrEqual(facts.nominal);
});

it('nothing is gained where half of the locks are held already', () => {
  expect(holdersPlan({ entries: 1_000, used: 500, free: 100_000 })).toBeNull();
});
