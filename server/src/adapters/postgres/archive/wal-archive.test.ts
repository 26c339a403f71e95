import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Lsn, segmentBytes, segmentName, segmentStart, type Timeline } from '../../../wal/lsn.ts';
import { mountSmallDisk } from '../../testing/small-disk.ts';
import { listSegments, readArchive } from './archive-contents.ts';
import type { ArchivedRange } from '../../../ports/wal-archive.ts';
import { openWalArchive, type WalArchiveOptions } from './wal-archive.ts';

let root: string;
let count = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-archive-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const MiB = 1024 * 1024;
const one = 1 as Timeline;
const two = 2 as Timeline;
const system = 7n;
const at = (mebibytes: number): Lsn => (mebibytes * MiB) as Lsn;

/** Each byte of the WAL says where it stands, and on which timeline. */
function wal(from: Lsn, to: Lsn, timeline: Timeline = one): Buffer {
  const bytes = Buffer.alloc(to - from);
  for (let i = 0; i < bytes.length; i += 4096) {
    const position = from + i;
    bytes.fill(1 + ((position / 4096 + timeline * 7) % 250), i, i + 4096);
  }
  return bytes;
}

const nothing: WalArchiveOptions['missing'] = () => Promise.resolve(null);

async function open(changes: Partial<WalArchiveOptions> = {}): Promise<{
  archive: Awaited<ReturnType<typeof openWalArchive>>;
  directory: string;
  problems: (string | null)[];
}> {
  const directory = changes.directory ?? join(root, `archive-${(count += 1)}`);
  const problems: (string | null)[] = [];
  const archive = await openWalArchive({
    directory,
    bytesMax: 1024 * MiB,
    system,
    history: (timeline) => `history of ${timeline}\n`,
    missing: nothing,
    flushMs: 1_000_000,
    onProblem: (problem) => problems.push(problem),
    ...changes,
  });
  return { archive, directory, problems };
}

async function contents(directory: string): Promise<string[]> {
  return (await listSegments(directory)).map(({ name }) => name);
}

it('what is given is found again in files of whole segments, the last one partial and full of zeros at its end', async () => {
  const { archive, directory, problems } = await open();
  const end = at(64 + 40.5);
  for (let from = at(64); from < end; from = (from + 3.25 * MiB) as Lsn) {
    const to = Math.min(from + 3.25 * MiB, end) as Lsn;
    await archive.append({ timeline: one, start: from, data: wal(from, to) });
  }
  await archive.flush();
  expect(archive.status()).toEqual({
    timeline: 1,
    end,
    durable: end,
    bytes: 3 * segmentBytes,
    gaps: 0,
    problem: null,
  });
  expect(await contents(directory)).toEqual([
    segmentName(one, at(64)),
    segmentName(one, at(80)),
    `${segmentName(one, at(96))}.partial`,
  ]);
  for (const name of await contents(directory)) {
    const bytes = await readFile(join(directory, name));
    const segment = (await listSegments(directory)).find((listed) => listed.name === name);
    const expected = Buffer.alloc(segmentBytes);
    wal(segment!.start, Math.min(segment!.start + segmentBytes, end) as Lsn).copy(expected);
    expect(bytes.equals(expected)).toBe(true);
  }
  expect((await readArchive(directory)).stretches).toEqual([{ from: at(64), to: end }]);
  expect(problems).toEqual([]);
  await archive.close();
});

it('a gap that cannot be filled is left visible: what follows goes into the next segment', async () => {
  const { archive, directory, problems } = await open();
  await archive.append({ timeline: one, start: at(0), data: wal(at(0), at(20)) });
  await archive.append({ timeline: one, start: at(21), data: wal(at(21), at(24)) });
  await archive.flush();
  expect(archive.status()).toMatchObject({ end: null, gaps: 1 });
  await archive.append({ timeline: one, start: at(24), data: wal(at(24), at(50)) });
  await archive.close();
  expect(archive.status()).toMatchObject({ end: at(50), gaps: 1, problem: null });
  expect(problems).toEqual([
    expect.stringMatching(/^WAL from 0\/1400000 on is missing.* goes on at 0\/2000000$/),
    null,
  ]);
  expect(await readArchive(directory)).toEqual({
    system,
    end: at(50),
    stretches: [
      { from: at(0), to: at(16) },
      { from: at(32), to: at(50) },
    ],
  });
});

it('what is missing is asked for: the beginning of the first segment, and what was lost', async () => {
  const asked: number[][] = [];
  const missing: WalArchiveOptions['missing'] = (from, to, timeline) => {
    asked.push([from / MiB, to / MiB]);
    return Promise.resolve(wal(from, to, timeline));
  };
  const { archive, directory } = await open({ missing });
  await archive.append({ timeline: one, start: at(5), data: wal(at(5), at(10)) });
  await archive.append({ timeline: one, start: at(35), data: wal(at(35), at(36)) });
  await archive.close();
  expect(asked).toEqual([
    [0, 5],
    [10, 16],
    [16, 32],
    [32, 35],
  ]);
  expect(archive.status()).toMatchObject({ gaps: 0, end: at(36) });
  expect((await readFile(join(directory, segmentName(one, at(0))))).equals(wal(at(0), at(16)))).toBe(true);
});

it('a new timeline goes on where it left the old one, and what lies beyond is nobody’s', async () => {
  const { archive, directory } = await open();
  await archive.append({ timeline: one, start: at(0), data: wal(at(0), at(35)) });
  await archive.append({ timeline: two, start: at(20), data: wal(at(20), at(40), two) });
  // Heard again, after a restart say.
  await archive.append({ timeline: one, start: at(0), data: wal(at(0), at(35)) });
  await archive.append({ timeline: two, start: at(20), data: wal(at(20), at(40), two) });
  await archive.append({ timeline: two, start: at(40), data: wal(at(40), at(50), two) });
  await archive.close();
  expect(await contents(directory)).toEqual([
    segmentName(one, at(0)),
    segmentName(one, at(16)),
    segmentName(two, at(16)),
    segmentName(two, at(32)),
    `${segmentName(two, at(48))}.partial`,
  ]);
  const forked = await readFile(join(directory, segmentName(two, at(16))));
  expect(forked.equals(Buffer.concat([wal(at(16), at(20)), wal(at(20), at(32), two)]))).toBe(true);
  expect(await readFile(join(directory, '00000002.history'), 'utf8')).toBe('history of 2\n');
  expect((await readArchive(directory)).stretches).toEqual([{ from: at(0), to: at(50) }]);
});

it('the oldest segments go when there are too many', async () => {
  const { archive, directory } = await open({ bytesMax: 3 * segmentBytes });
  for (let from = at(0); from < at(160); from = (from + 8 * MiB) as Lsn) {
    await archive.append({ timeline: one, start: from, data: wal(from, (from + 8 * MiB) as Lsn) });
  }
  await archive.close();
  expect(await contents(directory)).toEqual(
    [at(112), at(128), at(144)].map((start) => segmentName(one, start)),
  );
  expect(archive.status().bytes).toBe(3 * segmentBytes);
  expect((await readArchive(directory)).stretches).toEqual([{ from: at(112), to: at(160) }]);
});

it('the archive of another cluster is refused, and so is what is none', async () => {
  const { archive, directory } = await open();
  await archive.append({ timeline: one, start: at(0), data: wal(at(0), at(1)) });
  await archive.close();
  await expect(open({ directory, system: 8n })).rejects.toThrow(/identifier 7, not 8/);
  await expect(readArchive(root)).rejects.toThrow(/no archive/);
  await expect(readArchive(join(root, 'nowhere'))).rejects.toThrow(/no archive/);
  // A group that was restored has the same identifier, and would cut off what the old one has archived since.
  const named = await open({ cluster: 'c1' });
  await named.archive.append({ timeline: one, start: at(0), data: wal(at(0), at(1)) });
  await named.archive.close();
  await expect(open({ directory: named.directory, cluster: 'c2' })).rejects.toThrow(
    /had the name c1, .* \(c2\)/,
  );
  await (await open({ directory: named.directory, cluster: 'c1' })).archive.close();
  await writeFile(join(directory, 'archive.json'), '{"version":1}');
  await expect(open({ directory })).rejects.toThrow(/cannot be understood/);
});

it('any life of an archive, with restarts, gaps and forks, hides none and holds nothing but what was chosen', async () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('append' as const),
        pages: fc.integer({ min: 1, max: 3000 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('flush' as const), pages: fc.constant(0) }) },
    // Without a word; `pages`: what the replica has forgotten by then.
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('crash' as const), pages: fc.integer({ min: 0, max: 1500 }) }),
    },
    // `pages`: back from the end.
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('fork' as const), pages: fc.integer({ min: 0, max: 300 }) }),
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), fc.boolean(), async (steps, canFill) => {
      const chosen = new ChosenWal();
      const missing: WalArchiveOptions['missing'] = (from, to) =>
        Promise.resolve(canFill ? chosen.bytes(from, to) : null);
      let { archive, directory } = await open({ missing });
      let given = chosen.end;
      const give = (range: ArchivedRange): Promise<void> => {
        given = (range.start + range.data.byteLength) as Lsn;
        return archive.append(range);
      };
      for (const { kind, pages } of steps) {
        if (kind === 'append') await give(chosen.add(pages));
        if (kind === 'flush') await archive.flush();
        if (kind === 'fork') await give(chosen.fork(pages));
        if (kind !== 'crash') continue;
        await archive.flush();
        const lost = chosen.add(pages + 1);
        ({ archive } = await open({ directory, missing }));
        // The log still has the last of it, or it has not.
        if (pages % 2 === 0) await give(lost);
      }
      await archive.close();
      if (archive.status().durable === null) return;
      for (const { from, to } of (await readArchive(directory)).stretches) {
        expect(to).toBeLessThanOrEqual(chosen.end);
        expect((await archived(directory, from, to)).equals(chosen.bytes(from, to))).toBe(true);
      }
      const { end, gaps } = archive.status();
      expect(!canFill || end === null || (end === given && gaps === 0)).toBe(true);
    }),
    { numRuns: 12 },
  );
});

/** What PostgreSQL would read: of each segment the newest timeline's file. */
async function archived(directory: string, from: Lsn, to: Lsn): Promise<Buffer> {
  const newest = new Map((await listSegments(directory)).map((segment) => [segment.start, segment.name]));
  const parts: Buffer[] = [];
  for (let start = segmentStart(from); start < to; start = (start + segmentBytes) as Lsn) {
    parts.push(await readFile(join(directory, newest.get(start)!)));
  }
  return Buffer.concat(parts).subarray(0, to - from);
}

/** The chosen chain, as it is now. */
class ChosenWal {
  end = at(3);
  private timeline = one;
  private readonly all = Buffer.alloc(300 * MiB);

  add(pages: number): ArchivedRange {
    const start = this.end;
    const end = Math.min(start + pages * 4096, this.all.length) as Lsn;
    const data = wal(start, end, this.timeline);
    data.copy(this.all, start);
    this.end = end;
    return { timeline: this.timeline, start, data };
  }

  fork(pages: number): ArchivedRange {
    this.end = Math.max(at(3), this.end - pages * 4096) as Lsn;
    this.timeline = (this.timeline + 1) as Timeline;
    return this.add(10);
  }

  bytes(from: Lsn, to: Lsn): Buffer {
    return Buffer.from(this.all.subarray(from, to));
  }
}

const disk = mountSmallDisk();
afterAll(disk.remove);

it.skipIf(!disk.isMounted)(
  'a disk that is full stops the archive and nothing else, and it goes on when there is space',
  async () => {
    const filler = join(disk.path, 'filler');
    await writeFile(filler, Buffer.alloc(700 * 1024));
    const missing: WalArchiveOptions['missing'] = (from, to) => Promise.resolve(wal(from, to));
    const { archive, directory, problems } = await open({
      directory: join(disk.path, 'archive'),
      missing,
      retryMs: 50,
    });
    await archive.append({ timeline: one, start: at(0), data: wal(at(0), at(0.125)) });
    await archive.flush();
    await archive.append({ timeline: one, start: at(0.125), data: wal(at(0.125), at(0.6875)) });
    await archive.flush();
    expect(archive.status()).toMatchObject({ durable: at(0.125) });
    // A busy machine may have tried once more by now.
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) expect(problem).toMatch(/is not archived: ENOSPC/);
    await rm(filler);
    await new Promise((resolve) => setTimeout(resolve, 60));
    await archive.append({ timeline: one, start: at(0.6875), data: wal(at(0.6875), at(0.75)) });
    await archive.close();
    expect(archive.status()).toMatchObject({ durable: at(0.75), gaps: 0, problem: null });
    expect((await archived(directory, at(0), at(0.75))).equals(wal(at(0), at(0.75)))).toBe(true);
    await rm(directory, { recursive: true });
  },
);

it('names of files are those of PostgreSQL', async () => {
  expect(await readdir(root)).toContain('archive-1');
  expect((await listSegments(join(root, 'archive-1')))[0]).toEqual({
    name: '000000010000000000000004',
    timeline: 1,
    start: at(64),
    isPartial: false,
  });
});
