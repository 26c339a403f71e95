import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readFile, readSmallFile } from './file-system.ts';
import { openLogFile } from './postgres/log-file.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'barista-files-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

describe('what is no file is refused, and not waited for', () => {
  const pipe = (): string => {
    const path = join(directory, 'pipe');
    execFileSync('mkfifo', [path]);
    return path;
  };

  it('a pipe that nobody writes to', async () => {
    const path = pipe();
    await expect(readFile(path, 'utf8')).rejects.toThrow(`ENOTDIR: not a file, open '${path}'`);
    expect(() => readSmallFile(path)).toThrow('not a file');
  });

  it('a pipe in place of the log', () => {
    expect(() => openLogFile(pipe(), 1000)).toThrow('ENXIO');
  });

  it('a device without end', async () => {
    await expect(readFile('/dev/zero')).rejects.toThrow('not a file');
    expect(() => readSmallFile('/dev/zero')).toThrow('not a file');
  });

  it('a directory', async () => {
    await expect(readFile(directory)).rejects.toThrow('EISDIR');
    expect(() => readSmallFile(directory)).toThrow('EISDIR');
  });
});

it('a small file is read whole, and a longer one refused', async () => {
  const path = join(directory, 'file');
  await writeFile(path, 'ä secret');
  expect(readSmallFile(path)).toBe('ä secret');
  expect(await readFile(path, 'utf8')).toBe('ä secret');
  await writeFile(path, Buffer.alloc(1024 * 1024 + 1));
  expect(() => readSmallFile(path)).toThrow('EFBIG: longer than 1048576 bytes');
});
