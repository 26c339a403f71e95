import { expect, it } from 'vitest';
import type { StandbyReport } from '../../../ports/database-server.ts';
import { ballot, leadership, lsn, range, start } from '../testing/entries.ts';
import { beStandby } from './standby-phase.ts';
import { LifeFixture, positionAfter, stateOf, timings } from './testing/life-fixture.ts';

const [b1, b2] = [ballot(1, 'r1'), ballot(2, 'r2')];

function reportOf(flushed: number, replayed: number): StandbyReport {
  return { written: lsn(flushed), flushed: lsn(flushed), replayed: lsn(replayed) };
}

it('what a standby has flushed beyond the end of its timeline is not taken for WAL of the next one', async () => {
  const begun = [start(b1), leadership(b1, 1, 100), range(b1, 1, 100, 100)];
  const life = new LifeFixture(begun);
  void beStandby(life.context, stateOf({ kind: 'standby' }, positionAfter(begun)));
  await life.time.pass(10);
  // Its last record is whole up to 240 only.
  life.choose(range(b1, 1, 200, 50));
  life.handlers!.onReport(reportOf(250, 240));
  life.choose(start(b2), leadership(b2, 2, 240), range(b2, 2, 240, 5));
  await life.time.pass(2 * timings.saveMs);
  expect(life.payload.durableState()).toMatchObject({ position: { slot: 6, end: 240 } });
  life.handlers!.onReport(reportOf(245, 245));
  await life.time.pass(2 * timings.saveMs);
  expect(life.payload.durableState()).toMatchObject({ position: { slot: 7, end: 245 } });
  await life.time.until(life.payload.stop());
});
