/**
 * What a replica relies on in every WalArchive, as one suite that each adapter runs against itself.
 *
 * An adapter's test calls `describeWalArchive` with a way to make a place for an archive.
 */
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { type Lsn, segmentBytes, type Timeline } from '../../wal/lsn.ts';
import type { ArchiveSource, WalArchive } from '../wal-archive.ts';

/** Where an archive is kept. It is open once at a time. */
export interface ArchiveFixture {
  /** @throws Error if what is there is another cluster's */
  open(source: ArchiveSource): Promise<WalArchive>;
  /** What is there for good, in order, and without a gap in each. */
  contents(): Promise<readonly { readonly from: Lsn; readonly bytes: Buffer }[]>;
  dispose(): Promise<void>;
}

const kib = 1024;
const [one, two] = [1, 2] as [Timeline, Timeline];

/** So many KiB before or behind the end of the first segment. */
function at(kibibytes: number): Lsn {
  return (segmentBytes + kibibytes * kib) as Lsn;
}

/** Every KiB says where it stands, and on which timeline. */
function wal(from: Lsn, to: Lsn, timeline: Timeline = one): Buffer {
  const bytes = Buffer.alloc(to - from);
  for (let n = 0; n < bytes.length; n += kib)
    bytes.fill(1 + (((from + n) / kib + timeline * 7) % 250), n, n + kib);
  return bytes;
}

/** Short enough to be compared, and told. */
function told(from: Lsn, bytes: Buffer): string {
  return `${from} ${from + bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`;
}

const nothing: ArchiveSource['missing'] = () => Promise.resolve(null);
const all: ArchiveSource['missing'] = (from, to, timeline) => Promise.resolve(wal(from, to, timeline));

export function describeWalArchive(name: string, make: () => Promise<ArchiveFixture>): void {
  describe(`the contract of archives of WAL: ${name}`, () => {
    const made: ArchiveFixture[] = [];
    afterEach(async () => {
      for (const fixture of made.splice(0)) await fixture.dispose();
    });
    async function setUp(missing = nothing) {
      const fixture = await make();
      made.push(fixture);
      const open = (system = 7n): Promise<WalArchive> =>
        fixture.open({ system, history: (timeline) => `history of ${timeline}\n`, missing });
      return { fixture, open };
    }
    function give(archive: WalArchive, from: Lsn, to: Lsn, timeline: Timeline = one): Promise<void> {
      return archive.append({ timeline, start: from, data: wal(from, to, timeline) });
    }

    it('keep what they are given, and say how far that is', async () => {
      const { fixture, open } = await setUp();
      const archive = await open();
      expect(archive.status()).toEqual({
        timeline: null,
        end: null,
        durable: null,
        bytes: 0,
        gaps: 0,
        problem: null,
      });
      await give(archive, at(0), at(40));
      await give(archive, at(40), at(100));
      await archive.close();
      const status = { timeline: 1, end: at(100), durable: at(100), gaps: 0, problem: null };
      expect(archive.status()).toMatchObject(status);
      expect(archive.status().bytes).toBeGreaterThan(0);
      expect(await contentsOf(fixture)).toEqual([told(at(0), wal(at(0), at(100)))]);
    });

    it('go on where they were left; what is given again changes nothing', async () => {
      const { fixture, open } = await setUp();
      const first = await open();
      await give(first, at(0), at(40));
      await first.close();
      const second = await open();
      expect(second.status()).toMatchObject({ timeline: 1, end: at(40), durable: at(40), gaps: 0 });
      await give(second, at(0), at(20));
      await give(second, at(20), at(60));
      await second.close();
      expect(second.status()).toMatchObject({ end: at(60), durable: at(60), gaps: 0 });
      expect(await contentsOf(fixture)).toEqual([told(at(0), wal(at(0), at(60)))]);
    });

    it('ask for what was not given: the beginning of a segment, and what lies between, of one segment at a time', async () => {
      const asked: (readonly [Lsn, Lsn])[] = [];
      const { fixture, open } = await setUp((from, to, timeline) => {
        asked.push([from, to]);
        return all(from, to, timeline);
      });
      const archive = await open();
      await give(archive, at(5), at(10));
      const next = segmentBytes / kib;
      await give(archive, at(next + 20), at(next + 30));
      await archive.close();
      expect(asked).toEqual([
        [at(0), at(5)],
        [at(10), at(next)],
        [at(next), at(next + 20)],
      ]);
      expect(archive.status()).toMatchObject({ end: at(next + 30), gaps: 0 });
      expect(await contentsOf(fixture)).toEqual([told(at(0), wal(at(0), at(next + 30)))]);
    });

    it('let go of what nobody needs, segment by segment, and of nothing else', async () => {
      const { fixture, open } = await setUp();
      const archive = await open();
      const next = segmentBytes / kib;
      for (const segment of [0, 1, 2, 3]) await give(archive, at(segment * next), at((segment + 1) * next));
      await archive.forgetBelow(at(next + 5));
      await give(archive, at(4 * next), at(4 * next + 10));
      await archive.close();
      expect(archive.status()).toMatchObject({ end: at(4 * next + 10), durable: at(4 * next + 10), gaps: 0 });
      expect(await contentsOf(fixture)).toEqual([told(at(next), wal(at(next), at(4 * next + 10)))]);
      const again = await open();
      await again.forgetBelow(at(100 * next));
      await give(again, at(4 * next + 10), at(4 * next + 20));
      await again.close();
      const [kept] = await fixture.contents();
      expect(kept?.from).toBe(at(3 * next));
      expect(again.status()).toMatchObject({ end: at(4 * next + 20), gaps: 0, problem: null });
    });

    it('never hide a gap: what follows one counts from the next segment on', async () => {
      const { fixture, open } = await setUp();
      const archive = await open();
      const next = segmentBytes / kib;
      await give(archive, at(-next), at(0));
      await give(archive, at(0), at(10));
      await give(archive, at(20), at(30));
      await give(archive, at(30), at(next - 20));
      await give(archive, at(next - 20), at(next + 40));
      await archive.close();
      expect(archive.status()).toMatchObject({ end: at(next + 40), gaps: 1 });
      expect(await contentsOf(fixture)).toEqual([
        told(at(-next), wal(at(-next), at(0))),
        told(at(next), wal(at(next), at(next + 40))),
      ]);
    });

    it('follow a new timeline from where it leaves the old one, of which nothing is taken any more', async () => {
      const { fixture, open } = await setUp();
      const archive = await open();
      await give(archive, at(0), at(50));
      await give(archive, at(20), at(40), two);
      await give(archive, at(0), at(50));
      await archive.close();
      expect(archive.status()).toMatchObject({ timeline: 2, end: at(40), durable: at(40), gaps: 0 });
      const bytes = Buffer.concat([wal(at(0), at(20)), wal(at(20), at(40), two)]);
      expect(await contentsOf(fixture)).toEqual([told(at(0), bytes)]);
      const again = await open();
      expect(again.status()).toMatchObject({ timeline: 2, end: at(40) });
      await again.close();
    });

    it('begin anew on a timeline that begins behind what they have', async () => {
      const { fixture, open } = await setUp();
      const archive = await open();
      const next = segmentBytes / kib;
      await give(archive, at(-next), at(0));
      await give(archive, at(20), at(next + 10), two);
      await archive.close();
      expect(archive.status()).toMatchObject({ timeline: 2, end: at(next + 10), gaps: 1 });
      expect(await contentsOf(fixture)).toEqual([
        told(at(-next), wal(at(-next), at(0))),
        told(at(next), wal(at(next), at(next + 10), two)),
      ]);
    });

    it('hide no gap where a new timeline leaves the old one just before the segment behind it', async () => {
      const { fixture, open } = await setUp();
      const archive = await open();
      const next = segmentBytes / kib;
      await give(archive, at(0), at(10));
      await give(archive, at(20), at(next + 40));
      await give(archive, at(next - 4), at(next + 50), two);
      await archive.close();
      expect(archive.status()).toMatchObject({ timeline: 2, end: at(next + 50), durable: at(next + 50) });
      expect(await contentsOf(fixture)).toEqual([told(at(next), wal(at(next), at(next + 50), two))]);
    });

    it('are of one cluster', async () => {
      const { open } = await setUp();
      const archive = await open();
      await give(archive, at(0), at(10));
      await archive.close();
      await expect(open(8n)).rejects.toThrow('7');
    });
  });
}

async function contentsOf(fixture: ArchiveFixture): Promise<readonly string[]> {
  return (await fixture.contents()).map(({ from, bytes }) => told(from, bytes));
}
