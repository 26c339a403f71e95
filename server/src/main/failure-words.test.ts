import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LaunchError } from '../adapters/postgres/launch-error.ts';
import { asLogStoreError } from '../adapters/segment-log/errors.ts';
import { makeDirectories } from '../adapters/file-system.ts';
import { ConfigError } from '../config/config-error.ts';
import { LogStoreError } from '../ports/log-store.ts';
import { CliError, exitCodes } from './errors.ts';
import { failureKinds, wordsOf } from './failure-words.ts';

const sourceRoot = fileURLToPath(new URL('..', import.meta.url));

function errorClasses(): string[] {
  const files = readdirSync(sourceRoot, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !/(?:^|\/)testing\//.test(file),
  );
  return files.flatMap((file) => {
    const text = readFileSync(join(sourceRoot, file), 'utf8');
    return [...text.matchAll(/\bclass (\w+) extends \w*(?:Error|Violation|Refusal|Failure)\b/g)].map(
      ([, name]) => name!,
    );
  });
}

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'barista-words-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('failures in words', () => {
  it('every class of errors is known as expected or as a defect', () => {
    expect([...new Set(errorClasses())].toSorted()).toEqual(Object.keys(failureKinds).toSorted());
  });

  it('our own errors are told by their message alone', () => {
    expect(wordsOf(new CliError('No.', exitCodes.refused))).toMatchObject({ text: 'No.', exitCode: 4 });
    expect(wordsOf(new ConfigError('group: missing'))).toMatchObject({ text: 'group: missing', exitCode: 2 });
    expect(wordsOf(new LaunchError('PostgreSQL ended.', { cause: new Error('x') }))).toEqual({
      kind: 'expected',
      text: 'PostgreSQL ended.',
      exitCode: 1,
    });
  });

  it('a directory in use says who uses it and what to do', () => {
    const { text } = wordsOf(new LogStoreError('logLocked', '/d/log is in use by process 7'));
    expect(text).toBe(
      '/d/log is in use by process 7, which serves a replica from it. Stop that process first, or give this replica a dataDir of its own.',
    );
  });

  it('a file in place of a directory is named, however deep the path goes on below it', async () => {
    const file = join(dir, 'file');
    writeFileSync(file, '');
    const expected = `${file} is a file, and a directory is needed in its place. Move it away, or name another path.`;
    for (const path of [file, join(file, 'below', 'it')]) {
      const error = await makeDirectories(path).catch((each: unknown) => each);
      expect(wordsOf(error).text).toBe(expected);
      expect(wordsOf(asLogStoreError(error, 'locking the log')).text).toBe(expected);
    }
  });

  it.each([
    ['EACCES', /^Permission denied: \/d\/x\./],
    ['EROFS', /^\/d\/x is on a file system that is mounted read-only\./],
    ['ENOSPC', /^No space is left for \/d\/x\./],
    ['EMFILE', /^Too many open files: this process may have \S+ of them\. Allow more: "ulimit -n 4096"/],
    ['EIO', /^The disk of \/d\/x fails/],
  ])('%s is told in a sentence, with what to do', (code, words) => {
    const error = Object.assign(new Error(`${code}: open '/d/x'`), { code, syscall: 'open', path: '/d/x' });
    expect(wordsOf(error)).toMatchObject({
      kind: 'expected',
      text: expect.stringMatching(words),
      exitCode: 1,
    });
    expect(wordsOf(new Error('outer', { cause: error })).text).toMatch(words);
  });

  it('what really fails here has the code that the words are for', async () => {
    const missing = await readFile(join(dir, 'none')).catch((error: unknown) => error);
    expect(wordsOf(missing).text).toBe(`${join(dir, 'none')} does not exist. Make it, or name another path.`);
    const network = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), {
      code: 'ECONNREFUSED',
      syscall: 'connect',
    });
    expect(wordsOf(network).text).toBe('connect ECONNREFUSED 127.0.0.1:1');
    await mkdir(join(dir, 'd'));
    const directory = await readFile(join(dir, 'd')).catch((error: unknown) => error);
    // Node.js tells no path of a read.
    expect(wordsOf(directory)).toMatchObject({ kind: 'expected' });
  });

  it('a defect keeps its stack and asks for a report', () => {
    for (const error of [new TypeError('x is not a function'), new LogStoreError('logClosed', 'closed')]) {
      const { kind, text } = wordsOf(error);
      expect(kind).toBe('defect');
      expect(text).toContain(error.stack);
      expect(text).toMatch(/please report it with these lines\.$/);
    }
  });
});
