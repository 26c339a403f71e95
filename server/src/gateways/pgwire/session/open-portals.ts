/**
 * What the portals of one session will do to transactions when they are executed, as far as it is more than `plain`.
 *
 * Responsible for: remembering it from Bind to Execute; a portal that is bound in a block may be executed in a later message, and a Bind that PostgreSQL refuses leaves the one of before. Reads no more of a message than its first part.
 * Bounded: of a session that binds very many such portals, or one whose name it could not read, every portal is `unclear` until its transaction ends.
 */
import { readBindNames, shortName, stringEnd } from '../codec/frontend-messages.ts';
import type { StatementKind } from '../codec/statement-kinds.ts';
import type { BoundPortal, Payload } from './prepared-kinds.ts';

const portalsMax = 1000;

export class OpenPortals {
  private readonly kinds = new Map<string, StatementKind>();
  /** Those that were something else before the last Sync, or since. */
  private readonly boundAnew = new Set<string>();
  private unknown = false;

  /** Of a Bind message; `bound` is what PreparedKinds says of it. */
  bind({ bytes, from, to }: Payload, bound: BoundPortal | null): void {
    if (bound === null && this.arePlain) return;
    const { portal, whole } = bound ?? readBindNames(bytes, from, to);
    const kind = bound?.kind ?? 'plain';
    const known = whole ? this.kinds.get(portal) : undefined;
    if (!whole) this.unknown = true;
    else if (known !== undefined) {
      if (known !== kind) this.boundAnew.add(portal);
      this.kinds.set(portal, kind);
    } else if (kind === 'plain') return;
    else if (this.kinds.size < portalsMax) this.kinds.set(portal, kind);
    else this.unknown = true;
  }

  /** Up to here PostgreSQL executes nothing behind a Bind that it refused; behind it, it may still have the portal of before. */
  sync(): void {
    for (const portal of this.boundAnew) this.kinds.set(portal, 'unclear');
    this.boundAnew.clear();
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
    this.boundAnew.clear();
    this.unknown = false;
  }

  private get arePlain(): boolean {
    return this.kinds.size === 0 && !this.unknown;
  }
}
