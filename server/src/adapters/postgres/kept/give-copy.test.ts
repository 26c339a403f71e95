import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair, Transform } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import type { Slot } from '../../../multipaxos/types/names.ts';
import { keptCopySource, lookAtKeptCopy, takeKeptCopy } from './give-copy.ts';
import { KeptDirectory } from './kept-directory.ts';

const owner = { group: 'g', cluster: 'c' };
const installation = { majorVersion: 18, architecture: 'x64', libc: '2.36', icu: null };
const places: string[] = [];

afterEach(async () => {
  for (const place of places.splice(0)) await rm(place, { recursive: true });
});

async function directoryOf(): Promise<KeptDirectory> {
  const place = await mkdtemp(join(tmpdir(), 'barista-kept-'));
  places.push(place);
  const directory = new KeptDirectory(place);
  await directory.open(owner.cluster);
  return directory;
}

const big = Buffer.alloc(300_000, 'rows\n');

async function keep(directory: KeptDirectory, slot: number, first = big): Promise<void> {
  await directory.begin();
  await mkdir(join(directory.making, 'base', '5'), { recursive: true });
  await mkdir(join(directory.making, 'pg_wal'));
  await writeFile(join(directory.making, 'PG_VERSION'), '18\n');
  await writeFile(join(directory.making, 'backup_label'), 'START\n');
  await writeFile(join(directory.making, 'base', '5', '16384'), first);
  await writeFile(join(directory.making, 'base', '5', '16385'), '');
  await directory.complete({ cluster: owner.cluster, slot: slot as Slot, sequences: [] });
}

interface Asked {
  readonly atLeast?: number;
  readonly cluster?: string;
  /** What passes on its way to the target. */
  readonly alters?: (part: Buffer) => Buffer;
}

async function ask(source: KeptDirectory, target: KeptDirectory, asked: Asked = {}) {
  const { atLeast = 1, cluster = owner.cluster, alters = (part) => part } = asked;
  const wanted: string[] = [];
  const [here, there] = duplexPair();
  const [near, far] = duplexPair();
  const way = new Transform({ transform: (part: Buffer, _, done) => done(null, alters(part)) });
  near.pipe(there);
  there.pipe(way).pipe(near);
  const serving = keptCopySource({
    directory: source,
    owner,
    installation,
    onWanted: () => wanted.push('wanted'),
    pass: () => Promise.resolve(),
  }).serve(here);
  const taken = takeKeptCopy(far, {
    directory: target,
    owner: { ...owner, cluster },
    installation,
    atLeast,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });
  return { taken, serving, wanted };
}

describe('a copy that another replica keeps', () => {
  it('is kept here, whole', async () => {
    const [source, target] = [await directoryOf(), await directoryOf()];
    await keep(source, 7);
    expect((await (await ask(source, target)).taken).slot).toBe(7);
    expect(await readFile(join(target.keptData, 'base', '5', '16384'))).toEqual(big);
    expect(await readFile(join(target.keptData, 'base', '5', '16385'))).toHaveLength(0);
    const again = new KeptDirectory(places[1]!);
    await again.open(owner.cluster);
    expect(again.note?.slot).toBe(7);
  });

  it('is refused where it was altered, and what was kept before stays', async () => {
    const [source, target] = [await directoryOf(), await directoryOf()];
    await keep(source, 7);
    await keep(target, 3);
    const alters = (part: Buffer): Buffer =>
      Buffer.from(part.toString('latin1').replace('rows', 'r0ws'), 'latin1');
    await expect((await ask(source, target, { alters })).taken).rejects.toThrow('altered on its way');
    expect(target.note?.slot).toBe(3);
  });

  it('is not given where it is too old, or of another cluster; a newer one is made', async () => {
    const [source, target] = [await directoryOf(), await directoryOf()];
    await keep(source, 7);
    const old = await ask(source, target, { atLeast: 8 });
    await expect(old.taken).rejects.toMatchObject({ code: 'sourceUnavailable' });
    expect(old.wanted).toEqual(['wanted']);
    await expect((await ask(source, target, { cluster: 'd' })).taken).rejects.toMatchObject({
      code: 'unlike',
    });
    expect(target.note).toBeNull();
  });

  it('is looked at, and none is made for it', async () => {
    const source = await directoryOf();
    await keep(source, 7);
    const wanted: string[] = [];
    const look = (atLeast: number): ReturnType<typeof lookAtKeptCopy> => {
      const [near, far] = duplexPair();
      const onWanted = (): void => void wanted.push('wanted');
      const options = { directory: source, owner, installation, onWanted, pass: () => Promise.resolve() };
      void keptCopySource(options).serve(near);
      return lookAtKeptCopy(far, { owner, installation, atLeast });
    };
    expect(await look(7)).toMatchObject({ note: { slot: 7 }, bytes: big.length + 9 });
    await expect(look(8)).rejects.toMatchObject({ code: 'sourceUnavailable' });
    expect(wanted).toEqual([]);
  });
});
