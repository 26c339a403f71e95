/**
 * One connection of the replica's own walreceiver: what it asks, and the chosen WAL that it is sent.
 *
 * Responsible for: the walsender's side of the replication protocol, as far as PostgreSQL's walreceiver uses it (IDENTIFY_SYSTEM, TIMELINE_HISTORY, START_REPLICATION), the ends of timelines, and sending
 * no faster than the standby takes it. Knows nothing about slots or leaders.
 * Invariants: what is sent is consecutive; nothing is sent before the right password came; at most `sendBytesMax` wait for the socket.
 */
import type { Socket } from 'node:net';
import { formatLsn, historyName, parseLsn, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import { endOfTimeline } from '../../../wal/position.ts';
import * as wire from './messages.ts';
import type { StandbyFeedOptions } from './standby-feed.ts';

export interface FeedConnectionOptions
  extends Pick<
    StandbyFeedOptions,
    'postgresVersion' | 'source' | 'onReport' | 'onStreaming' | 'onEnded' | 'gatherMs'
  > {
  readonly isPassword: (given: string) => boolean;
  readonly onAuthenticated: () => void;
}

/** What one message may carry, and what may wait to be taken by the standby before more is read. */
const pieceBytesMax = 256 * 1024;
const sendBytesMax = 1024 * 1024;
const startupBytesMax = 10_000;
/** Above so much there is nothing to gain from waiting for more. */
const gatheredBytes = 128 * 1024;

/**
 * `greeting`, `password`: before anybody is known. `idle`: it may ask. `streaming`: WAL of one timeline goes out. `ending`: that timeline has ended here, and the other side's end is waited for.
 */
type State = 'greeting' | 'password' | 'idle' | 'streaming' | 'ending' | 'closed';

export class FeedConnection {
  private readonly socket: Socket;
  private readonly options: FeedConnectionOptions;
  private readonly reader = new wire.MessageReader();
  private state: State = 'greeting';
  private opening: Buffer = Buffer.alloc(0);
  private timeline = 0 as Timeline;
  private next = 0 as Lsn;
  private pumping = false;
  private waiting: NodeJS.Timeout | null = null;

  constructor(socket: Socket, options: FeedConnectionOptions) {
    this.socket = socket;
    this.options = options;
    socket.on('data', (chunk: Buffer) => this.take(chunk));
    socket.on('drain', () => void this.pump());
    socket.on('error', (error) => this.closed(error.message));
    socket.on('close', () => this.closed('the standby closed the connection'));
  }

  get streaming(): boolean {
    return this.state === 'streaming';
  }

  private take(chunk: Buffer): void {
    try {
      const rest = this.state === 'greeting' ? this.greet(chunk) : chunk;
      if (rest.length === 0) return;
      for (const message of this.reader.push(rest)) this.handle(message);
    } catch (error) {
      this.end(error instanceof Error ? error.message : String(error));
    }
  }

  /** Requests for encryption are declined; the startup packet is not looked at: the password decides. Returns what follows it. */
  private greet(chunk: Buffer): Buffer {
    let bytes = Buffer.concat([this.opening, chunk]);
    while (bytes.length >= 8) {
      const length = bytes.readInt32BE(0);
      if (length < 8 || length > startupBytesMax) throw new Error('the startup packet has no right length');
      if (bytes.length < length) break;
      const isStartup = bytes.readInt32BE(4) >>> 16 === 3;
      bytes = bytes.subarray(length);
      if (!isStartup) {
        this.socket.write('N');
        continue;
      }
      this.state = 'password';
      this.socket.write(wire.authenticationCleartext);
      return bytes;
    }
    this.opening = bytes;
    return Buffer.alloc(0);
  }

  private handle({ type, body }: wire.WireMessage): void {
    switch (this.state) {
      case 'password':
        return this.authenticate(type, body);
      case 'idle':
        if (type === wire.letter('Q')) return this.query(body.toString('utf8', 0, body.length - 1));
        break;
      case 'streaming':
      case 'ending':
        if (type === wire.letter('d')) return this.hear(body);
        if (type === wire.letter('c')) return this.standbyDone();
        break;
      case 'greeting':
      case 'closed':
        return;
      default:
        this.state satisfies never;
    }
    if (type === wire.letter('X')) this.end('the standby took its leave');
    else throw new Error(`a message of type ${type} is out of place while ${this.state}`);
  }

  private authenticate(type: number, body: Buffer): void {
    const given = type === wire.letter('p') ? body.toString('utf8', 0, body.length - 1) : '';
    if (!this.options.isPassword(given)) {
      this.socket.write(wire.errorResponse('28P01', 'password authentication failed'));
      this.end('a wrong password was given');
      return;
    }
    this.state = 'idle';
    this.options.onAuthenticated();
    this.socket.write(
      Buffer.concat([
        wire.authenticationOk,
        wire.parameterStatus('server_version', this.options.postgresVersion),
        wire.parameterStatus('server_encoding', 'UTF8'),
        wire.parameterStatus('client_encoding', 'UTF8'),
        wire.parameterStatus('standard_conforming_strings', 'on'),
        wire.readyForQuery,
      ]),
    );
  }

  private query(text: string): void {
    if (/^IDENTIFY_SYSTEM/i.test(text)) return this.identifySystem();
    const history = /^TIMELINE_HISTORY (\d+)/i.exec(text);
    if (history !== null) return this.timelineHistory(Number(history[1]) as Timeline);
    const start = /^START_REPLICATION (?:PHYSICAL )?([0-9A-F]+\/[0-9A-F]+)(?: TIMELINE (\d+))?/i.exec(text);
    if (start !== null) return this.start(parseLsn(start[1]!), Number(start[2] ?? 0) as Timeline);
    this.socket.write(wire.errorResponse('0A000', `not understood here: ${text.slice(0, 100)}`));
    this.end(`the standby asked ${text.slice(0, 100)}`);
  }

  private identifySystem(): void {
    const { system, timeline, end } = this.options.source.position();
    this.answer(
      wire.resultSet(
        ['systemid', 'timeline', 'xlogpos', 'dbname'],
        [system.toString(), timeline.toString(), formatLsn(end), null],
      ),
      'IDENTIFY_SYSTEM',
    );
  }

  private timelineHistory(timeline: Timeline): void {
    const content = Buffer.from(this.options.source.history(timeline), 'utf8');
    this.answer(
      wire.resultSet(['filename', 'content'], [historyName(timeline), content]),
      'TIMELINE_HISTORY',
    );
  }

  private answer(result: Buffer, tag: string): void {
    this.socket.write(Buffer.concat([result, wire.commandComplete(tag), wire.readyForQuery]));
  }

  private start(from: Lsn, timeline: Timeline): void {
    this.timeline = timeline;
    this.next = from;
    const end = this.endOfTimeline();
    if (end !== null && from >= end) {
      this.finishTimeline(end);
      return;
    }
    this.state = 'streaming';
    this.socket.write(wire.copyBothResponse);
    this.options.onStreaming(from, timeline);
    void this.pump();
  }

  private endOfTimeline(): Lsn | null {
    const end = endOfTimeline(this.options.source.position(), this.timeline);
    if (end === undefined) throw new Error(`timeline ${this.timeline} is not of this group's history`);
    return end;
  }

  /** As PostgreSQL's own walsender does it: where the next timeline begins, and two CommandCompletes. */
  private finishTimeline(end: Lsn): void {
    this.state = 'idle';
    const next = (this.timeline + 1).toString();
    this.socket.write(
      Buffer.concat([
        wire.resultSet(['next_tli', 'next_tli_startpos'], [next, formatLsn(end)]),
        wire.commandComplete('START_STREAMING'),
        wire.commandComplete('START_REPLICATION'),
        wire.readyForQuery,
      ]),
    );
  }

  private hear(body: Buffer): void {
    const report = wire.readStandbyStatus(body);
    if (report === null) return;
    // It doubts that anybody is there still.
    if (report.replyRequested && this.state === 'streaming')
      this.socket.write(wire.keepalive(this.next, false));
    // A standby may have more of a timeline than was left of it, and its first report is of before this connection.
    const most = Math.min(this.next, this.endOfTimeline() ?? this.next);
    const bounded = (lsn: Lsn): Lsn => Math.min(lsn, most) as Lsn;
    this.options.onReport({
      written: bounded(report.written),
      flushed: bounded(report.flushed),
      replayed: bounded(report.replayed),
    });
  }

  private standbyDone(): void {
    if (this.state === 'streaming') {
      this.socket.write(wire.copyDone);
      this.finishTimeline(this.endOfTimeline() ?? this.next);
      return;
    }
    const end = this.endOfTimeline();
    if (end === null) throw new Error('a timeline has ended without an end');
    this.finishTimeline(end);
  }

  more(): void {
    const waits = this.options.source.position().end - this.next;
    if (this.options.gatherMs === 0 || waits >= gatheredBytes) void this.pump();
    else this.waiting ??= setTimeout(() => void this.pump(), this.options.gatherMs);
  }

  ask(): void {
    if (this.state !== 'streaming') return;
    void this.pump().then(() => {
      if (this.state === 'streaming') this.socket.write(wire.keepalive(this.next, true));
    });
  }

  /** Sends what there is. Reading may take its time; one reads at a time. */
  private async pump(): Promise<void> {
    if (this.waiting !== null) clearTimeout(this.waiting);
    this.waiting = null;
    if (this.pumping) return;
    this.pumping = true;
    try {
      while (this.state === 'streaming' && this.socket.writableLength < sendBytesMax) {
        const end = this.endOfTimeline();
        if (end !== null && this.next >= end) {
          this.state = 'ending';
          this.socket.write(wire.copyDone);
          break;
        }
        const found = this.options.source.read(this.next, gatheredBytes);
        const pieces = found instanceof Promise ? await found : found;
        if (pieces === null) break;
        if (this.streaming) this.send(pieces, end);
      }
    } catch (error) {
      this.end(error instanceof Error ? error.message : String(error));
    } finally {
      this.pumping = false;
    }
  }

  /** What lies beyond the end of its timeline is nobody's. */
  private send(pieces: readonly Buffer[], end: Lsn | null): void {
    const { end: chosen } = this.options.source.position();
    this.socket.cork();
    for (const piece of joined(pieces)) {
      const left = end === null ? piece.length : Math.min(piece.length, end - this.next);
      if (left <= 0) break;
      this.socket.write(wire.walHead(this.next, chosen, left));
      this.socket.write(left === piece.length ? piece : piece.subarray(0, left));
      this.next = (this.next + left) as Lsn;
    }
    this.socket.uncork();
  }

  /** Tells the other side nothing: a walreceiver connects again by itself. */
  end(reason: string): void {
    this.socket.destroySoon();
    this.closed(reason);
  }

  private closed(reason: string): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    if (this.waiting !== null) clearTimeout(this.waiting);
    this.options.onEnded(reason);
  }
}

/** Small pieces become one message: each wakes the standby once. */
function joined(pieces: readonly Buffer[]): Buffer[] {
  const groups: Buffer[][] = [];
  let bytes = 0;
  for (const piece of pieces) {
    if (groups.length === 0 || bytes + piece.length > pieceBytesMax) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)!.push(piece);
    bytes += piece.length;
  }
  return groups.map((group) => (group.length === 1 ? group[0]! : Buffer.concat(group)));
}
