import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { growingFiles, type GrowingFiles } from './growing-files.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'barista-growing-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const fileOf = (run: string, number: number): string =>
  join(dir, `trace-${run}-${String(number).padStart(6, '0')}.ndjson`);
const line = (seq: number): string => `${JSON.stringify({ seq })}\n`;

function seqsOf(files: GrowingFiles): number[] {
  const seqs: number[] = [];
  expect(files.read(({ seq }) => seqs.push(seq))).toBe(true);
  return seqs;
}

it('reads each line once, when all of it is there', () => {
  const files = growingFiles({ dirs: [dir], isDropped: false });
  writeFileSync(fileOf('a', 1), `${line(1)}${line(2).slice(0, 4)}`);
  expect(seqsOf(files)).toEqual([1]);
  expect(seqsOf(files)).toEqual([]);
  appendFileSync(fileOf('a', 1), `${line(2).slice(4)}${line(3)}`);
  writeFileSync(fileOf('a', 2), line(4));
  expect(seqsOf(files)).toEqual([2, 3, 4]);
});

it('leaves out what was there before, and directories that are not there yet', () => {
  writeFileSync(fileOf('old', 1), line(1));
  const other = join(dir, 'later');
  const files = growingFiles({ dirs: [dir, other], isDropped: false });
  expect(seqsOf(files)).toEqual([]);
  mkdirSync(other);
  writeFileSync(join(other, 'trace-b-000001.ndjson'), line(7));
  expect(seqsOf(files)).toEqual([7]);
});

it('deletes what has been read and is followed by another file of its run, and nothing else', () => {
  const files = growingFiles({ dirs: [dir], isDropped: true });
  writeFileSync(fileOf('a', 1), line(1));
  writeFileSync(fileOf('b', 1), line(1));
  expect(seqsOf(files)).toEqual([1, 1]);
  writeFileSync(fileOf('a', 2), line(2));
  expect(seqsOf(files)).toEqual([2]);
  expect(readdirSync(dir).sort()).toEqual(['trace-a-000002.ndjson', 'trace-b-000001.ndjson']);
});

it('says which file has a line that is no event', () => {
  const files = growingFiles({ dirs: [dir], isDropped: false });
  writeFileSync(fileOf('a', 1), 'half of{}\n');
  expect(() => files.read(() => {})).toThrow('trace-a-000001.ndjson has a line that is no event');
});
