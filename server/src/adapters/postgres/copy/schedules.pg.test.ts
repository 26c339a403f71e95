/** Random lives of three PostgreSQLs: whoever led is cut off, goes on writing, crashes, and is rewound. `BARISTA_COPY_SCHEDULES`, `BARISTA_COPY_SEED`: how many, and from which seed on. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CopyProgress } from '../../../ports/copy.ts';
import { seededRandom } from '../../ws-transport/link-faults.ts';
import { differences, installAmcheck } from './testing/compare-databases.ts';
import { copyTo, ledRole, say, sourceOf } from './testing/copying.ts';
import { PlainPostgres, testBinaries } from './testing/plain-postgres.ts';
import { pick, type Random, settle, startLoad, startReaders } from './testing/random-load.ts';

const schedules = Number(process.env['BARISTA_COPY_SCHEDULES'] ?? 3);
const firstSeed = Number(process.env['BARISTA_COPY_SEED'] ?? 1);

let root: string;
/** The primary, its standby, and the standby of that. */
let trio: [PlainPostgres, PlainPostgres, PlainPostgres];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-schedules-'));
  const binaries = await testBinaries();
  const [a, b, c] = ['a', 'b', 'c'].map((name) => new PlainPostgres(join(root, name), binaries));
  trio = [a!, b!, c!];
  await trio[0].create(join(root, 'template'));
  await trio[0].start();
  for (const database of ['template1', 'postgres']) await trio[0].query(installAmcheck, database);
  for (const i of [1, 2] as const) {
    await copyTo(trio[i], await sourceOf(trio[0]));
    await trio[i].start(trio[i - 1]);
  }
});
afterAll(async () => {
  for (const postgres of trio) await postgres.stop('immediate');
  await rm(root, { recursive: true, force: true });
});

it.each(Array.from({ length: schedules }, (_, i) => firstSeed + i))(
  'seed %i: a leader that was cut off is rewound and equals the others',
  async (seed) => {
    const random = seededRandom(seed);
    const told = await runSchedule(random);
    // A list would be shown as its length.
    expect(told.problems.slice(0, 10).join('\n'), `seed ${seed}, ${told.story}`).toBe('');
    console.log(`seed ${seed}: ${told.story}`);
  },
);

async function runSchedule(random: Random): Promise<{ story: string; problems: string[] }> {
  const [old, heir, third] = trio;
  const story: string[] = [];
  const moment = (): Promise<void> => sleep(200 + random() * 1_300);
  // Either nobody sees a commit that was not chosen, or somebody may.
  const waits = random() < 0.6;
  if (waits) await old.set('synchronous_standby_names', '*');
  const load = startLoad(old, 3, random);
  await moment();
  await load.stop();
  await heir.cutOff();
  const unchosen = startLoad(old, waits ? 16 : 4, random);
  const readers = startReaders(old, 2, random);
  await moment();
  await Promise.all([unchosen.stop(), readers.stop()]);
  const crash = waits || random() < 0.5 ? 'immediate' : 'fast';
  story.push(waits ? 'commits waited' : 'commits did not wait', crash);
  await old.stop(crash);
  if (!waits && random() < 0.3) {
    // It recovers what was not chosen, and shows it.
    await old.start();
    await startReaders(old, 1, random).stop();
    await old.stop('immediate');
    story.push('restarted');
  }
  await heir.promote();
  const later = startLoad(heir, 3, random);
  await moment();
  if (random() < 0.5) await later.stop();
  await say(old, ledRole);
  story.push(await rewind(old, [heir, third], random));
  await later.stop();
  await old.start(heir);
  await settle(heir, random);
  const problems = await differences(heir, old);
  await heir.start();
  await old.start(third);
  trio = [heir, third, old];
  return { story: story.join(', '), problems };
}

/** Interrupted now and then, and gone on with from whomever. */
async function rewind(
  old: PlainPostgres,
  sources: readonly PlainPostgres[],
  random: Random,
): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const source = await sourceOf(pick(random, sources));
    const control = new AbortController();
    const end = attempt < 4 && random() < 0.5 ? random() * 20_000_000 : Number.POSITIVE_INFINITY;
    const onProgress = ({ bytesReceived }: CopyProgress): void => {
      if (bytesReceived > end) control.abort(new Error('enough'));
    };
    try {
      const copied = await copyTo(old, source, { onProgress, signal: control.signal });
      const share = Math.round((100 * copied.blocksReceived * 8192) / copied.bytesTotal);
      return `${attempt} attempts, ${copied.blocksReceived} blocks in the last, ${share}%`;
    } catch (error) {
      if (!control.signal.aborted) throw error;
    }
  }
}
