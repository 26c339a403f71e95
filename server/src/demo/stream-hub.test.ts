import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createStreamHub, type StreamHub } from './stream-hub.ts';
import { eventually } from '../ports/testing/eventually.ts';

let server: WebSocketServer;
let hub: StreamHub;
let told: string[];
const pages: WebSocket[] = [];

beforeEach(async () => {
  told = [];
  hub = createStreamHub({
    greeting: () => ['hello', 'and the load'],
    onFirst: () => told.push('first'),
    onLast: () => told.push('last'),
  });
  server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  server.on('connection', (socket) => hub.join(socket));
  await once(server, 'listening');
});
afterEach(() => {
  for (const page of pages.splice(0)) page.terminate();
  hub.close();
  server.close();
});

function open(): { page: WebSocket; texts: string[] } {
  const page = new WebSocket(`ws://127.0.0.1:${(server.address() as { port: number }).port}`);
  pages.push(page);
  const texts: string[] = [];
  page.on('message', (data) => texts.push((data as Buffer).toString()));
  return { page, texts };
}

describe('the stream to the pages', () => {
  it('greets each page, with the latest events for one that comes late', async () => {
    const first = open();
    await eventually(() => expect(first.texts).toEqual(['hello', 'and the load']));
    for (let number = 1; number <= 100; number += 1) hub.broadcastEvents(`events ${number}`);
    hub.broadcast('cluster');
    const second = open();
    await eventually(() => expect(second.texts.length).toBe(62));
    expect([...second.texts.slice(0, 3), second.texts.at(-1)]).toEqual([
      'hello',
      'and the load',
      'events 41',
      'events 100',
    ]);
    await eventually(() => expect(first.texts.length).toBe(103));
  });

  it('tells when someone begins to watch, and when nobody does any more', async () => {
    const [one, two] = [open(), open()];
    await eventually(() => expect(hub.clients()).toBe(2));
    one.page.close();
    await eventually(() => expect(hub.clients()).toBe(1));
    expect(told).toEqual(['first']);
    two.page.close();
    await eventually(() => expect(told).toEqual(['first', 'last']));
  });

  it('leaves frames out for a page that does not read, within bounded memory, and goes on for the others', async () => {
    const [slow, quick] = [open(), open()];
    await eventually(() => expect([slow.texts.length, quick.texts.length]).toEqual([2, 2]));
    slow.page.pause();
    const frame = 'x'.repeat(1024 * 1024);
    for (let number = 1; number <= 60; number += 1) {
      hub.broadcastEvents(frame);
      await eventually(() => expect(quick.texts.length).toBe(number + 2));
    }
    slow.page.resume();
    hub.broadcast('end');
    await eventually(() => expect(quick.texts.at(-1)).toBe('end'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(slow.texts.length).toBeGreaterThan(2);
    expect(slow.texts.length).toBeLessThan(40);
  });
});
