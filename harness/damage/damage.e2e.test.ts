/** The short version of `npm run damage`: damage that PostgreSQL does not name, or does not notice while it runs. */
import { expect, it } from 'vitest';
import { damageGroup } from './damage-group.ts';
import { findingsOf } from './report.ts';
import type { Case, Outcome } from './run-case.ts';

const cases: readonly Case[] = [
  { target: 'data/pg_wal/<newest>', action: 'overwrite', role: 'follower', when: 'stopped' },
  { target: 'data/<database>/pg_filenode.map', action: 'delete', role: 'follower', when: 'running' },
  { target: 'data/pg_xact/<newest>', action: 'overwrite', role: 'leader', when: 'stopped' },
  { target: 'data/<table>', action: 'cut', role: 'follower', when: 'stopped' },
];

it('a replica whose files are damaged is whole again by itself, with a copy', async () => {
  const outcomes: Outcome[] = [];
  const wrong = await damageGroup({
    payload: 'wal',
    cases,
    wholeMsMax: 120_000,
    say: (outcome) => outcomes.push(outcome),
  });
  expect({ wrong, findings: findingsOf(outcomes) }).toEqual({ wrong: [], findings: [] });
  expect(outcomes.map(({ code, copies }) => [code, copies > 0])).toEqual(cases.map(() => ['whole', true]));
});
