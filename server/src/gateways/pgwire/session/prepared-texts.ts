/**
 * Digests of the texts that a client has prepared under names, for a transaction under a name (named/attempt.ts): drivers prepare what they repeat once, long before.
 *
 * Responsible for: remembering them from Parse to Close. Null stands for a text that is not known: one that came in pieces or is long, one that stands for another text, and one of a name that was given before, for PostgreSQL may
 * have refused it. Bounded.
 */
import { shortName, stringEnd } from '../../../pgwire/frontend-messages.ts';
import { digestOf } from './named/request-digest.ts';
import type { Payload } from './prepared-kinds.ts';

const namesMax = 1_000;
const textBytesMax = 16_384;
/** SQL's EXECUTE, wherever it is. */
const executing = /execute/i;
const statementLetter = 'S'.charCodeAt(0);

/** `bytes`: the text of a Parse message, with the zero byte ahead of it and the types behind it. Null if the text may stand for another one. */
export function textDigest(bytes: Buffer): string | null {
  return executing.test(bytes.toString('latin1')) ? null : digestOf(bytes);
}

export class PreparedTexts {
  private readonly texts = new Map<string, string | null>();

  copy(): Map<string, string | null> {
    return new Map(this.texts);
  }

  /** Of a Parse message. The statement without a name is not kept: it is bound at once, as a rule. */
  parse({ bytes, from, to, isWhole }: Payload): void {
    if (bytes[from] === 0 || from === to) return;
    const nameEnd = stringEnd(bytes, from, to);
    const statement = shortName(bytes, from, nameEnd);
    const isKnown = isWhole && to - nameEnd <= textBytesMax && !this.texts.has(statement);
    if (this.texts.size < namesMax || this.texts.has(statement))
      this.texts.set(statement, isKnown ? textDigest(bytes.subarray(nameEnd, to)) : null);
  }

  /** Of a Close message. */
  close({ bytes, from, to }: Payload): void {
    if (bytes[from] === statementLetter)
      this.texts.delete(shortName(bytes, from + 1, stringEnd(bytes, from + 1, to)));
  }
}
