/**
 * What the prepared statements of one session do to transactions, as far as it is more than `plain`.
 *
 * Responsible for: remembering it from Parse to Bind. Reads no more of a message than its first part, and says `unclear` where that does not suffice.
 * Bounded: of a session with very many such statements nothing is certain any more.
 */
import type { FrameSplitter } from '../codec/frame-splitter.ts';
import { type BindNames, readBindNames, stringEnd } from '../codec/frontend-messages.ts';
import type { StatementKind } from '../codec/statement-kinds.ts';
import { kindOfBeginning, kindOfStatement } from '../codec/statement-reader.ts';
import type { TextRules } from '../codec/text-rules.ts';

const namesMax = 1000;

export interface BoundPortal extends BindNames {
  readonly kind: StatementKind;
}

export class PreparedKinds {
  private unnamed: StatementKind = 'plain';
  private readonly named = new Map<string, StatementKind>();
  /** There is a statement of which not even the name is known. */
  private unknown = false;

  /** The first part of a Parse message. */
  parse(part: FrameSplitter, chunk: Buffer, rules: TextRules): void {
    const nameEnd = stringEnd(chunk, part.payload, part.end);
    if (nameEnd === part.end) {
      this.unnamed = 'unclear';
      this.unknown = true;
      return;
    }
    const from = nameEnd + 1;
    const kind = part.last
      ? kindOfStatement(chunk, from, stringEnd(chunk, from, part.end), rules)
      : kindOfBeginning(chunk, from, part.end);
    this.remember(chunk.toString('latin1', part.payload, nameEnd), kind);
  }

  /** The first part of a Bind message; null if every statement is plain, so that it need not be read. */
  bind(part: FrameSplitter, chunk: Buffer): BoundPortal | null {
    if (this.unnamed === 'plain' && this.named.size === 0 && !this.unknown) return null;
    const names = readBindNames(chunk, part.payload, part.end);
    return { ...names, kind: names.whole ? this.kindOf(names.statement) : 'unclear' };
  }

  private remember(name: string, kind: StatementKind): void {
    if (name === '') this.unnamed = kind;
    else if (kind === 'plain') {
      if (this.named.size > 0) this.named.delete(name);
    } else if (this.named.has(name) || this.named.size < namesMax) this.named.set(name, kind);
    else this.unknown = true;
  }

  private kindOf(name: string): StatementKind {
    if (name === '') return this.unnamed;
    return this.named.get(name) ?? (this.unknown ? 'unclear' : 'plain');
  }
}
