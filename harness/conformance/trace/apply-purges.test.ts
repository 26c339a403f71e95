import { expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { toldAtPurges } from './apply-purges.ts';

it('who has been let go, or was just let in, does not count as everybody', () => {
  const purge = { layer: 'apply', name: 'Purge', run: 'a', seq: 2, atUs: 20 };
  const tells = (run: string, atUs: number, configuration: number, voters: readonly string[]) => ({
    layer: 'consensus',
    run,
    seq: 1,
    atUs,
    state: { configuration },
    configurations: [{ version: configuration, voters }],
  });
  const events = [
    tells('a', 10, 1, ['r1', 'r2']),
    tells('b', 15, 2, ['r2.2', 'r3']),
    purge,
  ] as unknown as TraceEvent[];
  expect([...toldAtPurges(events).values()]).toEqual([{ members: ['r2'], base: 0 }]);
});

it('a log begins behind what a copy has brought, once a record of that is durable', () => {
  const purge = (seq: number) => ({ layer: 'apply', name: 'Purge', run: 'a', seq, atUs: seq });
  const moves = (seq: number, name: string, base: number) => ({
    layer: 'consensus',
    name,
    run: 'a',
    seq,
    atUs: seq,
    base,
    state: { configuration: 1 },
  });
  const events = [moves(1, 'Restored', 46), purge(2), moves(3, 'Fsync', 46), purge(4)];
  expect([...toldAtPurges(events as unknown as TraceEvent[]).values()]).toEqual([
    { members: null, base: 0 },
    { members: null, base: 46 },
  ]);
});
