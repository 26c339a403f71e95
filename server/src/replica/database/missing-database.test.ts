import { expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { type Joined, missingDatabase } from './missing-database.ts';

const others = ['r2', 'r3'] as ReplicaId[];

function missing(
  { purgedTo = 0, commitPoint = 0, slot = 0 }: { purgedTo?: number; commitPoint?: number; slot?: number },
  cause: Joined['cause'] | null = null,
  rest = others,
): string {
  const log = {
    recovered: { commitPoint: commitPoint as Slot, configuration: { slot: slot as Slot } },
    stats: () => ({ purgedTo: purgedTo as Slot }),
  };
  const joined = cause === null ? null : { cause, purgedTo: 0 as Slot };
  const found = missingDatabase({ log, joined, others: rest });
  return found.kind === 'create' ? 'create' : `${found.loss.cause}: ${found.loss.reason}`;
}

it('a database is made by the founder of a group, while its log holds nothing', () => {
  expect(missing({})).toBe('create');
});

it('a log that has chosen or purged something is of a group that has a database', () => {
  expect(missing({ commitPoint: 1 })).toBe('databaseLost: its directory is empty');
  expect(missing({ purgedTo: 1 })).toBe('databaseLost: its directory is empty');
});

it('who has been let in makes no database, whatever its log holds', () => {
  expect(missing({}, 'new')).toBe('new: its directory is empty');
  expect(missing({ commitPoint: 1 }, 'new')).toBe('new: its directory is empty');
});

it('who was let in makes none in a later life, though its log holds nothing yet', () => {
  expect(missing({ slot: 7 })).toBe('databaseLost: its directory is empty');
});

it('who was let in again, and has no database, has lost both', () => {
  expect(missing({}, 'logLost')).toBe('bothLost: its directory is empty');
  expect(missing({}, 'bothLost')).toBe('bothLost: its directory is empty');
});

it('a member that is alone is told that nobody else has a copy', () => {
  expect(missing({ commitPoint: 1 }, null, [])).toContain('restore a backup');
});
