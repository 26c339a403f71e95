/**
 * The frames with which PostgreSQL would answer a batch of the extended protocol that does nothing but succeed, so that a repetition of it can be answered without being run.
 *
 * Bounded: of a batch with very many messages, or that prepares very long texts, the answers are not told again.
 */
import {
  bindComplete,
  closeComplete,
  commandComplete,
  noData,
  parseComplete,
} from '../../../../pgwire/backend-messages.ts';
import { headerBytes } from '../../../../pgwire/frame-splitter.ts';
import { front } from '../../../../pgwire/message-types.ts';

/** `tag`: with that of the command. `unknown`: it depends. */
type Reply = Buffer | 'tag' | 'unknown';

const repliesMax = 1_000;
const preparesBytesMax = 1_048_576;
const statementLetter = 'S'.charCodeAt(0);
const portalLetter = 'P'.charCodeAt(0);

export class ExpectedReplies {
  /** Messages that prepare statements, or close them: a client that is told their success goes by it later. */
  readonly prepares: Buffer[] = [];
  private preparesBytes = 0;
  private readonly replies: Reply[] = [];

  /** The next message of the batch. */
  note(frame: Buffer): void {
    if (this.replies.length > repliesMax) return;
    if (prepares(frame)) {
      this.preparesBytes += frame.length;
      if (this.preparesBytes <= preparesBytesMax) this.prepares.push(frame);
    }
    const isBounded = this.replies.length < repliesMax && this.preparesBytes <= preparesBytesMax;
    const reply = isBounded ? replyTo(frame) : 'unknown';
    if (reply !== null) this.replies.push(reply);
  }

  /** To all that has been noted when it is called, by the tag of the one command in it; null if that cannot be told. */
  readonly frames = (tag: string): readonly Buffer[] | null => {
    const { replies } = this;
    if (replies.filter((reply) => reply === 'tag').length !== 1 || replies.includes('unknown')) return null;
    return replies.map((reply) => (reply === 'tag' ? commandComplete(tag) : (reply as Buffer)));
  };
}

function prepares(frame: Buffer): boolean {
  return frame[0] === front.parse || (frame[0] === front.close && frame[headerBytes] === statementLetter);
}

function replyTo(frame: Buffer): Reply | null {
  const type = frame[0]!;
  switch (type) {
    case front.parse:
      return parseComplete;
    case front.bind:
      return bindComplete;
    case front.close:
      return closeComplete;
    case front.execute:
      return 'tag';
    case front.describe:
      // Of a portal: without rows there is nothing to describe. Of a statement: its parameters are not known.
      return frame[headerBytes] === portalLetter ? noData : 'unknown';
    default:
      return null;
  }
}
