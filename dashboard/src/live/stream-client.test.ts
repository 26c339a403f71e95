import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Connection } from '../model/dashboard-state.ts';
import type { Frame } from '../model/frames.ts';
import { openStream } from './stream-client.ts';
import type { StreamClient } from './stream-client.ts';

/** A browser's WebSocket, as far as the client uses it, with the network in the test's hands. */
class FakeSocket extends EventTarget {
  static opened: FakeSocket[] = [];
  closed = false;

  constructor() {
    super();
    FakeSocket.opened.push(this);
  }

  receive(data: unknown): void {
    this.dispatchEvent(new MessageEvent('message', { data }));
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.dispatchEvent(new Event('close'));
  }
}

const events = JSON.stringify({ type: 'events', events: [] });
let client: StreamClient;
let frames: Frame[] = [];
let connections: Connection['kind'][] = [];

function lastSocket(): FakeSocket {
  return FakeSocket.opened.at(-1)!;
}

/** Ends the connection; returns how long the client waits before the next. */
function loseAndWaitMs(): number {
  const before = FakeSocket.opened.length;
  const startMs = Date.now();
  lastSocket().close();
  while (FakeSocket.opened.length === before) vi.advanceTimersByTime(10);
  return Date.now() - startMs;
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', FakeSocket);
  FakeSocket.opened = [];
  frames = [];
  connections = [];
  client = openStream('ws://here/api/stream', {
    onFrame: (frame) => frames.push(frame),
    onConnection: (connection) => connections.push(connection.kind),
  });
});

afterEach(() => {
  client.stop();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe('the stream client', () => {
  test('is open once a frame has come, not before, and passes over what is none', () => {
    lastSocket().receive('nonsense');
    lastSocket().receive(new ArrayBuffer(1));
    expect(connections).toEqual([]);
    lastSocket().receive(events);
    lastSocket().receive(events);
    expect(connections).toEqual(['open']);
    expect(frames).toHaveLength(2);
  });

  test('connects again after a loss, waiting longer each time', () => {
    const waits = [1, 2, 3, 4].map(loseAndWaitMs);
    // A quarter of spread either way cannot hide a doubling of a doubling.
    expect(waits[2]!).toBeGreaterThan(waits[0]!);
    expect(waits[3]!).toBeGreaterThan(waits[1]!);
    expect(connections).toEqual(['lost', 'lost', 'lost', 'lost']);
  });

  test('begins with short waits again once it was connected', () => {
    for (let round = 0; round < 6; round += 1) loseAndWaitMs();
    lastSocket().receive(events);
    expect(loseAndWaitMs()).toBeLessThan(330);
  });

  test('takes silence for a loss, and never holds two sockets', () => {
    const first = lastSocket();
    first.receive(events);
    vi.advanceTimersByTime(4900);
    first.receive(events);
    vi.advanceTimersByTime(4900);
    expect(connections).toEqual(['open']);
    vi.advanceTimersByTime(200);
    expect(connections).toEqual(['open', 'lost']);
    expect(first.closed).toBe(true);
    vi.advanceTimersByTime(1000);
    expect(FakeSocket.opened.filter((socket) => !socket.closed)).toHaveLength(1);
    first.receive(events);
    expect(frames).toHaveLength(2);
  });

  test('tries at once if asked, and then does not try a second time', () => {
    lastSocket().close();
    client.retryNow();
    client.retryNow();
    vi.advanceTimersByTime(4000);
    expect(FakeSocket.opened).toHaveLength(2);
  });

  test('does nothing any more once stopped', () => {
    client.stop();
    vi.advanceTimersByTime(60_000);
    client.retryNow();
    expect(FakeSocket.opened).toHaveLength(1);
    expect(connections).toEqual([]);
  });
});
