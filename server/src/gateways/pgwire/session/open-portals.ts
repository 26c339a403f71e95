/**
 * What the portals of one session will do to transactions when they are executed, as far as it is more than `plain`.
 *
 * Responsible for: remembering it from Bind to Execute; a portal that is bound in a block may be executed in a later message. Reads no more of a message than its first part.
 * Bounded: of a session that binds very many such portals, or one whose name it could not read, every portal is `unclear` until its transaction ends.
 */
import { readBindNames, shortName, stringEnd } from '../codec/frontend-messages.ts';
import type { StatementKind } from '../codec/statement-kinds.ts';
import type { BoundPortal, Payload } from './prepared-kinds.ts';

const portalsMax = 1000;

export class OpenPortals {
  private readonly kinds = new Map<string, StatementKind>();
  private unknown = false;

  /** Of a Bind message; `bound` is what PreparedKinds says of it. */
  bind({ bytes, from, to }: Payload, bound: BoundPortal | null): void {
    if (bound === null && this.arePlain) return;
    const { portal, whole } = bound ?? readBindNames(bytes, from, to);
    const kind = bound?.kind ?? 'plain';
    if (!whole) this.unknown = true;
    else if (kind === 'plain') this.kinds.delete(portal);
    else if (this.kinds.has(portal) || this.kinds.size < portalsMax) this.kinds.set(portal, kind);
    else this.unknown = true;
  }

  /** What the Execute message with this payload does. */
  execute({ bytes, from, to }: Payload): StatementKind {
    if (this.arePlain) return 'plain';
    const end = stringEnd(bytes, from, to);
    if (this.unknown || end === to) return 'unclear';
    return this.kinds.get(shortName(bytes, from, end)) ?? 'plain';
  }

  /** No transaction is open, nor any portal. */
  clear(): void {
    this.kinds.clear();
    this.unknown = false;
  }

  private get arePlain(): boolean {
    return this.kinds.size === 0 && !this.unknown;
  }
}
