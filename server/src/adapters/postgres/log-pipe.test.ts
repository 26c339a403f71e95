import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLogPipe, type LogPipe } from './log-pipe.ts';

let directory: string;
let pipe: LogPipe;
let text: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'barista-log-pipe-'));
  text = '';
  pipe = await openLogPipe(join(directory, 'log'), (chunk) => {
    text += chunk.toString('utf8');
  });
});

afterEach(async () => {
  pipe.close();
  await rm(directory, { recursive: true });
});

describe('a log pipe', () => {
  it('hands on at once what was written before it is drained', () => {
    writeSync(pipe.fd, 'one\n');
    writeSync(pipe.fd, 'two\n');
    expect(text).toBe('');
    pipe.drain();
    expect(text).toBe('one\ntwo\n');
    pipe.drain();
    expect(text).toBe('one\ntwo\n');
  });

  it('hands on by itself what nobody drains', async () => {
    writeSync(pipe.fd, 'alone\n');
    await expect.poll(() => text).toBe('alone\n');
  });

  it('hands on all of a full pipe, without waiting for room for its own mark', () => {
    const line = Buffer.alloc(4096, 'x');
    for (let written = 0; written < 64 * 1024; written += line.length) writeSync(pipe.fd, line);
    pipe.drain();
    expect(text).toBe('x'.repeat(64 * 1024));
  });

  it('has no mark of its own in what it hands on, whoever reads it', async () => {
    for (let n = 0; n < 50; n++) {
      writeSync(pipe.fd, `${n},`);
      pipe.drain();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(text).toBe(Array.from({ length: 50 }, (_, n) => `${n},`).join(''));
  });

  it('gets what a child process writes in the order in which it was written', async () => {
    const child = spawn('sh', ['-c', 'for i in 1 2 3; do echo "out $i"; echo "error $i" >&2; done'], {
      stdio: ['ignore', pipe.fd, pipe.fd],
    });
    pipe.handedOver();
    await new Promise((resolve) => child.once('exit', resolve));
    pipe.drain();
    expect(text).toBe([1, 2, 3].map((i) => `out ${i}\nerror ${i}\n`).join(''));
  });
});
