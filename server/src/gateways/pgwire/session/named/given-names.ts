/**
 * What the statements and portals stand for that a client names in messages of the extended protocol, where PostgreSQL may refuse to give a name, or pass the message over behind an error.
 *
 * Responsible for: taking back what was noted of such a message, so that the name stands for what it stood for before; and the digests of what is executed (attempt.ts).
 * Bounded: of more names than are kept the digest is unknown.
 */
import { headerBytes } from '../../../../pgwire/frame-splitter.ts';
import { readBindNames, shortName, stringEnd } from '../../../../pgwire/frontend-messages.ts';
import { isOwnQuestion } from '../../../../pgwire/own-questions.ts';
import type { StatementKind } from '../../../../pgwire/statement-kinds.ts';
import type { TextRules } from '../../../../pgwire/text-rules.ts';
import type { OpenPortals } from '../open-portals.ts';
import type { PreparedKinds } from '../prepared-kinds.ts';
import { textDigest } from '../prepared-texts.ts';
import type { ClientFlight } from './flight.ts';
import type { NamedWire } from './named-wire.ts';
import { digestOf } from './request-digest.ts';

const namesMax = 1_000;

/** What is executed, as a digest; null where it is not known. */
type Executed = string | null;
/** What is no part of what a transaction does. */
const nothing = '';

export interface GivenNamesOptions {
  readonly wire: Pick<NamedWire, 'name' | 'attempt'>;
  readonly prepared: PreparedKinds;
  readonly portals: OpenPortals;
  /** Digests of the texts of prepared statements; null: not known. */
  readonly texts: Map<string, string | null>;
  /** What the session's text settings are now. */
  readonly rules: () => TextRules;
}

export class GivenNames {
  private readonly options: GivenNamesOptions;
  private readonly executed = new Map<string, Executed>();
  /** Of the messages of the flight at hand, in their order. */
  private undoParses: (() => void)[] = [];
  private undoBinds: (() => void)[] = [];

  constructor(options: GivenNamesOptions) {
    this.options = options;
  }

  /** A Parse is sent. */
  parsed(frame: Buffer): void {
    const { prepared, rules, wire } = this.options;
    const nameEnd = stringEnd(frame, headerBytes, frame.length);
    const statement = shortName(frame, headerBytes, nameEnd);
    const kind = prepared.kindOf(statement);
    const text = this.options.texts.get(statement);
    const undoName = wire.name.parsed();
    prepared.parse({ bytes: frame, from: headerBytes, to: frame.length, isWhole: true }, rules());
    put(this.options.texts, statement, textDigest(frame.subarray(nameEnd)));
    this.undoParses.push(() => {
      undoName();
      prepared.give(statement, kind);
      put(this.options.texts, statement, text);
    });
  }

  /** A Bind of a statement of this kind is sent. */
  bound(frame: Buffer, kind: StatementKind): void {
    const { portals, wire } = this.options;
    const names = readBindNames(frame, headerBytes, frame.length);
    const { portal, statement } = names;
    const isOwn = isOwnQuestion(statement);
    const before = { kind: portals.kindOf(portal), executed: this.executed.get(portal) };
    portals.bind({ bytes: frame, from: headerBytes, to: frame.length, isWhole: true }, { ...names, kind });
    put(this.executed, portal, isOwn || kind === 'begin' ? nothing : this.digestOf(frame, statement));
    if (!isOwn && wire.name.alters(statement)) wire.attempt.altered();
    this.undoBinds.push(() => {
      portals.give(portal, before.kind);
      put(this.executed, portal, before.executed);
    });
  }

  /** An Execute is sent. */
  executes(frame: Buffer): void {
    const { attempt } = this.options.wire;
    const end = stringEnd(frame, headerBytes, frame.length);
    const executed = this.executed.get(shortName(frame, headerBytes, end)) ?? null;
    if (executed === null) attempt.blur();
    // With the number of rows that it asks for.
    else if (executed !== nothing) attempt.add(executed, frame.subarray(end));
  }

  /** The flight is answered: what was not done in it was not given. `isPrepared`: its statements are prepared behind it. */
  answered({ parsed: done, bound }: ClientFlight, isPrepared: boolean): void {
    const parsed = isPrepared ? this.undoParses.length : done;
    const undo = [...this.undoParses.slice(parsed).toReversed(), ...this.undoBinds.slice(bound).toReversed()];
    for (const one of undo) one();
    this.undoParses = [];
    this.undoBinds = [];
  }

  /** No transaction is open, nor any portal. */
  clearPortals(): void {
    this.options.portals.clear();
    this.executed.clear();
  }

  /** Statements may stand for other texts from now on. */
  forgetTexts(): void {
    this.options.texts.clear();
    this.executed.clear();
  }

  /** The text, and the parameters. The names of portal and statement may be others in a repetition. */
  private digestOf(frame: Buffer, statement: string): string | null {
    const text = this.options.texts.get(statement) ?? null;
    if (text === null) return null;
    const portalEnd = stringEnd(frame, headerBytes, frame.length);
    const statementEnd = stringEnd(frame, portalEnd + 1, frame.length);
    return digestOf(text, frame.subarray(statementEnd));
  }
}

/** Of more than are kept the newest are unknown. */
function put<Value>(names: Map<string, Value>, name: string, value: Value | undefined): void {
  if (value === undefined) names.delete(name);
  else if (names.size < namesMax || names.has(name)) names.set(name, value);
}
