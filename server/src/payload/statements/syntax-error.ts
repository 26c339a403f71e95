/** Errors as PostgreSQL told them. Pure. */
import { readErrorFields } from '../../pgwire/backend-messages.ts';
import { FrameSplitter } from '../../pgwire/frame-splitter.ts';
import { back } from '../../pgwire/message-types.ts';

/** The answer to a text that was parsed by itself: its error, if PostgreSQL does not understand it; null: it does. */
export function syntaxErrorOf(messages: readonly Buffer[]): Buffer | null {
  const error = messages.find(([type]) => type === back.errorResponse);
  if (error === undefined) return null;
  const fields = readErrorFields(error);
  const isMany = /multiple commands into a prepared statement/.test(fields.get('M') ?? '');
  return fields.get('C') === '42601' && !isMany ? error : null;
}

/** Of the first error in an answer; empty: it has none. */
export function fieldOf(answer: Buffer, letter: string): string {
  const splitter = new FrameSplitter(answer.length + 1);
  splitter.feed(answer);
  while (splitter.next()) {
    if (splitter.type === back.errorResponse)
      return readErrorFields(answer.subarray(splitter.start, splitter.end)).get(letter) ?? '';
  }
  return '';
}
