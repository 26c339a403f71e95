/** The files of a target by themselves; what a source says to them is receive-copy.test.ts. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Conversation } from './conversation.ts';
import { TargetFiles } from './target-files.ts';

let directory: string;
let conversation: Conversation;
let files: TargetFiles;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'barista-target-files-'));
  conversation = new Conversation(new PassThrough());
  files = new TargetFiles(directory, conversation, true);
});
afterEach(async () => {
  await files.close();
  conversation.close();
  await rm(directory, { recursive: true });
});

describe('a file of a target', () => {
  it('is not complete before the source has been told what it holds', async () => {
    await writeFile(join(directory, '1262'), Buffer.alloc(8192, 7));
    files.announce(0, '1262', 8192);
    await expect(files.complete(0, 8192)).rejects.toMatchObject({ name: 'CopyError', code: 'copyInvalid' });
    files.end();
    await files.tell();
    await expect(files.complete(0, 8192)).resolves.toBeUndefined();
    await expect(files.settle()).resolves.toBeUndefined();
  });
});
