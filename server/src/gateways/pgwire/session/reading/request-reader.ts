/**
 * Reads along in what a client that reads at a standby sends: whether PostgreSQL will take a snapshot for it, what it says of how it wants to read, and whether the gateway can answer it in PostgreSQL's place.
 *
 * Responsible for: looking at each chunk; the tracker follows only what is passed on.
 * Invariant: a message that tells what is executed, and is not longer than `heldBytesMax` is read whole, however the network cuts it: its beginning is kept until the rest is there.
 */
import { type ConsistencyMention, consistencyIn } from '../../codec/read-consistency.ts';
import { FrameSplitter, headerBytes } from '../../../../pgwire/frame-splitter.ts';
import { front } from '../../../../pgwire/message-types.ts';
import { type StatementKind, statementKind } from './statement-kind.ts';
import { readBindNames, shortName, stringEnd } from '../../../../pgwire/frontend-messages.ts';

/** Passwords and the answers of SASL. */
const password = 'p'.charCodeAt(0);
const heldBytesMax = 16_384;
/** Prepared statements that change how the session reads; and others of which it is kept what they are. */
const preparedMax = 1_000;
/** In a Close message; the other thing is a portal. */
const statementClosed = 'S'.charCodeAt(0);
const noBytes = Buffer.alloc(0);

export interface ReadRequest {
  /** What is to be passed on: it may end before what came does. */
  readonly chunk: Buffer;
  /** It has more than passwords and the end of the session. */
  readonly asks: boolean;
  /** It is one statement and nothing else, in either protocol. */
  readonly isLoneStatement: boolean;
  /** It is Query messages and runs that end with Sync, all of them whole: so many ReadyForQuery messages answer it, and an error goes before each. 0: it is something else. */
  readonly readies: number;
  /** Of what it has executed. */
  readonly mention: ConsistencyMention;
  /** Null if it is not one statement and nothing else. */
  readonly kind: StatementKind;
}

export class RequestReader {
  private readonly frameBytesMax: number;
  private splitter: FrameSplitter;
  private held: Buffer = noBytes;
  /** By the names of the statements; that without a name is one of them. */
  private readonly prepared = new Map<string, ConsistencyMention>();
  private readonly kinds = new Map<string, StatementKind>();

  constructor(frameBytesMax: number) {
    this.frameBytesMax = frameBytesMax;
    this.splitter = new FrameSplitter(frameBytesMax);
  }

  /** @throws ProtocolViolation */
  read(came: Buffer): ReadRequest {
    const { splitter } = this;
    let chunk = this.held.length === 0 ? came : Buffer.concat([this.held, came]);
    this.held = noBytes;
    const beginsWhole = splitter.atBoundary;
    const seen = newSeen();
    splitter.feed(chunk);
    while (splitter.next()) {
      const { type, first, last, start } = splitter;
      if (type === password || type === front.terminate) continue;
      if (first && !last && isShort(chunk, start)) {
        this.held = Buffer.from(chunk.subarray(start));
        chunk = chunk.subarray(0, start);
        this.splitter = new FrameSplitter(this.frameBytesMax);
        break;
      }
      seen.asks = true;
      if (type === front.query || type === front.sync) {
        seen.readies += 1;
        seen.isOpen &&= type === front.query;
      } else seen.isOpen = true;
      if (first) this.look(chunk, splitter, seen);
    }
    const isWhole = beginsWhole && this.splitter.atBoundary;
    const isLoneStatement = isWhole && isOneStatement(seen);
    return {
      chunk,
      asks: seen.asks,
      isLoneStatement,
      readies: isWhole && !seen.isOpen ? seen.readies : 0,
      mention: seen.mention,
      kind: isLoneStatement ? seen.kind : null,
    };
  }

  /** At the first part of a message. */
  private look(chunk: Buffer, { type, payload, end, last }: FrameSplitter, seen: Seen): void {
    seen.messages += 1;
    switch (type) {
      case front.query:
        seen.queries += 1;
        if (last) this.lookAtQuery(textAt(chunk, payload, end), seen);
        return;
      case front.parse:
        seen.parses += 1;
        if (last) this.parse(chunk, payload, end, seen);
        else this.kinds.clear();
        return;
      case front.bind:
        seen.binds += 1;
        seen.bound = readBindNames(chunk, payload, end).statement;
        seen.mention = weightier(seen.mention, this.prepared.get(seen.bound) ?? null);
        seen.kind = this.kinds.get(seen.bound) ?? null;
        return;
      case front.execute:
        seen.executes += 1;
        return;
      case front.functionCall:
        seen.calls += 1;
        return;
      case front.close:
        if (chunk[payload] === statementClosed) this.forget(nameAt(chunk, payload + 1, end));
        return;
      default:
    }
  }

  private lookAtQuery(text: string, seen: Seen): void {
    seen.mention = weightier(seen.mention, consistencyIn(text));
    seen.kind = statementKind(text);
  }

  private forget(name: string): void {
    this.prepared.delete(name);
    this.kinds.delete(name);
  }

  private parse(chunk: Buffer, from: number, to: number, seen: Seen): void {
    const name = nameAt(chunk, from, to);
    const text = textAt(chunk, stringEnd(chunk, from, to) + 1, to);
    const mention = consistencyIn(text);
    seen.parsed = name;
    this.forget(name);
    if (this.kinds.size < preparedMax) this.kinds.set(name, statementKind(text));
    // What cannot be followed is not to be prepared, either.
    const isLost = this.prepared.size >= preparedMax && mention !== null && mention.kind !== 'end';
    if (isLost || mention?.kind === 'other') seen.mention = { kind: 'other' };
    else if (mention !== null) this.prepared.set(name, mention);
  }
}

/** In one chunk. */
interface Seen {
  asks: boolean;
  readies: number;
  isOpen: boolean;
  messages: number;
  queries: number;
  parses: number;
  binds: number;
  executes: number;
  calls: number;
  /** Names of statements. */
  parsed: string | null;
  bound: string | null;
  mention: ConsistencyMention;
  kind: StatementKind;
}

function newSeen(): Seen {
  const counts = { readies: 0, messages: 0, queries: 0, parses: 0, binds: 0, executes: 0, calls: 0 };
  return { asks: false, isOpen: false, ...counts, parsed: null, bound: null, mention: null, kind: null };
}

function isOneStatement({ messages, queries, parses, binds, executes, calls, parsed, bound }: Seen): boolean {
  if (queries > 0) return messages === 1;
  const isSame = parsed === null || bound === null || parsed === bound;
  return calls === 0 && parses <= 1 && binds <= 1 && executes <= binds && isSame;
}

function nameAt(chunk: Buffer, from: number, to: number): string {
  return shortName(chunk, from, stringEnd(chunk, from, to));
}

function textAt(chunk: Buffer, from: number, to: number): string {
  return chunk.toString('latin1', from, stringEnd(chunk, from, to));
}

/** Of what may reset everything and what changes one thing, the latter has to be told of. */
function weightier(a: ConsistencyMention, b: ConsistencyMention): ConsistencyMention {
  const weight = (one: ConsistencyMention): number =>
    one === null ? 0 : { end: 1, all: 2, perhapsAll: 3, change: 4, other: 5 }[one.kind];
  return weight(b) > weight(a) ? b : a;
}

/** A message that begins here, and whose rest has not come, tells what is executed, and is short; or that is not known yet. */
function isShort(chunk: Buffer, at: number): boolean {
  const type = chunk[at];
  if (type !== front.query && type !== front.parse && type !== front.bind) return false;
  return chunk.length < at + headerBytes || chunk.readUInt32BE(at + 1) < heldBytesMax;
}
