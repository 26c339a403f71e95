import { expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { disagreementIn } from './apply-agreement.ts';

const first = { round: 1, replica: 'r1' };
const second = { round: 3, replica: 'r1' };

/** Events of one run, in their order. */
function reasonOf(...events: readonly Readonly<Record<string, unknown>>[]): string | undefined {
  const trace = events.map((event, index) =>
    Object.assign({ layer: 'apply', run: 'a', seq: index + 1 }, event),
  );
  return disagreementIn(trace as unknown as readonly TraceEvent[])?.reason;
}

const leads = (ballot: unknown) => ({ layer: 'consensus', state: { role: 'leader', ballot } });
const ship = (end: number, commits: readonly string[], leadership = first) => ({
  name: 'Ship',
  leadership,
  end,
  commits,
});
const release = (position: number, commits: readonly string[]) => ({ name: 'Release', position, commits });

it('a report releases the transactions that were shipped up to there, and each once', () => {
  const shipped = [ship(100, ['7']), ship(200, ['8', '9']), ship(300, [])];
  expect(reasonOf(...shipped, release(200, ['7', '8', '9']), release(300, []))).toBeUndefined();
  expect(reasonOf(...shipped, release(100, ['8']))).toMatch('releases [8]');
  expect(reasonOf(...shipped, release(100, ['7', '8', '9']))).toMatch('commits [7]');
  expect(reasonOf(...shipped, release(200, ['7', '8', '9']), release(300, ['9']))).toMatch('releases [9]');
});

it('what a leadership did not get released its replica does not release in the next one', () => {
  const next = ship(150, ['8'], second);
  expect(reasonOf(ship(100, ['7']), next, release(150, ['8']))).toBeUndefined();
  expect(reasonOf(ship(100, ['7']), next, release(150, ['7', '8']))).toMatch('commits [8]');
});

it('a copy ends from where it began', () => {
  const begun = { name: 'BeginCopy', source: 'r2.2' };
  expect(reasonOf(begun, { name: 'EndCopy', source: 'r2.2' })).toBeUndefined();
  expect(reasonOf(begun, { name: 'EndCopy', source: 'r2' })).toMatch('from r2.2 has begun');
  expect(reasonOf({ name: 'GiveUpCopy', source: 'r2' })).toMatch('from nobody has begun');
});

it('a leadership that its replica had ends once', () => {
  const over = { name: 'Depose', leadership: first };
  expect(reasonOf(leads(first), leads(second), over)).toBeUndefined();
  expect(reasonOf(leads(second), over)).toMatch('no leader in 1.r1');
  expect(reasonOf(leads(first), over, over)).toMatch('once more');
});

it('records end as far apart as a record is long, but at the end of a segment', () => {
  const replay = (replayed: number) => ({ name: 'Replay', replayed });
  expect(reasonOf(replay(1000), replay(1024), replay(1024))).toBeUndefined();
  expect(reasonOf(replay(1000), replay(1016))).toBe('a record would end at 1016, and one at 1000');
  expect(reasonOf(replay(1000), { name: 'BeginLeadership', resumes: false, fork: 992 })).toBe(
    'a record would end at 1000, and one at 992',
  );
  expect(reasonOf(replay(16_777_208), replay(16_777_216))).toBeUndefined();
});

it('what a standby replays of the WAL that it came up with counts up to where it is given it again, in the middle of a record too', () => {
  const replay = (replayed: number) => ({ name: 'Replay', replayed });
  const up = { name: 'DatabaseUp', role: 'standby', position: 1040 };
  expect(reasonOf(replay(1000), up, replay(1016), replay(1040), replay(1064))).toBeUndefined();
  expect(reasonOf(replay(1000), up, replay(1016), replay(1064), replay(1080))).toMatch(
    'end at 1080, and one at 1064',
  );
});
