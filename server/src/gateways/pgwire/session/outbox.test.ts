import { Socket } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { RequestTracker } from './request-tracker.ts';
import { Outbox, type Told } from './outbox.ts';
import { Valve } from './valve.ts';

/** A client that takes what it is sent. */
class TakingClient extends Socket {
  readonly taken: string[] = [];

  override write(bytes: Uint8Array | string): boolean {
    this.taken.push(String(bytes));
    return true;
  }
}

const whole: Told = { readies: 0, status: 'I', begun: true, atBoundary: true, saidFatal: false };

describe('what goes to a client', () => {
  let client: TakingClient;
  let outbox: Outbox;
  beforeEach(() => {
    client = new TakingClient();
    outbox = new Outbox(client, new RequestTracker(), new Valve(new Socket()));
  });

  function add(text: string, told: Partial<Told> = {}): boolean {
    return outbox.add(Buffer.from(text), { ...whole, ...told });
  }

  it('leaves in order: what is held first, and what came since only when it is let go itself', () => {
    expect(add('a')).toBe(true);
    outbox.hold();
    expect([add('b'), add('c')]).toEqual([true, false]);
    expect(outbox.release()).toBe(true);
    expect(client.taken).toEqual(['a']);
    expect([outbox.isHolding, outbox.isEmpty]).toEqual([false, false]);
    expect(outbox.release()).toBe(false);
    expect(client.taken).toEqual(['a', 'b', 'c']);
    expect(outbox.isEmpty).toBe(true);
  });

  it('is told of what has left, and of nothing else', () => {
    add('a', { readies: 1, begun: false });
    outbox.hold();
    add('b', { atBoundary: false, saidFatal: true });
    expect(outbox.readiesWaiting).toBe(1);
    outbox.release();
    expect(outbox).toMatchObject({ readiesWaiting: 0, begun: false, atBoundary: true, saidFatal: false });
    outbox.release();
    expect(outbox).toMatchObject({ begun: true, atBoundary: false, saidFatal: true });
  });

  it('has a message of our own between two messages only, and behind all that waits', () => {
    const notice = Buffer.from('notice');
    expect(outbox.insert(notice)).toBe(true);
    add('a', { atBoundary: false });
    outbox.hold();
    expect(outbox.insert(notice)).toBe(false);
    outbox.release();
    expect(outbox.insert(notice)).toBe(false);
    add('b');
    expect(outbox.insert(notice)).toBe(false);
    outbox.release();
    expect(outbox.insert(notice)).toBe(true);
    expect(client.taken).toEqual(['notice', 'a', 'b', 'notice']);
  });
});
