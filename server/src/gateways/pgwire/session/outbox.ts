/**
 * What goes to a client: kept until it may leave, then written, and only then counted as told.
 *
 * Responsible for: the order of bytes, and for knowing what the client has been told. Views are written as they are, with one write for all that a turn has brought.
 * Invariant: a client that reads slowly stops the reading of PostgreSQL's answers.
 */
import type { Duplex } from 'node:stream';
import type { TransactionStatus } from '../../../pgwire/message-types.ts';
import type { RequestTracker } from './request-tracker.ts';
import type { Valve } from './valve.ts';

/** What a piece of the stream to the client means once it is told. */
export interface Told {
  /** ReadyForQuery messages in it, and the status of the last one. */
  readonly readies: number;
  readonly status: TransactionStatus;
  /** It holds part of an answer that goes on. */
  readonly begun: boolean;
  /** It ends between two messages. */
  readonly atBoundary: boolean;
  /** PostgreSQL says in it why it ends the session. */
  readonly saidFatal: boolean;
}

export class Outbox {
  /** What has been told ends between two messages. */
  atBoundary = true;
  /** Part of the answer that is due has been told. */
  begun = false;
  saidFatal = false;

  private readonly client: Duplex;
  private readonly tracker: RequestTracker;
  private readonly source: Valve;
  private readonly onDrain = (): void => this.source.resume('full');
  private fresh = new Batch();
  private held: Batch | null = null;

  constructor(client: Duplex, tracker: RequestTracker, source: Valve) {
    this.client = client;
    this.tracker = tracker;
    this.source = source;
    client.on('drain', this.onDrain);
  }

  /** True if nothing waits to leave. */
  get isEmpty(): boolean {
    return this.held === null && this.fresh.buffers.length === 0;
  }

  get isHolding(): boolean {
    return this.held !== null;
  }

  /** ReadyForQuery messages that PostgreSQL has sent and the client has not been told. */
  get readiesWaiting(): number {
    return this.fresh.readies + (this.held?.readies ?? 0);
  }

  /** Returns whether it is the first that waits. */
  add(bytes: Buffer, told: Told): boolean {
    this.fresh.add(bytes, told);
    return this.fresh.buffers.length === 1;
  }

  hold(): void {
    this.held = this.fresh;
    this.fresh = new Batch();
    this.source.pause('gate');
  }

  /** What is held, or else what is fresh. True if there is more that waits. */
  release(): boolean {
    const batch = this.held ?? this.fresh;
    this.write(batch.buffers);
    this.tell(batch);
    if (this.held === null) {
      batch.clear();
      return false;
    }
    this.held = null;
    this.source.resume('gate');
    return this.fresh.buffers.length > 0;
  }

  /** The client is another one's. */
  leave(): void {
    this.client.off('drain', this.onDrain);
  }

  /** Nothing that waits will leave. */
  drop(): void {
    this.held = null;
    this.fresh = new Batch();
  }

  /** Puts a message that is no answer into the stream now. False if that is not possible. */
  insert(message: Buffer): boolean {
    if (!this.atBoundary || !this.isEmpty) return false;
    this.client.write(message);
    return true;
  }

  private tell(batch: Batch): void {
    if (batch.readies > 0) this.tracker.told(batch.readies, batch.status);
    this.begun = batch.begun || (this.begun && batch.readies === 0);
    this.atBoundary = batch.atBoundary;
    this.saidFatal ||= batch.saidFatal;
  }

  private write(buffers: readonly Buffer[]): void {
    const { client } = this;
    if (client.destroyed) return;
    let room = true;
    if (buffers.length === 1) room = client.write(buffers[0]!);
    else {
      client.cork();
      for (const buffer of buffers) room = client.write(buffer);
      client.uncork();
    }
    if (!room) this.source.pause('full');
  }
}

class Batch {
  readonly buffers: Buffer[] = [];
  readies = 0;
  status: TransactionStatus = 'I';
  begun = false;
  atBoundary = true;
  saidFatal = false;

  add(bytes: Buffer, told: Told): void {
    this.buffers.push(bytes);
    if (told.readies > 0) {
      this.readies += told.readies;
      this.status = told.status;
      this.begun = told.begun;
    } else this.begun ||= told.begun;
    this.atBoundary = told.atBoundary;
    this.saidFatal ||= told.saidFatal;
  }

  clear(): void {
    this.buffers.length = 0;
    this.readies = 0;
    this.begun = false;
    this.saidFatal = false;
  }
}
