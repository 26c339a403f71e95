import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { systemClock } from '../../adapters/system-clock.ts';
import { positionNone } from '../../wal/position.ts';
import { VerifyPoint, type VerifyPointOptions } from './verify-point.ts';

const waitMs = 100;
const never = new Promise<never>(() => undefined);

function pointWith(changes: Partial<VerifyPointOptions>): { point: VerifyPoint; said: string[] } {
  const said: string[] = [];
  const point = new VerifyPoint({
    isThere: () => true,
    takeSnapshot: () => never,
    onGivenUp: (check, _, reason) => said.push(`${check}: ${reason}`),
    letGo: () => said.push('let go'),
    timers: systemClock,
    waitMs,
    pollMs: 5,
    ...changes,
  });
  return { point, said };
}

it('a snapshot that does not come is given up in time, and the database goes on', async () => {
  const { point, said } = pointWith({});
  await point.meet('one', positionNone);
  expect(said).toEqual([`one: a snapshot could not be had within ${waitMs} ms`, 'let go']);
});

it('a position that is not reached is given up in time', async () => {
  const { point, said } = pointWith({ isThere: () => false });
  await point.meet('one', positionNone);
  expect(said).toEqual([`one: the database did not get there within ${waitMs} ms`, 'let go']);
});

it('a snapshot that fails late is told once', async () => {
  const { point, said } = pointWith({
    takeSnapshot: async () => {
      await sleep(2 * waitMs);
      throw new Error('too late');
    },
  });
  await point.meet('one', positionNone);
  await sleep(2 * waitMs);
  expect(said).toEqual([`one: a snapshot could not be had within ${waitMs} ms`, 'let go']);
});

it('what is abandoned is not reported, and one that has begun meanwhile holds on', async () => {
  const { point, said } = pointWith({
    takeSnapshot: (check) => (check === 'one' ? never : sleep(waitMs / 2)),
  });
  const first = point.meet('one', positionNone);
  const second = point.meet('two', positionNone);
  await first;
  expect(said).toEqual([]);
  await second;
  expect(said).toEqual(['let go']);
});
