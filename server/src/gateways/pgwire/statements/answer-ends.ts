/** How the answer to a request ends, and what it leaves the client in. Pure. */
import { endsSession, readErrorFields } from '../../../pgwire/backend-messages.ts';
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import { back } from '../../../pgwire/message-types.ts';

export interface AnswerEnd {
  readonly failed: boolean;
  /** Of the ErrorResponse that ended the session; null: it goes on. */
  readonly fatal: string | null;
  /** Where the last ReadyForQuery begins; -1: there is none. */
  readonly readyAt: number;
}

const anyLength = 0x7fff_ffff;

/** Whole messages. */
export function endOfAnswer(answer: Buffer): AnswerEnd {
  const splitter = new FrameSplitter(anyLength);
  splitter.feed(answer);
  const end = { failed: false, fatal: null as string | null, readyAt: -1 };
  while (splitter.next()) {
    const { type, start } = splitter;
    if (type === back.errorResponse) {
      const fields = readErrorFields(answer.subarray(start, splitter.end));
      end.failed = true;
      if (endsSession(fields)) end.fatal = fields.get('C') ?? '';
    } else if (type === back.readyForQuery) end.readyAt = start;
  }
  return end;
}
