/**
 * What a session does under the name that is set: whether an earlier attempt has failed, and a digest of the transaction at hand.
 *
 * Responsible for: what is recorded with a name, and whether a transaction under a name that is taken is the one that took it. In a repetition what failed comes first again, and must not be taken for that.
 * Nothing is recorded where nothing has failed: then every transaction under a taken name counts as its repetition.
 * Invariant: two digests are equal only if the same texts, with the same parameters, were executed in the same order, and nothing was seen that gives a text another meaning. Where that is not certain the digest is
 * `unknownDigest`, which equals none.
 */
import { createHash, type Hash } from 'node:crypto';
import type { TransactionStatus } from '../../../../pgwire/message-types.ts';
import type { StatementKind } from '../../../../pgwire/statement-kinds.ts';
import type { NameInForce } from './name-in-force.ts';
import { digestChars, recordOf, unknownDigest } from './request-digest.ts';

/** Settings that PostgreSQL reports, and on which the meaning of a text depends. Some it reports from version 18 on. */
const reportedSettings = [
  'search_path',
  'session_authorization',
  'is_superuser',
  'client_encoding',
  'standard_conforming_strings',
  'DateStyle',
  'IntervalStyle',
  'TimeZone',
];

type Acting = Pick<NameInForce, 'acts' | 'mayBeSet'>;

export class Attempt {
  private readonly reported: ReadonlyMap<string, string>;
  private hash: Hash = createHash('sha256');
  /** All of the transaction at hand is known. */
  private isKnown = true;
  /** It may change what later texts mean, once it is committed. */
  private alters = false;
  /** It is a block of the client's own, which has been committed. */
  private isBlock = false;
  private isCommitted = false;
  /** Under the name that is set, before. */
  private hasFailed = false;
  /** Behind that something may have changed what a text means. */
  private hasAltered = false;
  /** What PostgreSQL had reported then; null until that has been looked at. */
  private settings: string | null = null;

  /** `reported`: the settings that PostgreSQL has reported, as they are now. */
  constructor(reported: ReadonlyMap<string, string>) {
    this.reported = reported;
  }

  /** Nothing is under way, and the client's next message is to be handed on. May be called again for the same message. */
  begins(status: TransactionStatus, name: Acting): void {
    if (status !== 'I') {
      this.isBlock = true;
      return;
    }
    if (this.isBlock && !this.isCommitted) this.failed(name);
    this.hasAltered ||= this.hasFailed && (this.alters || this.settingsDiffer());
    this.forget();
  }

  /** Something of the transaction has passed unseen, or stands for what is not known. */
  blur(): void {
    this.isKnown = false;
  }

  /** It is executed. */
  add(...parts: readonly (Buffer | string)[]): void {
    for (const part of parts) this.hash.update(part).update('\0');
  }

  altered(): void {
    this.alters = true;
  }

  /** A statement is sent that no name is claimed for. `status`: that of the session before it. */
  passes(kind: StatementKind, status: TransactionStatus, name: Acting): void {
    const commits = kind === 'commit' || kind === 'commitChain' || kind === 'prepare';
    if (kind === 'rollback' || kind === 'rollbackChain' || (commits && status === 'E')) this.failed(name);
    else if (commits && status !== 'I') this.isCommitted = true;
    if (kind === 'rollbackChain' || kind === 'commitChain') this.chained();
  }

  /** The transaction was rolled back, or is about to be. */
  failed({ acts, mayBeSet }: Acting): void {
    this.hasFailed ||= mayBeSet && (acts || !this.isKnown);
    this.alters = false;
  }

  /** The block was committed. */
  committed(): void {
    this.isCommitted = true;
  }

  /** The block was ended by AND CHAIN: the next one has begun with it. */
  chained(): void {
    this.isCommitted = false;
    this.isKnown = false;
  }

  /** The name is used up, or none was set. */
  cleared(): void {
    this.isCommitted = true;
    this.alters = false;
    this.hasFailed = false;
    this.hasAltered = false;
    this.settings = null;
  }

  /** Of what was added so far. */
  get digest(): string {
    if (!this.isKnown || this.hasAltered) return unknownDigest;
    return this.hash.copy().digest('hex').slice(0, digestChars);
  }

  /** What is recorded with the name; `tag`: how success will be told, null if that cannot be kept. */
  recordOf(tag: string | null): string | null {
    return recordOf(tag, this.hasFailed ? this.digest : null);
  }

  private settingsDiffer(): boolean {
    const now = reportedSettings.map((name) => this.reported.get(name) ?? '').join('\0');
    this.settings ??= now;
    return this.settings !== now;
  }

  private forget(): void {
    this.hash = createHash('sha256');
    this.isKnown = true;
    this.alters = false;
    this.isBlock = false;
    this.isCommitted = false;
  }
}
