/**
 * What the portals of one session will do to transactions when they are executed, as far as it is more than `plain`.
 *
 * Responsible for: remembering it from Bind to Execute, since a portal that is bound in a block may be executed in a later message; what is certain of it is told by given-kinds.ts. Reads no more of a message than its first part.
 */
import { readBindNames, shortName, stringEnd } from '../../../pgwire/frontend-messages.ts';
import type { StatementKind } from '../../../pgwire/statement-kinds.ts';
import { GivenKinds } from './given-kinds.ts';
import type { BoundPortal, Payload } from './prepared-kinds.ts';

export class OpenPortals {
  private readonly names: GivenKinds;

  constructor(names = new GivenKinds()) {
    this.names = names;
  }

  /** As if PostgreSQL had refused nothing. */
  copy(): OpenPortals {
    return new OpenPortals(this.names.copy());
  }

  /** Of a Bind message; `bound` is what PreparedKinds says of it. */
  bind({ bytes, from, to }: Payload, bound: BoundPortal | null): void {
    if (bound === null && this.names.arePlain) return;
    const { portal, whole } = bound ?? readBindNames(bytes, from, to);
    if (whole) this.names.give(portal, bound?.kind ?? 'plain');
    else this.names.giveUnknown();
  }

  /** What the Execute message with this payload does. */
  execute({ bytes, from, to }: Payload): StatementKind {
    if (this.names.arePlain) return 'plain';
    const end = stringEnd(bytes, from, to);
    return end === to ? 'unclear' : this.names.kindOf(shortName(bytes, from, end));
  }

  kindOf(portal: string): StatementKind {
    return this.names.kindOf(portal);
  }

  /** It stands for a statement of this kind. */
  give(portal: string, kind: StatementKind): void {
    this.names.give(portal, kind);
  }

  sync(): void {
    this.names.sync();
  }

  /** All that was sent is answered. `failed`: with an error among it. */
  answered(failed: boolean): void {
    this.names.answered(failed);
  }

  /** No transaction is open, nor any portal. */
  clear(): void {
    this.names.clear();
  }
}
