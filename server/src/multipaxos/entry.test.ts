import { describe, expect, it } from 'vitest';
import { entryBytes, entryLabel, proposalLabel } from './entry.ts';
import {
  ballot,
  command,
  configuration,
  configurationEntry,
  group,
  noop,
  r1,
  r2,
} from './testing/one-core.ts';
import type { ReplicaId } from './types/names.ts';

describe('an entry', () => {
  it('has a label of its own', () => {
    expect(entryLabel(noop)).toBe('noop');
    expect(entryLabel({ kind: 'leaderStart', group, ballot: ballot(3, r1) })).toBe('start:3.r1');
    expect(entryLabel({ kind: 'leaderStart', group, ballot: ballot(3, r2) })).toBe('start:3.r2');
    expect(entryLabel(command('c'))).toBe('c/1');
    expect(proposalLabel({ client: 'c', request: 2 })).toBe('c/2');
  });

  it('weighs its payload and what holds it', () => {
    expect(entryBytes(command('c', 1000)) - entryBytes(noop)).toBe(1000);
    expect(entryBytes(noop)).toBeGreaterThan(0);
  });

  it('weighs more with each member that it names', () => {
    const weigh = (...voters: ReplicaId[]): number =>
      entryBytes(configurationEntry(ballot(1, r1), configuration(voters)));
    expect(weigh(r1, r2)).toBeGreaterThan(weigh(r1));
    expect(weigh(r1, r2) - weigh(r1)).toBe(weigh(r1) - entryBytes(noop));
  });
});
