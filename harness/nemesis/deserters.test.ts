import { expect, test } from 'vitest';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { Deserters } from './deserters.ts';

const of = (process: 'running' | 'stopped') => [{ id: 'r1' as ReplicaId, process }];
const nobody = (): boolean => false;

test('who ends by itself is told, once, after several looks', () => {
  const deserters = new Deserters();
  expect(deserters.look(of('stopped'), nobody)).toEqual([]);
  expect(deserters.look(of('stopped'), nobody)).toEqual([]);
  expect(deserters.look(of('stopped'), nobody)).toEqual(['r1']);
  expect(deserters.look(of('stopped'), nobody)).toEqual([]);
});

test('who is struck by a fault, or comes back, has not', () => {
  const deserters = new Deserters();
  for (let look = 0; look < 5; look += 1)
    expect(deserters.look(of('stopped'), (id) => id === 'r1')).toEqual([]);
  for (const process of ['stopped', 'stopped', 'running', 'stopped', 'stopped'] as const)
    expect(deserters.look(of(process), nobody)).toEqual([]);
});
