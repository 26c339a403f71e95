/**
 * Reads along in what a client that reads at a standby sends: whether PostgreSQL will take a snapshot for it, what it says of how it wants to read, and whether the gateway can answer it in PostgreSQL's place.
 *
 * Responsible for: looking at each chunk; the tracker follows only what is passed on.
 */
import { type ConsistencyMention, consistencyIn } from '../../codec/read-consistency.ts';
import { FrameSplitter } from '../../codec/frame-splitter.ts';
import { front } from '../../codec/message-types.ts';
import { stringEnd } from '../../codec/frontend-messages.ts';

/** Passwords and the answers of SASL. */
const password = 'p'.charCodeAt(0);

export interface ReadRequest {
  readonly chunk: Buffer;
  /** It has more than passwords and the end of the session. */
  readonly asks: boolean;
  /** It is one statement and nothing else, in either protocol. */
  readonly isLoneStatement: boolean;
  /** It is Query messages and runs that end with Sync, all of them whole: so many ReadyForQuery messages answer it, and an error goes before each. 0: it is something else. */
  readonly readies: number;
  readonly mention: ConsistencyMention;
}

export class RequestReader {
  private readonly splitter: FrameSplitter;

  constructor(frameBytesMax: number) {
    this.splitter = new FrameSplitter(frameBytesMax);
  }

  /** @throws ProtocolViolation */
  read(chunk: Buffer): ReadRequest {
    const { splitter } = this;
    const beginsWhole = splitter.atBoundary;
    let asks = false;
    let texts = 0;
    let executes = 0;
    let readies = 0;
    let isOpen = false;
    let mention: ConsistencyMention = null;
    splitter.feed(chunk);
    while (splitter.next()) {
      const { type, first, last } = splitter;
      if (type === password || type === front.terminate) continue;
      asks = true;
      if (type === front.query || type === front.sync) {
        readies += 1;
        isOpen = type === front.query && isOpen;
      } else isOpen = true;
      if (first && hasText(type)) texts += 1;
      if (first && type === front.execute) executes += 1;
      if (first && last && hasText(type)) mention ??= consistencyIn(this.textOf(chunk));
    }
    const isWhole = beginsWhole && splitter.atBoundary;
    return {
      chunk,
      asks,
      isLoneStatement: isWhole && texts === 1 && executes <= 1,
      readies: isWhole && !isOpen ? readies : 0,
      mention,
    };
  }

  private textOf(chunk: Buffer): string {
    const { type, payload, end } = this.splitter;
    const from = type === front.parse ? stringEnd(chunk, payload, end) + 1 : payload;
    return chunk.toString('latin1', from, stringEnd(chunk, from, end));
  }
}

function hasText(type: number): boolean {
  return type === front.query || type === front.parse;
}
