/**
 * What a client's session has that another session must be given before it can take its place.
 *
 * Responsible for: noticing when that may have changed, and the last that PostgreSQL has said of it.
 * Invariant: `isKnown` is false from the moment at which the client was told that something succeeded which may have changed it, until PostgreSQL has said what it is.
 */
import { FrameGatherer } from '../../../pgwire/frame-gatherer.ts';
import { BindParameters } from '../../../pgwire/bind-parameters.ts';
import { type FrameSplitter, headerBytes } from '../../../pgwire/frame-splitter.ts';
import { readBindNames, shortName, stringEnd } from '../../../pgwire/frontend-messages.ts';
import { type Mention, mentionIn } from '../codec/mentions.ts';
import { front } from '../../../pgwire/message-types.ts';
import type { FunctionsWatch } from './function-looks.ts';
import { JudgedTexts } from './judged-texts.ts';
import type { KeptBudget } from './kept-budget.ts';
import { ParsedStatements, statementsMax } from './parsed-statements.ts';
import { parseFrame } from './left-session.ts';
import { emptySnapshot, type StateSnapshot } from './state-question.ts';
import type { Naming, TellingFunctions } from './telling-functions.ts';
import {
  customSettings,
  customSettingNamed,
  hasPlainValues,
  nameCharsMax,
  namesMax,
  preparesTelling,
  setsHidden,
  setsUnnamed,
  tellsOfState,
} from './telling-text.ts';

/** What acts inside COMMIT: a cursor WITH HOLD, whose query it runs, and what is to be told to others. */
const commitActs = /\bhold\b|notify/i;

/** What makes a table, a type or a function in the first schema of `search_path`. */
const making = /\b(?:create|into)\b/i;

/** So much of a part is looked at together with the next one: longer than what a look searches for. */
const tailChars = 512;

export interface SessionStateOptions {
  readonly preparedBytesMax: number;
  readonly budget: KeptBudget;
  readonly functions: FunctionsWatch;
}

export class SessionState {
  readonly statements: ParsedStatements;
  readonly judged: JudgedTexts;
  snapshot: StateSnapshot = emptySnapshot;
  /** It may have changed since PostgreSQL was asked. */
  mayHaveChanged = false;
  isKnown = true;
  /** It names its transactions, which are followed by the leader's gateway alone. */
  usesNames = false;
  /** It has spoken of what acts inside COMMIT, or elsewhere: a transaction that has no id may change something. */
  commitMayAct = false;
  spokeOfElsewhere = false;
  /** It may make things in `pg_temp` without naming that. */
  mayMakeTemporary = false;
  /** Custom settings that it may have. */
  readonly settingNames = new Set<string>();

  /** Those of them that were only found among parameters since PostgreSQL was asked. */
  private readonly parameterNames = new Set<string>();
  private readonly gatherer: FrameGatherer;
  private readonly parseBytesMax: number;
  /** A setting's name may be among the parameters: those of the Bind message that comes. */
  private readsParameters = false;
  private parameters: BindParameters | null = null;
  /** It may have custom settings whose names are not known. */
  private hasHidden = false;
  /** Statements of which each execution may change what the session has; null: all of them. */
  private tellingStatements: Set<string> | null = new Set();
  /** Others, by what their texts named, and by which functions: each is judged anew when those have changed. */
  private readonly quiet = new Map<string, TellingFunctions>();
  private isTellingParse = false;
  /** So may what SQL's EXECUTE does. */
  private executesTelling = false;
  private executesHidden = false;
  /** The functions by which statements of SQL's PREPARE were judged. */
  private preparedBy: TellingFunctions | null = null;
  /** `standard_conforming_strings` was another one before. */
  private hadOtherEscapes = false;
  /** The end of what has come of a message, of which more is to come. */
  private tail = '';

  constructor({ preparedBytesMax, budget, functions }: SessionStateOptions) {
    this.judged = new JudgedTexts(functions);
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
    const { lost } = this.snapshot;
    const hidden = this.hasHidden ? ['settings with names of its own'] : [];
    const spoilt = this.statements.isSpoilt ? ['prepared statements with a backslash'] : [];
    return [...lost, ...hidden, ...spoilt, ...(this.isKnown ? [] : ['what it has set last'])];
  }

  onMention(mention: Mention | null): void {
    if (mention?.request === true) this.usesNames = true;
    if (mention?.elsewhere === true) this.actsElsewhere();
  }

  actsElsewhere(): void {
    this.spokeOfElsewhere = true;
    this.commitMayAct = true;
  }

  /** `standard_conforming_strings` is another one from now on. */
  escapesChanged(): void {
    this.hadOtherEscapes = true;
    this.statements.spoilEscapes();
  }

  /** A part of a message of the client. `position`: how many ReadyForQuery messages come before its own. */
  sent(part: FrameSplitter, chunk: Buffer, position: number): void {
    this.judged.sent();
    this.doubt();
    switch (part.type) {
      case front.query:
        this.look(this.textOf(part, chunk));
        return;
      case front.parse:
        this.sentParse(part, chunk, position);
        return;
      case front.bind:
        this.sentBind(part, chunk);
        return;
      case front.close:
        this.sentClose(part, chunk, position);
        return;
      case front.functionCall:
        // Any function, by its number.
        this.mayHaveChanged = true;
        this.noteNaming(this.judged.telling?.any ?? null);
        this.onMention(mentionIn(this.textOf(part, chunk)));
        return;
      default:
    }
  }

  /** Nothing is under way. */
  settle(): void {
    this.judged.settle();
    this.doubt();
  }

  /** Functions have changed since it was judged what was sent. */
  private doubt(): void {
    const { judged } = this;
    if (judged.hides) this.hasHidden = true;
    if (!judged.isDoubtful) return;
    this.isKnown = false;
    this.mayHaveChanged = true;
    this.note(judged.telling?.settings ?? []);
  }

  /** PostgreSQL is asked, behind all that was sent. */
  asked(): void {
    this.judged.asked();
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
    if (snapshot.encoding !== this.snapshot.encoding) this.translate(snapshot);
    this.snapshot = this.hadOtherEscapes ? withoutEscapes(snapshot) : snapshot;
    this.mayMakeTemporary ||= snapshot.settings.some(
      ([name, value]) => name === 'search_path' && value.includes('pg_temp'),
    );
    this.forgetUnset(snapshot);
    for (const [name, { text }] of snapshot.parsed) if (!this.statements.has(name)) this.lookBack(name, text);
    for (const name of this.tellingStatements ?? [])
      if (name !== '' && !snapshot.parsed.has(name)) this.tellingStatements?.delete(name);
    this.statements.keepOnly(snapshot.parsed);
  }

  /** The client was told that it is ready, and PostgreSQL was not asked. */
  toldUnasked(): void {
    if (this.mayHaveChanged) this.isKnown = false;
  }

  /** Another session has taken its place. */
  moved(executesAgain: boolean): void {
    this.judged.moved(executesAgain);
    this.snapshot = { ...this.snapshot, lost: [] };
    this.statements.forgetSpoilt();
    this.hadOtherEscapes = false;
    this.hasHidden = false;
    this.isKnown = true;
  }

  /** Whether it tells. */
  private look(text: string): boolean {
    this.onMention(mentionIn(text));
    this.commitMayAct ||= commitActs.test(text);
    const naming = this.judged.namedIn(text);
    const tells = tellsOfState(text) || (this.mayMakeTemporary && making.test(text));
    const executes = /\bexecute\b/i.test(text) && this.executesWhatTells();
    if (!tells && !naming.tells && !executes) return false;
    this.mayHaveChanged = true;
    const namesByValue = executes && this.executesNames();
    if (executes && (this.executesHidden || (namesByValue && !hasPlainValues(text)))) this.hasHidden = true;
    if (naming.tells) this.noteNaming(naming);
    if (!tells && !naming.isNamed && !namesByValue) return naming.tells;
    const names = customSettings(text);
    for (const name of names ?? []) this.parameterNames.delete(name);
    this.note(names ?? []);
    if (names === null || setsHidden(text)) this.hasHidden = true;
    this.readsParameters ||= naming.isNamed || /set_config/i.test(text);
    if (/\bprepare\b/i.test(text)) {
      this.executesTelling ||= naming.tells || preparesTelling(text);
      this.executesHidden ||= naming.hides;
    }
    return true;
  }

  /** What functions set that a text names. */
  private noteNaming(naming: Naming | null): void {
    this.note(this.judged.telling?.settings ?? []);
    if (naming === null || naming.hides) this.hasHidden = true;
  }

  /** SQL's EXECUTE may. */
  private executesWhatTells(): boolean {
    // What they call may be another one by now.
    if (this.snapshot.prepares.length > 0 && this.preparedBy !== this.judged.telling) {
      const namings = this.snapshot.prepares.map((text) => this.judged.namedIn(text));
      this.executesTelling ||= namings.some(({ tells }) => tells);
      this.executesHidden ||= namings.some(({ hides }) => hides);
      this.preparedBy = this.judged.telling;
    }
    return this.executesTelling || this.tellingStatements === null || this.tellingNames.length > 0;
  }

  /** Statements with a name that the client has prepared by messages, too. */
  private get tellingNames(): readonly string[] {
    return [...(this.tellingStatements ?? [])].filter((name) => name !== '');
  }

  /** SQL's EXECUTE may give a setting its name. */
  private executesNames(): boolean {
    if (this.tellingStatements === null || this.snapshot.prepares.some(setsUnnamed)) return true;
    const frames = this.tellingNames.map((name) => this.statements.frameOf(name));
    return frames.some((frame) => frame === undefined || setsUnnamed(frame.toString('latin1', headerBytes)));
  }

  /** At a statement that was prepared before this followed the session. */
  private lookBack(name: string, text: string): void {
    if (tellsOfState(text)) this.tells(name);
    this.commitMayAct ||= commitActs.test(text);
    this.readsParameters ||= /set_config/i.test(text);
  }

  private tells(statement: string): void {
    this.tellingStatements?.add(statement);
    if ((this.tellingStatements?.size ?? 0) > statementsMax) this.tellingStatements = null;
  }

  /** Statements that hold more than ASCII: as PostgreSQL tells them now, in the encoding that the client has chosen since. */
  private translate({ parsed }: StateSnapshot): void {
    for (const [name, frame] of this.statements.all) {
      const statement = parsed.get(name);
      if (statement !== undefined && frame.subarray(headerBytes).some((byte) => byte >= 0x80))
        this.statements.have(name, parseFrame(name, statement));
    }
  }

  /** What was among parameters need not be the name of anything. */
  private forgetUnset({ settings }: StateSnapshot): void {
    if (this.parameterNames.size === 0) return;
    const set = new Set(settings.map(([name]) => name));
    for (const name of this.parameterNames) if (!set.has(name)) this.settingNames.delete(name);
    this.parameterNames.clear();
  }

  private newParameters(): BindParameters {
    return new BindParameters(nameCharsMax, (parameter) => {
      const name = customSettingNamed(parameter);
      if (name === null || this.settingNames.has(name)) return;
      if (this.parameterNames.size < namesMax) this.parameterNames.add(name);
      this.note([name]);
    });
  }

  private note(names: readonly string[]): void {
    for (const name of names) {
      if (this.settingNames.size < namesMax) this.settingNames.add(name);
      else if (!this.settingNames.has(name)) this.hasHidden = true;
    }
  }

  /** Of a message that comes in parts what was said at the end of one goes on in the next. */
  private textOf({ payload, end, first, last }: FrameSplitter, chunk: Buffer): string {
    const text = (first ? '' : this.tail) + chunk.toString('latin1', payload, end);
    this.tail = last ? '' : text.slice(-tailChars);
    return text;
  }

  private sentParse(part: FrameSplitter, chunk: Buffer, position: number): void {
    const text = this.textOf(part, chunk);
    const isTelling = this.look(text);
    this.isTellingParse = (!part.first && this.isTellingParse) || isTelling;
    const frame = this.gatherer.add(part, chunk);
    if (frame === null) return;
    const nameEnd = stringEnd(frame, headerBytes, frame.length);
    const name = shortName(frame, headerBytes, nameEnd);
    if (this.isTellingParse) this.tells(name);
    else {
      if (name === '') this.tellingStatements?.delete('');
      // Of another one with its name it says nothing.
      if (name === '' || !this.statements.has(name)) this.isQuiet(name);
    }
    this.statements.sentParse(name, frame.length > this.parseBytesMax ? null : frame, position);
  }

  private sentBind(part: FrameSplitter, chunk: Buffer): void {
    // The leader takes a word among parameters for a mention, too, and answers by that: both have to know.
    this.onMention(mentionIn(this.textOf(part, chunk)));
    if (part.first) {
      const { statement, whole } = readBindNames(chunk, part.payload, part.end);
      if (!whole || this.executionTells(statement)) this.mayHaveChanged = true;
    }
    if (part.first) this.parameters = this.readsParameters ? this.newParameters() : null;
    this.parameters?.push(chunk, part.payload, part.end);
  }

  /** Each execution of it may change what the session has. */
  private executionTells(statement: string): boolean {
    const { telling } = this.judged;
    const tells = this.tellingStatements?.has(statement) !== false;
    if (!tells && telling !== null && this.quiet.get(statement) === telling) return false;
    const frame = this.statements.frameOf(statement);
    // It is on its way, and was judged by other functions; or it is one of SQL's PREPARE.
    if (frame === undefined) return tells || this.quiet.has(statement) || this.snapshot.prepares.length > 0;
    const text = frame.toString('latin1', headerBytes);
    const naming = this.judged.namedIn(text);
    if (naming.tells) this.noteNaming(naming);
    else if (!tells) this.isQuiet(statement);
    if (tells && setsHidden(text)) this.hasHidden = true;
    return tells || naming.tells;
  }

  private isQuiet(statement: string): void {
    const { telling } = this.judged;
    if (this.quiet.size >= statementsMax) this.quiet.clear();
    if (telling !== null) this.quiet.set(statement, telling);
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

/** By which rules statements of SQL's PREPARE were read is not known. */
function withoutEscapes(snapshot: StateSnapshot): StateSnapshot {
  const prepares = snapshot.prepares.filter((text) => !text.includes('\\'));
  if (prepares.length === snapshot.prepares.length) return snapshot;
  return { ...snapshot, prepares, lost: [...snapshot.lost, 'statements of PREPARE'] };
}
