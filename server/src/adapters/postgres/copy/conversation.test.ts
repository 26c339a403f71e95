import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CopyError } from '../../../ports/copy.ts';
import { Conversation } from './conversation.ts';
import { type CopyMessage, encodeMessage } from './messages.ts';
import { socketPair } from './testing/copying.ts';

let root: string;
let pairs = 0;
const open: Socket[] = [];
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-conversation-'));
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function pair(): Promise<readonly [Socket, Socket]> {
  const sockets = await socketPair(join(root, String((pairs += 1))));
  open.push(...sockets);
  return sockets;
}

const messages: readonly CopyMessage[] = [
  { kind: 'go' },
  { kind: 'blocks', file: 1, block: 3, data: Buffer.alloc(20_000, 5) },
  { kind: 'directoryEnd' },
];
const bytes = Buffer.concat(messages.flatMap(encodeMessage));

describe('a conversation', () => {
  it('hands on messages whole, in whatever pieces they come', async () => {
    for (const size of [1, 7, 13, 14, 5_000, 100_000]) {
      const [near, far] = await pair();
      const heard = new Conversation(far);
      void (async () => {
        for (let at = 0; at < bytes.length; at += size) {
          if (!near.write(bytes.subarray(at, at + size))) await once(near, 'drain');
        }
        near.end();
      })();
      for (const message of messages) expect(await heard.receive()).toEqual(message);
      expect(await heard.receive()).toBeNull();
      heard.close();
    }
  });

  it('that ends in the middle of a message, or is broken, is an error', async () => {
    for (const length of [1, 12, 14, 20, bytes.length - 1]) {
      for (const end of ['end', 'destroy'] as const) {
        const [near, far] = await pair();
        const heard = new Conversation(far);
        near.write(bytes.subarray(0, length), () => near[end]());
        const all = (async () => {
          while ((await heard.receive()) !== null);
        })();
        await expect(all).rejects.toMatchObject({ name: 'CopyError', code: 'transferFailed' });
        heard.close();
      }
    }
  });

  it('that was altered is an error, and nothing after it is heard', async () => {
    const [near, far] = await pair();
    const heard = new Conversation(far);
    const altered = Buffer.from(bytes);
    altered[500] = (altered[500] ?? 0) ^ 1;
    near.write(altered);
    expect((await heard.receive())?.kind).toBe('go');
    await expect(heard.receive()).rejects.toMatchObject({ code: 'copyInvalid' });
    heard.close();
  });

  it('waits for the other side to read', async () => {
    const [near, far] = await pair();
    const said = new Conversation(near);
    let sent = 0;
    const sending = (async () => {
      for (; sent < 2_000; sent += 1)
        await said.send({ kind: 'blocks', file: 1, block: 0, data: Buffer.alloc(100_000) });
    })();
    await sleep(200);
    const before = sent;
    expect(before).toBeLessThan(100);
    await sleep(100);
    expect(sent).toBe(before);
    const heard = new Conversation(far);
    for (let received = 0; received < 2_000; received += 1) await heard.receive();
    await sending;
    said.close();
    heard.close();
  });

  it('says why there is no copy, also in the words of the channel', async () => {
    const [near, far] = await pair();
    const said = new Conversation(near);
    const heard = new Conversation(far);
    said.fail(new CopyError('sourceBusy', 'too many'));
    await expect(heard.receive()).rejects.toMatchObject({ code: 'sourceBusy', message: 'too many' });
    heard.close();
    await said.ended();

    const [other] = await pair();
    const cut = new Conversation(other);
    const waiting = cut.receive();
    other.destroy(new CopyError('transferFailed', 'r2: the link is cut'));
    await expect(waiting).rejects.toThrow('r2: the link is cut');
    await expect(cut.send({ kind: 'go' })).rejects.toThrow('r2: the link is cut');
    cut.close();
  });

  it('says that it lives while it has nothing to say, and how far it is', async () => {
    const [near, far] = await pair();
    const said = new Conversation(near);
    const compared: number[] = [];
    const heard = new Conversation(far, (bytesCompared) => compared.push(bytesCompared));
    const waiting = heard.receive();
    said.compared = 42;
    await sleep(4_500);
    await said.send({ kind: 'go' });
    expect(await waiting).toEqual({ kind: 'go' });
    expect(compared).toEqual([42, 42]);
    said.close();
    heard.close();
  });
});
