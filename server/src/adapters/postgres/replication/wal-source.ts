/**
 * Receives the WAL of the replica's own primary, as its only synchronous standby.
 *
 * Responsible for: the replication connection, handing on what has come, and reporting what is chosen, which releases the commits that wait for it. Decides nothing: what is reported is the caller's
 * word. PostgreSQL sends only what it has flushed, in pieces that end at the end of a record or of a page.
 * Invariants: pieces are consecutive; the position that is reported never goes back.
 */
import { connect, type Socket } from 'node:net';
import { formatLsn, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import { ownStartupPacket } from '../pg-client.ts';
import { sqlStateError } from '../server-error.ts';
import {
  cString,
  letter,
  message,
  MessageReader,
  readFromPrimary,
  standbyStatus,
  startReplication,
  type WireMessage,
} from './messages.ts';

/** The name under which the primary waits for its standby: the value of synchronous_standby_names. */
export const gateName = 'barista';

export interface WalSourceOptions {
  readonly socketPath: string;
  /** Of PostgreSQL, such as `18.4`. */
  readonly version: string;
  readonly timeline: Timeline;
  readonly from: Lsn;
  /** A physical slot, which keeps the WAL until it is reported; null: none. */
  readonly slot: string | null;
  /** What one read of the socket brought: consecutive, each ending where it may be cut. */
  readonly onWal: (start: Lsn, pieces: readonly Buffer[]) => void;
  /** The walsender has answered, or said something of its own accord. */
  readonly onHeard: () => void;
  /** The connection is over; told once, and never after `close`. */
  readonly onEnd: (reason: string) => void;
}

export interface WalSource {
  /** Everything below is chosen. */
  report(position: Lsn): void;
  /** Asks for a sign of life. */
  ping(): void;
  /** No more is taken from PostgreSQL until `resume`. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** Resolves when PostgreSQL has begun to send. @throws Error with PostgreSQL's reason */
export function openWalSource(options: WalSourceOptions): Promise<WalSource> {
  return new Promise((resolve, reject) => {
    const receiver = new Receiver(options, (error) => {
      if (error === null) resolve(receiver);
      else reject(error);
    });
  });
}

class Receiver implements WalSource {
  private readonly options: WalSourceOptions;
  private readonly socket: Socket;
  private readonly reader = new MessageReader();
  private readonly begun: (error: Error | null) => void;
  private state: 'connecting' | 'asked' | 'streaming' | 'closed' = 'connecting';
  /** Where the next piece must begin. */
  private next: Lsn;
  private reported: Lsn;

  constructor(options: WalSourceOptions, begun: (error: Error | null) => void) {
    this.options = options;
    const { reader } = this;
    const socket = connect({
      path: options.socketPath,
      onread: {
        buffer: () => reader.room(),
        callback: (bytes) => {
          this.take(bytes);
          return true;
        },
      },
    });
    this.socket = socket;
    this.begun = begun;
    this.next = options.from;
    this.reported = options.from;
    socket.setNoDelay(true);
    socket.on('connect', () =>
      socket.write(ownStartupPacket({ version: options.version, database: null, applicationName: gateName })),
    );
    socket.on('error', (error) => this.end(error));
    socket.on('close', () => this.end(new Error('PostgreSQL closed the replication connection')));
  }

  private take(bytes: number): void {
    if (this.state === 'closed') return;
    try {
      const messages = this.reader.read(bytes);
      if (this.state === 'streaming') this.stream(messages);
      else for (const one of messages) this.greet(one);
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Until the stream begins. What follows CopyBothResponse in the same read is taken by `take` again. */
  private greet({ type, body }: WireMessage): void {
    const { from, timeline, slot } = this.options;
    if (this.state === 'streaming') return this.stream([{ type, body }]);
    if (type === letter('E')) throw sqlStateError(body);
    if (type === letter('R') && body.readInt32BE(0) !== 0)
      throw new Error('PostgreSQL asks the replica itself for a password');
    if (type === letter('Z') && this.state === 'connecting') {
      this.state = 'asked';
      this.socket.write(message('Q', cString(startReplication(from, timeline, slot))));
    } else if (type === letter('W')) {
      this.state = 'streaming';
      this.begun(null);
    } else if (type === letter('Z')) {
      throw new Error(`PostgreSQL has no WAL of timeline ${timeline} from ${formatLsn(from)} on`);
    }
  }

  private stream(messages: readonly WireMessage[]): void {
    const start = this.next;
    const pieces: Buffer[] = [];
    for (const { type, body } of messages) {
      if (type === letter('E')) throw sqlStateError(body);
      if (type === letter('c')) throw new Error('PostgreSQL has ended the stream of its WAL');
      if (type !== letter('d')) continue;
      const said = readFromPrimary(body);
      if (said.kind === 'keepalive') {
        if (said.replyRequested) this.send(false);
        continue;
      }
      if (said.start !== this.next) {
        throw new Error(`WAL from ${formatLsn(said.start)} came where ${formatLsn(this.next)} was due`);
      }
      if (said.data.length === 0) continue;
      this.next = (this.next + said.data.length) as Lsn;
      pieces.push(said.data);
    }
    this.options.onHeard();
    if (pieces.length > 0) this.options.onWal(start, pieces);
  }

  report(position: Lsn): void {
    if (position <= this.reported) return;
    this.reported = position;
    this.send(false);
  }

  ping(): void {
    this.send(true);
  }

  private send(replyRequested: boolean): void {
    if (this.state === 'streaming') this.socket.write(standbyStatus(this.reported, replyRequested));
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  private end(error: Error): void {
    const { state } = this;
    if (state === 'closed') return;
    this.close();
    if (state === 'streaming') this.options.onEnd(error.message);
    else this.begun(error);
  }

  close(): void {
    this.state = 'closed';
    this.socket.destroy();
  }
}
