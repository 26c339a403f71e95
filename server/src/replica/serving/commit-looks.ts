/**
 * The looks of one generation at what may have commits not wait to be chosen where no gateway sees it: a role, a database or a function may turn `synchronous_commit` down.
 *
 * Responsible for: the first look, which is made before anybody is served, again where it fails, and is waited for no longer than a new leader may take; and for the looks after it, while nothing clear is known. What is found has perhaps
 * worked already, so it is the last look. It begins as soon as PostgreSQL can be asked: what a leader waits for besides goes on meanwhile.
 * Invariant: answers are trusted only after a look that found nothing.
 */
import type { Logger } from 'pino';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import type { CommitsLook, LookAtCommits } from '../../ports/commits-look.ts';

export interface CommitLooksOptions {
  readonly look: LookAtCommits;
  readonly timers: Pick<Timers, 'after' | 'nowMs'>;
  /** How long the first look, with what is made again of it, keeps clients waiting. */
  readonly patienceMs: number;
  /** How long after a first look that failed the next one comes. */
  readonly retryMs: number;
  /** How long after a look that told nothing clear the next one comes, while clients are served. */
  readonly againMs: number;
  readonly logger: Logger;
}

export class CommitLooks {
  private readonly options: CommitLooksOptions;
  private readonly trust: () => void;
  /** With the generation. */
  private readonly ended: AbortSignal;
  private readonly enough = new AbortController();
  /** The first look is over, or nobody waits for it any more. */
  private readonly over: AbortSignal;
  private readonly trying: Promise<void>;
  private isKnown = false;
  private told: string | null = null;

  /** Looks at once. */
  constructor(options: CommitLooksOptions, trust: () => void, ended: AbortSignal) {
    this.options = options;
    this.trust = trust;
    this.ended = ended;
    this.over = AbortSignal.any([ended, this.enough.signal]);
    this.trying = this.tryUntilTold(this.over);
  }

  /** From now on clients wait for it. Resolves when a look has told something, or has taken too long: what it tells then is not used. */
  async first(): Promise<void> {
    const { timers, patienceMs } = this.options;
    await Promise.race([pause(timers, patienceMs, this.over), this.trying]);
    this.enough.abort();
  }

  private async tryUntilTold(over: AbortSignal): Promise<void> {
    const { timers, retryMs } = this.options;
    for (;;) {
      const seen = await this.lookOnce(false);
      if (over.aborted) return;
      this.take(seen);
      // What is unclear is decided by clients: they are not kept waiting for it.
      if (seen.code !== 'failed') return;
      await pause(timers, retryMs, over);
      if (over.aborted) return;
    }
  }

  /** While clients are served; resolves when all is known, or the generation has ended. */
  async goOn(): Promise<void> {
    const { timers, againMs } = this.options;
    while (!this.isKnown) {
      await pause(timers, againMs, this.ended);
      if (this.ended.aborted) return;
      const seen = await this.lookOnce(true);
      if (this.ended.aborted) return;
      this.take(seen);
    }
  }

  private async lookOnce(
    isServed: boolean,
  ): Promise<CommitsLook | { readonly code: 'failed'; readonly reason: string }> {
    try {
      return await this.options.look(isServed);
    } catch (error) {
      return { code: 'failed', reason: String(error) };
    }
  }

  private take(seen: Awaited<ReturnType<CommitLooks['lookOnce']>>): void {
    const { logger } = this.options;
    this.isKnown = seen.code === 'clean' || seen.code === 'weakened';
    if (seen.code === 'clean') this.trust();
    else if (seen.code === 'weakened') {
      const { found } = seen;
      logger.warn(
        { found: found.slice(0, 20), more: Math.max(0, found.length - 20) },
        'commits are told not to wait: every answer waits behind a commit of its own instead',
      );
    } else if (seen.reason !== this.told) {
      this.told = seen.reason;
      logger.warn(
        { reason: seen.reason },
        'it is not known yet whether all commits wait: until then every answer waits behind a commit of its own',
      );
    }
  }
}
