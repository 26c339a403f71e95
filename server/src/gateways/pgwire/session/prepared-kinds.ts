/**
 * What the prepared statements of one session do to transactions, as far as it is more than `plain`.
 *
 * Responsible for: remembering it from Parse to Bind; what is certain of it is told by given-kinds.ts. Reads no more of a message than its first part, and says `unclear` where that does not suffice.
 */
import { type BindNames, readBindNames, shortName, stringEnd } from '../../../pgwire/frontend-messages.ts';
import type { StatementKind } from '../../../pgwire/statement-kinds.ts';
import { kindOfBeginning, kindOfStatement } from '../codec/single-statement.ts';
import type { TextRules } from '../../../pgwire/text-rules.ts';
import { GivenKinds } from './given-kinds.ts';

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
  private readonly names: GivenKinds;

  constructor(names = new GivenKinds()) {
    this.names = names;
  }

  /** As if PostgreSQL had refused nothing. */
  copy(): PreparedKinds {
    return new PreparedKinds(this.names.copy());
  }

  /** Of a Parse message. */
  parse({ bytes, from, to, isWhole }: Payload, rules: TextRules): void {
    const nameEnd = stringEnd(bytes, from, to);
    if (nameEnd === to) {
      this.names.giveUnknown();
      return;
    }
    const text = nameEnd + 1;
    const kind = isWhole
      ? kindOfStatement(bytes, text, stringEnd(bytes, text, to), rules)
      : kindOfBeginning(bytes, text, to);
    if (kind === 'plain' && this.names.arePlain) return;
    this.names.give(shortName(bytes, from, nameEnd), kind);
  }

  /** Of a Bind message. Null if every statement is plain: then it is not read. */
  bind({ bytes, from, to }: Payload): BoundPortal | null {
    if (this.names.arePlain) return null;
    const names = readBindNames(bytes, from, to);
    return { ...names, kind: names.whole ? this.names.kindOf(names.statement) : 'unclear' };
  }

  kindOf(statement: string): StatementKind {
    return this.names.kindOf(statement);
  }

  /** It stands for a statement of this kind. */
  give(statement: string, kind: StatementKind): void {
    this.names.give(statement, kind);
  }

  sync(): void {
    this.names.sync();
  }

  /** All that was sent is answered. `failed`: with an error among it. */
  answered(failed: boolean): void {
    this.names.answered(failed);
  }
}
