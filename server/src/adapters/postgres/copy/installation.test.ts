import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ControlFacts } from './control-file.ts';
import { describeInstallation, type Installation, unlikeFiles, unlikeness } from './installation.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-installation-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const MiB = 1024 * 1024;

async function icuOf(bytes: Buffer): Promise<string | null> {
  const postgres = join(root, 'postgres');
  await writeFile(postgres, bytes);
  return (await describeInstallation({ postgres, majorVersion: 18 })).icu;
}

describe('an installation', () => {
  it('names the version of ICU that the program is linked with, wherever it stands in it', async () => {
    for (const at of [0, MiB - 12, MiB - 1, MiB, MiB + 20, 3 * MiB - 5]) {
      const program = Buffer.alloc(3 * MiB + 40, 1);
      program.write('libicui18n.so.60\0', at, 'latin1');
      expect(await icuOf(program)).toBe('60');
    }
    expect(await icuOf(Buffer.from('libicui18n.72.dylib\0', 'latin1'))).toBe('72');
    expect(await icuOf(Buffer.alloc(MiB + 32, 1))).toBeNull();
    expect(await icuOf(Buffer.alloc(0))).toBeNull();
  });

  it('of the same machine is alike, and one that differs anywhere is not', () => {
    const own: Installation = { majorVersion: 18, architecture: 'x64', libc: '2.36', icu: '60' };
    expect(unlikeness(own, { ...own })).toBeNull();
    expect(unlikeness(own, { ...own, majorVersion: 17 })).toBe('PostgreSQL is 17 there and 18 here');
    expect(unlikeness(own, { ...own, architecture: 'arm64' })).toBe(
      'the architecture is arm64 there and x64 here',
    );
    expect(unlikeness(own, { ...own, libc: '2.41' })).toMatch(/C library.* is 2\.41 there and 2\.36 here/);
    expect(unlikeness(own, { ...own, icu: null })).toBe('ICU is none there and 60 here');
  });
});

describe('files', () => {
  const facts: ControlFacts = {
    system: 7n,
    controlVersion: 1800,
    catalogVersion: 202506291,
    pageBytes: 8192,
    segmentPages: 131_072,
    walPageBytes: 8192,
    walSegmentBytes: 16_777_216,
    checksums: true,
  };

  it('of one cluster are alike, and so are any where there are none yet', () => {
    expect(unlikeFiles(facts, { ...facts, checksums: false })).toBeNull();
    expect(unlikeFiles(null, facts)).toBeNull();
  });

  it('of another cluster, of other catalogs or of other sizes are not', () => {
    expect(unlikeFiles(facts, { ...facts, system: 8n })).toMatch(/identifier 8, the one here 7/);
    expect(unlikeFiles(facts, { ...facts, catalogVersion: 1 })).toMatch(/catalogs have version 1/);
    expect(unlikeFiles(facts, { ...facts, controlVersion: 1700 })).toMatch(/control file 1700/);
    for (const size of ['pageBytes', 'segmentPages', 'walPageBytes', 'walSegmentBytes'] as const) {
      expect(unlikeFiles(null, { ...facts, [size]: 4096 })).toMatch(/4096.*can be copied/);
    }
  });
});
