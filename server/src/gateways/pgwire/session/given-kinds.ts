/**
 * What the names stand for that a client gives to statements or to portals, as far as it is more than `plain`.
 *
 * Responsible for: telling what is certain. PostgreSQL may refuse to give a name, since it is taken, or skip the message behind an error; then the name stands for what it stood for before, or for nothing.
 * Up to the next Sync nothing is executed in that case; behind it the name is `unclear`, until all is answered and no error was among the answers.
 * Bounded: with very many names those that could not be kept are `unclear`.
 */
import type { StatementKind } from '../../../pgwire/statement-kinds.ts';

const namesMax = 1000;

export class GivenKinds {
  /** As if nothing was refused. */
  private readonly kinds = new Map<string, StatementKind>();
  /** Given behind the last Sync; before it, and not answered yet; perhaps not at all. */
  private readonly given = new Set<string>();
  private readonly awaited = new Set<string>();
  private readonly doubted = new Set<string>();
  /** There are names that are not kept. */
  private unknown = false;

  get arePlain(): boolean {
    return this.kinds.size === 0 && !this.unknown;
  }

  /** As if nothing was refused. */
  copy(): GivenKinds {
    const copy = new GivenKinds();
    copy.unknown = this.unknown;
    for (const [name, kind] of this.kinds) copy.kinds.set(name, kind);
    return copy;
  }

  give(name: string, kind: StatementKind): void {
    const known = this.kinds.get(name);
    if (known === undefined) {
      if (kind === 'plain') return;
      if (this.kinds.size >= namesMax) {
        this.unknown = true;
        return;
      }
    } else if (known === kind && !this.awaited.has(name) && !this.doubted.has(name)) return;
    this.kinds.set(name, kind);
    this.given.add(name);
  }

  /** A name was given that is not known: it may be any. */
  giveUnknown(): void {
    this.unknown = true;
    for (const name of this.kinds.keys()) this.doubted.add(name);
  }

  kindOf(name: string): StatementKind {
    const kind = this.kinds.get(name);
    if (kind === undefined) return this.unknown ? 'unclear' : 'plain';
    if (this.given.has(name)) return kind;
    return this.awaited.has(name) || this.doubted.has(name) ? 'unclear' : kind;
  }

  sync(): void {
    if (this.given.size === 0) return;
    for (const name of this.given) this.awaited.add(name);
    this.given.clear();
  }

  /** All that was sent is answered. `failed`: with an error among it. */
  answered(failed: boolean): void {
    if (this.awaited.size === 0) return;
    for (const name of this.awaited) {
      if (failed) this.doubted.add(name);
      else {
        this.doubted.delete(name);
        if (this.kinds.get(name) === 'plain') this.kinds.delete(name);
      }
    }
    this.awaited.clear();
  }

  clear(): void {
    if (this.arePlain) return;
    this.kinds.clear();
    this.given.clear();
    this.awaited.clear();
    this.doubted.clear();
    this.unknown = false;
  }
}
