import { describe, expect, it } from 'vitest';
import type { PrimaryDatabase } from '../../../ports/database-server.ts';
import type { Lsn } from '../../../wal/lsn.ts';
import type { Shipper } from '../shipper.ts';
import { Barriers } from './barriers.ts';
import { LifeFixture, timings } from './testing/life-fixture.ts';

const { patienceMs } = timings;

/** A primary whose barriers hang, or end as `barrier` says, and the WAL of which comes at `bytesPerSecond`. */
function primary(bytesPerSecond: number, barrier: () => Promise<Lsn> = () => new Promise(() => undefined)) {
  const life = new LifeFixture([]);
  const asked = { times: 0 };
  const database = {
    barrier: () => {
      asked.times += 1;
      return barrier();
    },
  } as PrimaryDatabase;
  const shipper = {
    get received() {
      return (life.time.nowMs() * bytesPerSecond) as Lsn;
    },
    isPaused: false,
    releasedTo: 0 as Lsn,
  } as Shipper;
  life.context.shipper = shipper;
  const barriers = new Barriers(life.context, database, shipper);
  barriers.pass().catch(() => undefined);
  return { life, barriers, asked };
}

describe('a barrier that PostgreSQL does not make', () => {
  it('is trouble where nothing else comes of PostgreSQL either', async () => {
    const { life, barriers } = primary(0);
    await life.time.pass(patienceMs - 100);
    expect(barriers.trouble).toBeNull();
    await life.time.pass(200);
    expect(barriers.trouble).toContain(`no barrier for ${patienceMs} ms`);
  });

  it('is waited for while WAL comes that it may wait behind, a minute at most, in few sessions', async () => {
    const { life, barriers, asked } = primary(1_000_000);
    await life.time.pass(11 * patienceMs);
    expect(barriers.trouble).toBeNull();
    await life.time.pass(2 * patienceMs);
    expect(barriers.trouble).toContain('no barrier for 60000 ms');
    expect(asked.times).toBeLessThan(20);
  });

  it('is trouble where PostgreSQL says why it makes none, whatever else it writes', async () => {
    const { life, barriers } = primary(1_000_000, () => Promise.reject(new Error('no lock')));
    await life.time.pass(patienceMs + 100);
    expect(barriers.trouble).toContain(`no barrier for ${patienceMs} ms: no lock`);
  });
});
