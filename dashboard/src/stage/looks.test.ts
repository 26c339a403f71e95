/** The stage draws each replica as what it is: up, silent or gone, leading or not, with a database that runs or does not. */
import { describe, expect, test } from 'vitest';
import type { ClusterReplica } from '../../../server/src/api/status.ts';
import { staleMs } from '../model/cluster-view.ts';
import { clusterOf, replica, status } from '../model/testing.ts';
import { type Look, looksOf } from './looks.ts';

function lookOf(one: ClusterReplica, leader: string | null = 'r1'): Look {
  return looksOf(clusterOf(one), leader)[0]!;
}

const postgres = status('r1').postgres;

describe('a look', () => {
  test('says whether a replica runs, and whether it is heard', () => {
    const livenessOf = (seen: Partial<Pick<ClusterReplica, 'process' | 'ageMs'>>) =>
      lookOf(replica('r2', {}, seen)).liveness;
    expect(livenessOf({})).toBe('up');
    expect(livenessOf({ ageMs: staleMs + 1 })).toBe('silent');
    expect(livenessOf({ process: 'paused' })).toBe('asleep');
    expect(livenessOf({ process: 'stopped' })).toBe('down');
  });

  test('says whether its PostgreSQL is up, as far as that is known', () => {
    const databaseOf = (one: ClusterReplica) => {
      const { database, databaseText } = lookOf(one);
      return [database, databaseText];
    };
    expect(databaseOf(replica('r2'))).toEqual(['up', 'PostgreSQL up']);
    expect(databaseOf(replica('r2', { postgres: { ...postgres, up: false } }))).toEqual([
      'down',
      'PostgreSQL down',
    ]);
    expect(databaseOf(replica('r2', {}, { process: 'stopped' }))).toEqual(['down', 'PostgreSQL down']);
    expect(databaseOf(replica('r2', {}, { ageMs: staleMs + 1 }))).toEqual(['unknown', 'PostgreSQL unknown']);
  });

  test('has a leader leading, and one that was deposed and has not heard of it as well', () => {
    const led = replica('r1', { role: 'leader' });
    expect(lookOf(led, 'r1')).toMatchObject({ role: 'leader', isLeading: true });
    expect(lookOf(led, 'r2')).toMatchObject({ role: 'deposed', isLeading: true });
    expect(lookOf(replica('r3'), 'r1')).toMatchObject({ role: 'follower', isLeading: false });
  });
});
