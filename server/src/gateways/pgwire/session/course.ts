/**
 * What may have been committed by what a client has sent and has had no answer to.
 *
 * Pure. Follows the statements as PostgreSQL would run them if none of them failed. A failure commits less, but for one: where a BEGIN was not executed, what other messages do behind it is committed.
 */
import type { StatementKind } from '../../../pgwire/statement-kinds.ts';

/** `implicit`: statements outside of a block that are committed together, at the end of their message or at Sync. */
type Block = 'none' | 'implicit' | 'explicit';

/**
 * `nothing`: no transaction can have been committed. `one`: one, or none; what is known of the transaction that the session has open decides. `several`: it cannot be told.
 */
export type Verdict = 'nothing' | 'one' | 'several';

export class Course {
  private block: Block = 'none';
  /** The block was begun in a message that has ended, and may have failed: then there is none. */
  private mayBeNone = false;
  private beginsHere = false;
  /** All of the statements end a transaction by committing or preparing it, and nothing else. */
  private statements: 'none' | 'commits' | 'others' = 'none';
  private ended: 'nothing' | 'rolledBack' | 'one' | 'several' = 'nothing';

  /** Nothing is under way; the session is in a transaction block or not. */
  reset(inBlock: boolean): void {
    this.block = inBlock ? 'explicit' : 'none';
    this.mayBeNone = false;
    this.beginsHere = false;
    this.ended = 'nothing';
    this.statements = 'none';
  }

  get onlyCommits(): boolean {
    return this.statements === 'commits';
  }

  statement(kind: StatementKind): void {
    const commits = kind === 'commit' || kind === 'commitChain' || kind === 'prepare';
    this.statements = commits && this.statements !== 'others' ? 'commits' : 'others';
    switch (kind) {
      case 'setting':
        return;
      case 'plain':
        this.begin('implicit');
        return;
      case 'begin':
        if (this.block !== 'explicit') this.beginsHere = true;
        this.begin('explicit');
        this.block = 'explicit';
        return;
      case 'commit':
        this.commit('none');
        return;
      case 'commitChain':
        this.commit('explicit');
        return;
      case 'rollback':
        this.rollBack('none');
        return;
      case 'rollbackChain':
        this.rollBack('explicit');
        return;
      case 'prepare':
      case 'procedure':
      case 'alone':
      case 'unclear':
        this.ended = 'several';
        return;
      default:
        kind satisfies never;
    }
  }

  /** The end of a Query message, or a Sync: what is not in a block of its own is committed. */
  endMessage(): void {
    if (this.block === 'implicit') this.commit('none');
    this.mayBeNone ||= this.beginsHere;
    this.beginsHere = false;
  }

  /** A transaction has ended, unless that failed, committed or not. */
  get endsTransaction(): boolean {
    return this.ended !== 'nothing';
  }

  get verdict(): Verdict {
    return this.ended === 'rolledBack' ? 'nothing' : this.ended;
  }

  private begin(block: 'implicit' | 'explicit'): void {
    if (this.block === 'none') this.block = block;
    // It belongs to a second transaction, then: an id that the session had at some moment may be that of either.
    if (this.ended !== 'nothing' || this.mayBeNone) this.ended = 'several';
  }

  private commit(next: Block): void {
    if (this.block === 'none') return;
    this.ended = this.ended === 'nothing' ? 'one' : 'several';
    this.block = next;
  }

  private rollBack(next: Block): void {
    if (this.block === 'none') return;
    this.ended = this.ended === 'nothing' ? 'rolledBack' : 'several';
    this.block = next;
  }
}
