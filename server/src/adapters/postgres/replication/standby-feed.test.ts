import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatLsn, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import { timelineFile } from '../../../wal/timeline-file.ts';
import { positionNone, type WalPosition } from '../../../wal/position.ts';
import type { StandbyReport } from '../../../ports/database-server.ts';
import { socketPort } from '../data-directory.ts';
import { cString, int32, letter, message, MessageReader, startupPacket } from './messages.ts';
import { openStandbyFeed, type StandbyFeed } from './standby-feed.ts';
import { eventually } from '../../../ports/testing/eventually.ts';

const base = 0x3000000;
const fork = (base + 300) as Lsn;

let root = '';
let feed: StandbyFeed;
let position: WalPosition;
let reports: StandbyReport[] = [];
let begun: [from: number, timeline: number][] = [];
let ends: string[] = [];
let readTo = 0;
/** Reading from the source waits for it. */
let reading: Promise<void> | null = null;
const receivers: Receiver[] = [];

const pattern = Buffer.from(Array.from({ length: 4_000 }, (_, index) => index % 251));

/** Some WAL, a little of which says where it is. */
function wal(from: number, to: number): Buffer {
  return pattern.subarray(from % 251, (from % 251) + to - from);
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-feed-'));
  position = { ...positionNone, system: 7n, timeline: 1 as Timeline, end: (base + 1000) as Lsn };
  reports = [];
  begun = [];
  // What an earlier test has left may still come to its end.
  const seen: string[] = [];
  ends = seen;
  reading = null;
  feed = await openStandbyFeed({
    socketDir: root,
    postgresVersion: '18.4',
    gatherMs: 0,
    source: {
      position: () => position,
      // In pieces of 100 bytes, as a primary's own messages end somewhere.
      read: (from, bytesMax) => {
        if (from < base) throw new Error('there is no WAL any more');
        if (from >= position.end) return null;
        const pieces: Buffer[] = [];
        for (let at: number = from; at < Math.min(from + bytesMax, position.end); at += 100)
          pieces.push(wal(at, Math.min(at + 100, position.end)));
        readTo = from + bytesMax;
        return reading === null ? pieces : reading.then(() => pieces);
      },
      history: (timeline) => timelineFile(position, timeline),
    },
    onReport: (report) => reports.push(report),
    onStreaming: (from, timeline) => begun.push([from, timeline]),
    onEnded: (reason) => seen.push(reason),
  });
});
afterEach(async () => {
  for (const receiver of receivers.splice(0)) receiver.socket.destroy();
  await feed.close();
  rmSync(root, { recursive: true });
});

/** What a walreceiver says, word by word, and what it has heard. */
class Receiver {
  readonly socket: Socket;
  readonly types: string[] = [];
  readonly bodies: Buffer[] = [];
  closed = false;
  private readonly reader = new MessageReader();

  constructor() {
    this.socket = connect(join(root, `.s.PGSQL.${socketPort}`));
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.closed = true;
    });
    this.socket.write(startupPacket({ user: 'barista_feed', replication: 'true' }));
    this.listen();
    receivers.push(this);
  }

  listen(): void {
    this.socket.on('data', (chunk: Buffer) => {
      for (const { type, body } of this.reader.push(chunk)) {
        this.types.push(String.fromCharCode(type));
        this.bodies.push(Buffer.from(body));
      }
    });
  }

  say(type: string, ...parts: Buffer[]): void {
    this.socket.write(message(type, ...parts));
  }

  ask(text: string): void {
    this.say('Q', cString(text));
  }

  report(written: number, flushed: number, replayed: number): void {
    const body = Buffer.alloc(34);
    body.write('r');
    for (const [index, at] of [written, flushed, replayed].entries())
      body.writeBigUInt64BE(BigInt(at), 1 + 8 * index);
    this.say('d', body);
  }

  /** The WAL that has come, from which position on; and where the standby was told that the chosen WAL ends. */
  get wal(): { readonly from: number; readonly bytes: Buffer; readonly end: number } {
    const found = this.bodies.filter((body, index) => this.types[index] === 'd' && body[0] === letter('w'));
    const first = found[0];
    if (first === undefined) return { from: 0, bytes: Buffer.alloc(0), end: 0 };
    const from = Number(first.readBigUInt64BE(1));
    let next = from;
    for (const body of found) {
      assert.equal(Number(body.readBigUInt64BE(1)), next);
      next += body.length - 25;
    }
    const end = Number(found.at(-1)!.readBigUInt64BE(9));
    return { from, bytes: Buffer.concat(found.map((body) => body.subarray(25))), end };
  }

  async until(types: string): Promise<void> {
    await eventually(() => assert.ok(this.types.join('').includes(types)), { interval: 5 });
  }

  async hears(from: number, to: number): Promise<void> {
    const expected = { from, bytes: wal(from, to), end: position.end as number };
    await eventually(() => assert.deepEqual(this.wal, expected), { interval: 5 });
  }

  /** The text columns of the result that was answered last. */
  get row(): (string | null)[] {
    const body = this.bodies[this.types.lastIndexOf('D')]!;
    const values: (string | null)[] = [];
    for (let at = 2; values.length < body.readInt16BE(0); ) {
      const length = body.readInt32BE(at);
      values.push(length < 0 ? null : body.toString('utf8', at + 4, at + 4 + length));
      at += 4 + Math.max(0, length);
    }
    return values;
  }
}

function password(): string {
  return /password=(\S+)/.exec(feed.connectionInfo)![1]!;
}

async function connected(): Promise<Receiver> {
  const receiver = new Receiver();
  receiver.say('p', cString(password()));
  await receiver.until('Z');
  return receiver;
}

async function streaming(from: number, timeline = 1): Promise<Receiver> {
  const receiver = await connected();
  receiver.ask(`START_REPLICATION ${formatLsn(from as Lsn)} TIMELINE ${timeline}`);
  await receiver.until('W');
  return receiver;
}

/** A new leader's timeline leaves the first one. */
function beginTimeline(end: number): void {
  position = {
    ...position,
    timeline: 2 as Timeline,
    forks: [{ timeline: 2 as Timeline, at: fork }],
    end: end as Lsn,
  };
}

describe('whoever connects', () => {
  it('is sent nothing without the password', async () => {
    const stranger = new Receiver();
    stranger.say('p', cString('a guess'));
    await eventually(() => expect(stranger.closed).toBe(true));
    expect(stranger.types).toEqual(['R', 'E']);
    expect(stranger.bodies[1]!.toString()).toContain('C28P01');
    expect(ends).toEqual([]);
  });

  it('cannot ask before it has given it', async () => {
    const stranger = new Receiver();
    stranger.ask('IDENTIFY_SYSTEM');
    await eventually(() => expect(stranger.closed).toBe(true));
    expect(stranger.types).toEqual(['R', 'E']);
  });

  it('is declined encryption, and goes on without', async () => {
    const socket = connect(join(root, `.s.PGSQL.${socketPort}`));
    const heard: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => heard.push(chunk));
    // SSLRequest and GSSENCRequest, in pieces.
    const requests = Buffer.concat(
      [80877103, 80877104].map((code) => Buffer.concat([int32(8), int32(code)])),
    );
    for (const byte of requests) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => expect(Buffer.concat(heard).toString()).toBe('NN'));
    socket.write(startupPacket({ user: 'barista_feed' }));
    await eventually(() => expect(Buffer.concat(heard).toString()).toContain('NNR'));
    socket.destroy();
  });

  it('takes the place of who was fed before: a walreceiver that comes again has given up the one before', async () => {
    const first = await streaming(base);
    const second = await streaming(base);
    await eventually(() => expect(first.closed).toBe(true));
    await second.hears(base, base + 1000);
    expect([feed.connected, ends]).toEqual([true, []]);
    second.say('X');
    await eventually(() => expect(ends).toHaveLength(1));
    expect(feed.connected).toBe(false);
  });

  it('is turned away while the feed is shut', async () => {
    const before = await streaming(base);
    feed.shut();
    const during = new Receiver();
    await eventually(() => expect([before.closed, during.closed]).toEqual([true, true]));
    expect(during.types).toEqual([]);
    feed.open();
    await (await streaming(base)).hears(base, base + 1000);
  });
});

describe('a standby', () => {
  it('is told of its group as by a primary', async () => {
    beginTimeline(base + 2000);
    const receiver = await connected();
    receiver.ask('IDENTIFY_SYSTEM');
    await receiver.until('TDCZ');
    expect(receiver.row).toEqual(['7', '2', '0/30007D0', null]);
    receiver.types.length = 0;
    receiver.bodies.length = 0;
    receiver.ask('TIMELINE_HISTORY 2');
    await receiver.until('TDCZ');
    expect(receiver.row).toEqual(['00000002.history', '1\t0/300012C\tanother leader\n']);
  });

  it('is sent what is chosen from where it asks, and more when there is more', async () => {
    const receiver = await streaming(base + 100);
    await receiver.hears(base + 100, base + 1000);
    expect(begun).toEqual([[base + 100, 1]]);
    position = { ...position, end: (base + 1234) as Lsn };
    feed.more();
    await receiver.hears(base + 100, base + 1234);
  });

  it('is asked how far it is after all that there is', async () => {
    const receiver = await streaming(base);
    await receiver.hears(base, base + 1000);
    position = { ...position, end: (base + 1100) as Lsn };
    feed.ask();
    await receiver.hears(base, base + 1100);
    await eventually(() => expect(receiver.bodies.at(-1)![0]).toBe(letter('k')));
    expect(receiver.bodies.at(-1)![17]).toBe(1);
  });

  it('is not believed beyond what it was sent', async () => {
    const receiver = await streaming(base);
    await receiver.hears(base, base + 1000);
    receiver.report(base + 5000, base + 900, base + 800);
    await eventually(() => expect(reports).toHaveLength(1));
    expect(reports[0]).toEqual({ written: base + 1000, flushed: base + 900, replayed: base + 800 });
  });

  it('is sent no more than it takes, and all of it when it takes it', async () => {
    position = { ...position, end: (base + 20_000_000) as Lsn };
    const receiver = await connected();
    receiver.socket.pause();
    receiver.ask('START_REPLICATION 0/3000000 TIMELINE 1');
    await eventually(() => expect(readTo).toBeGreaterThan(base + 1_000_000));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(readTo).toBeLessThan(base + 4_000_000);
    receiver.socket.resume();
    await eventually(() => expect(readTo).toBeGreaterThan(position.end));
  });

  it('is sent nothing that was still being read when it ended the stream', async () => {
    let found = (): void => {};
    reading = new Promise((resolve) => {
      found = resolve;
    });
    beginTimeline(base + 2000);
    const receiver = await streaming(base);
    receiver.say('c');
    await receiver.until('TDCCZ');
    found();
    receiver.ask('IDENTIFY_SYSTEM');
    await receiver.until('TDCZ');
    expect(receiver.types.join('')).toBe('RRSSSSZWcTDCCZTDCZ');
  });

  it('is let go where it asks for what is gone', async () => {
    const receiver = await connected();
    receiver.ask('START_REPLICATION 0/2000000 TIMELINE 1');
    await eventually(() => expect(receiver.closed).toBe(true));
    expect(ends).toEqual(['there is no WAL any more']);
  });

  it('is let go where it asks what no walreceiver asks', async () => {
    const receiver = await connected();
    receiver.ask('BASE_BACKUP');
    await eventually(() => expect(receiver.closed).toBe(true));
    expect(receiver.bodies.at(-1)!.toString()).toContain('C0A000');
  });
});

describe('the end of a timeline', () => {
  it('is where its stream ends; what lies beyond is not sent', async () => {
    const receiver = await streaming(base);
    await receiver.hears(base, base + 1000);
    // Elsewhere than the standby is by now: it has more of the old timeline than was left of it.
    beginTimeline(base + 2000);
    feed.more();
    await receiver.until('c');
    receiver.say('c');
    await receiver.until('TDCCZ');
    expect(receiver.row).toEqual(['2', '0/300012C']);
    expect(receiver.wal.bytes).toHaveLength(1000);
  });

  it('cuts what would go beyond it', async () => {
    beginTimeline(base + 2000);
    const receiver = await streaming(base);
    await receiver.until('c');
    expect(receiver.wal).toMatchObject({ from: base, bytes: wal(base, fork) });
    receiver.report(base + 900, base + 900, base + 900);
    await eventually(() => expect(reports).toHaveLength(1));
    expect(reports[0]).toEqual({ written: fork, flushed: fork, replayed: fork });
  });

  it('bounds what a standby is believed that was sent more of it before', async () => {
    const receiver = await streaming(base);
    await receiver.hears(base, base + 1000);
    beginTimeline(base + 2000);
    receiver.report(base + 1000, base + 1000, base + 200);
    await eventually(() => expect(reports).toHaveLength(1));
    expect(reports[0]).toEqual({ written: fork, flushed: fork, replayed: base + 200 });
  });

  it('is told at once to who asks to start there', async () => {
    beginTimeline(base + 2000);
    const receiver = await connected();
    receiver.ask('START_REPLICATION 0/300012C TIMELINE 1');
    await receiver.until('TDCCZ');
    expect(receiver.types).not.toContain('W');
    receiver.ask('START_REPLICATION 0/300012C TIMELINE 2');
    await receiver.hears(fork, base + 2000);
    expect(begun).toEqual([[fork, 2]]);
  });

  it('is unknown of a timeline that is not of this group: nothing is sent', async () => {
    const receiver = await connected();
    receiver.ask('START_REPLICATION 0/3000000 TIMELINE 5');
    await eventually(() => expect(receiver.closed).toBe(true));
    expect(ends).toEqual(["timeline 5 is not of this group's history"]);
    expect(receiver.types).not.toContain('d');
  });
});
