/** What leaves a source, and when; how blocks are compared is evidence.ts. */
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lsnNone } from '../../../wal/lsn.ts';
import { CopyError } from '../../../ports/copy.ts';
import { Conversation } from './conversation.ts';
import { FileSender } from './file-sender.ts';
import type { CopyMessage } from './messages.ts';
import { createPacer } from './pacer.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'barista-file-sender-'));
  await writeFile(join(directory, '0000'), Buffer.alloc(3 * 8192, 7));
});
afterAll(() => rm(directory, { recursive: true }));

/** With a target that has nothing. */
class EmptyTarget extends Conversation {
  readonly log: string[];

  constructor(log: string[]) {
    super(new PassThrough());
    this.log = log;
  }

  override async send(message: CopyMessage): Promise<void> {
    this.log.push(message.kind);
    if (message.kind !== 'file') return;
    await super.send({ kind: 'have', file: message.file, last: true, evidence: [] });
  }
}

/** Sends two files, and logs what happens meanwhile. */
async function sendTwo(log: string[], mayLeave: () => Promise<void>): Promise<void> {
  const conversation = new EmptyTarget(log);
  const sender = new FileSender({
    conversation,
    pacer: createPacer(() => null),
    redo: lsnNone,
    async mayLeave() {
      log.push('asked');
      await mayLeave();
      log.push('allowed');
    },
  });
  try {
    for (let n = 0; n < 2; n += 1) {
      const handle = await open(join(directory, '0000'), 'r');
      const file = { path: 'pg_xact/0000', name: '0000', class: { kind: 'bytes' }, handle } as const;
      await sender.add({ ...file, bytes: 3 * 8192, prepare: () => log.push('read') });
    }
    await sender.finish();
  } finally {
    await sender.close();
    conversation.close();
  }
}

describe('what was read of a source', () => {
  it('leaves when it is found, after the last of it was read, that it may', async () => {
    const log: string[] = [];
    await sendTwo(log, () => Promise.resolve());
    expect(log.join(' ')).toBe('file file read read asked allowed blocks fileEnd blocks fileEnd');
  });

  it('does not leave if it may not', async () => {
    const log: string[] = [];
    const sent = sendTwo(log, () => Promise.reject(new CopyError('transferFailed', 'promoted')));
    await expect(sent).rejects.toMatchObject({ code: 'transferFailed' });
    expect(log.join(' ')).toBe('file file read read asked');
  });
});
