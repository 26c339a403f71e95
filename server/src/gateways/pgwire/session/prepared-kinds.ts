/**
 * What the prepared statements of one session do to transactions, as far as it is more than `plain`.
 *
 * Responsible for: remembering it from Parse to Bind. Reads no more of a message than its first part, and says `unclear` where that does not suffice.
 * Bounded: of a session with very many such statements nothing is certain any more.
 */
import { type BindNames, readBindNames, shortName, stringEnd } from '../codec/frontend-messages.ts';
import type { StatementKind } from '../codec/statement-kinds.ts';
import { kindOfBeginning, kindOfStatement } from '../codec/single-statement.ts';
import type { TextRules } from '../codec/text-rules.ts';

const namesMax = 1000;

/** The payload of a Parse or Bind message, or its beginning, in `bytes`. */
export interface Payload {
  readonly bytes: Buffer;
  readonly from: number;
  readonly to: number;
  readonly isWhole: boolean;
}

export interface BoundPortal extends BindNames {
  readonly kind: StatementKind;
}

export class PreparedKinds {
  private unnamed: StatementKind = 'plain';
  private readonly named = new Map<string, StatementKind>();
  /** There is a statement of which not even the name is known. */
  private unknown = false;

  copy(): PreparedKinds {
    const copy = new PreparedKinds();
    copy.unnamed = this.unnamed;
    copy.unknown = this.unknown;
    for (const [name, kind] of this.named) copy.named.set(name, kind);
    return copy;
  }

  /** Of a Parse message. */
  parse({ bytes, from, to, isWhole }: Payload, rules: TextRules): void {
    const nameEnd = stringEnd(bytes, from, to);
    if (nameEnd === to) {
      this.unnamed = 'unclear';
      this.unknown = true;
      return;
    }
    const text = nameEnd + 1;
    const kind = isWhole
      ? kindOfStatement(bytes, text, stringEnd(bytes, text, to), rules)
      : kindOfBeginning(bytes, text, to);
    this.remember(shortName(bytes, from, nameEnd), kind);
  }

  /** Of a Bind message. Null if every statement is plain: then it is not read. */
  bind({ bytes, from, to }: Payload): BoundPortal | null {
    if (this.unnamed === 'plain' && this.named.size === 0 && !this.unknown) return null;
    const names = readBindNames(bytes, from, to);
    return { ...names, kind: names.whole ? this.kindOf(names.statement) : 'unclear' };
  }

  /** The statement that a whole Bind message names. */
  statementOf({ bytes, from, to }: Payload): string {
    return readBindNames(bytes, from, to).statement;
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
