/**
 * What a client's session has that another session must be given before it can take its place.
 *
 * Responsible for: noticing when that may have changed, and the last that PostgreSQL has said of it.
 * Invariant: `isKnown` is false from the moment at which the client was told that something succeeded which may have changed it, until PostgreSQL has said what it is.
 */
import { FrameGatherer } from '../codec/frame-gatherer.ts';
import { type FrameSplitter, headerBytes } from '../codec/frame-splitter.ts';
import { shortName, stringEnd } from '../codec/frontend-messages.ts';
import { mentionIn } from '../codec/mentions.ts';
import { front } from '../codec/message-types.ts';
import type { KeptBudget } from './kept-budget.ts';
import { ParsedStatements } from './parsed-statements.ts';
import { emptySnapshot, type StateSnapshot } from './state-question.ts';
import { customSettings, customSettingsAmong, namesMax, tellsOfState } from './telling-text.ts';

export interface SessionStateOptions {
  readonly preparedBytesMax: number;
  readonly budget: KeptBudget;
}

export class SessionState {
  readonly statements: ParsedStatements;
  snapshot: StateSnapshot = emptySnapshot;
  /** It may have changed since PostgreSQL was asked. */
  mayHaveChanged = false;
  isKnown = true;
  /** It names its transactions, which are followed by the leader's gateway alone. */
  usesNames = false;
  /** Custom settings that it may have. */
  readonly settingNames = new Set<string>();

  private readonly gatherer: FrameGatherer;
  private readonly parseBytesMax: number;
  /** A setting's name may be among the parameters. */
  private readsParameters = false;

  constructor({ preparedBytesMax, budget }: SessionStateOptions) {
    this.statements = new ParsedStatements(preparedBytesMax, budget);
    this.parseBytesMax = preparedBytesMax;
    this.gatherer = new FrameGatherer(preparedBytesMax + 1);
  }

  /** Another session can be made like it. */
  get canBeMoved(): boolean {
    return !this.usesNames && !this.statements.isOverfull;
  }

  /** What another session cannot be given, in words. */
  get lost(): readonly string[] {
    return this.isKnown ? this.snapshot.lost : [...this.snapshot.lost, 'what it has set last'];
  }

  /** A part of a message of the client. `position`: how many ReadyForQuery messages come before its own. */
  sent(part: FrameSplitter, chunk: Buffer, position: number): void {
    switch (part.type) {
      case front.query:
        this.look(textOf(part, chunk));
        return;
      case front.parse:
        this.look(textOf(part, chunk));
        this.sentParse(part, chunk, position);
        return;
      case front.bind:
        if (this.readsParameters) this.note(customSettingsAmong(textOf(part, chunk)));
        return;
      case front.close:
        this.sentClose(part, chunk, position);
        return;
      default:
    }
  }

  /** PostgreSQL is asked, behind all that was sent. */
  asked(): void {
    this.mayHaveChanged = false;
  }

  /** It will not answer any more. */
  unanswered(): void {
    this.isKnown = false;
  }

  /** What it has said; null: it could not. */
  found(snapshot: StateSnapshot | null): void {
    this.isKnown = snapshot !== null;
    if (snapshot === null) return;
    this.snapshot = snapshot;
    this.statements.keepOnly(snapshot.parsed);
  }

  /** The client was told that it is ready, and PostgreSQL was not asked. */
  toldUnasked(): void {
    if (this.mayHaveChanged) this.isKnown = false;
  }

  /** Another session has taken its place. */
  moved(): void {
    this.snapshot = { ...this.snapshot, lost: [] };
    this.isKnown = true;
  }

  private look(text: string): void {
    if (/barista/i.test(text) && mentionIn(text)?.request === true) this.usesNames = true;
    if (!tellsOfState(text)) return;
    this.mayHaveChanged = true;
    this.note(customSettings(text));
    this.readsParameters ||= /set_config/i.test(text);
  }

  private note(names: readonly string[]): void {
    for (const name of names) {
      if (this.settingNames.size < namesMax) this.settingNames.add(name);
    }
  }

  private sentParse(part: FrameSplitter, chunk: Buffer, position: number): void {
    const frame = this.gatherer.add(part, chunk);
    if (frame === null) return;
    const nameEnd = stringEnd(frame, headerBytes, frame.length);
    const name = shortName(frame, headerBytes, nameEnd);
    this.statements.sentParse(name, frame.length > this.parseBytesMax ? null : frame, position);
  }

  private sentClose(part: FrameSplitter, chunk: Buffer, position: number): void {
    const frame = this.gatherer.add(part, chunk);
    if (frame === null) return;
    const isStatement = frame[headerBytes] === 'S'.charCodeAt(0);
    const from = headerBytes + 1;
    const name = shortName(frame, from, stringEnd(frame, from, frame.length));
    this.statements.sentClose(isStatement ? name : null, position);
  }
}

function textOf({ payload, end }: FrameSplitter, chunk: Buffer): string {
  return chunk.toString('latin1', payload, end);
}
