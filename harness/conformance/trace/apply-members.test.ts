import { expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { membersAtPurges } from './apply-members.ts';

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
  expect([...membersAtPurges(events).values()]).toEqual([['r2']]);
});
