/**
 * Whether the body of a function may change what a session has besides its transaction, as telling-text.ts finds it in what a client sends: what runs in it, and what its EXECUTE makes of strings.
 *
 * Pure, linear in the source, and no parser: what cannot be judged (an EXECUTE of what is not put together of strings and quoted names, another language) is said to change everything, which costs a question each time that the function is
 * named. Words of the body are given to the caller, who knows which of them are functions.
 */
import { nameCharsMax } from './telling-text.ts';
import { type BodyToken, dynamicName, dynamicText, tokensOf } from '../../../pgwire/body-tokens.ts';

export interface BodyFacts {
  /** It may change what the session has. */
  tells: boolean;
  /** It may set a custom setting under a name that is not among `settings`. */
  hides: boolean;
  /** It executes what cannot be judged. */
  isOpaque: boolean;
  /** Custom settings that it names where it sets one. */
  readonly settings: Set<string>;
}

type OnWord = (word: string) => void;

/** Longer ones are not judged. */
const sourceCharsMax = 131_072;

const judged: ReadonlySet<string> = new Set(['sql', 'plpgsql', 'internal']);

export function judgeBody(source: string, language: string, onWord: OnWord): BodyFacts {
  const facts: BodyFacts = { tells: false, hides: false, isOpaque: false, settings: new Set() };
  if (source.length > sourceCharsMax) return Object.assign(facts, { tells: true, isOpaque: true });
  if (!judged.has(language)) {
    const sets = /\bset\b|set_config/i.test(source);
    return Object.assign(facts, { tells: true, isOpaque: true, hides: sets });
  }
  if (/pg_temp/i.test(source)) facts.tells = true;
  new Judge(tokensOf(source), language === 'plpgsql', facts, onWord).judge();
  return facts;
}

/** An argument list, or other parentheses. */
interface Parentheses {
  readonly isConfig: boolean;
  /** Tokens in the argument that is being read, the last of them, and the name that is its first argument. */
  tokens: number;
  last: BodyToken | null;
  arguments: number;
  name: string | null;
}

const beginsBehind: ReadonlySet<string> = new Set(['begin', 'then', 'else', 'loop', 'atomic']);
const tellingStatements: ReadonlySet<string> = new Set([
  'reset',
  'discard',
  'deallocate',
  'listen',
  'unlisten',
  'prepare',
]);
/** Of the transaction alone. */
const transient: ReadonlySet<string> = new Set(['local', 'transaction', 'constraints']);
const beforeTemporary: ReadonlySet<string> = new Set(['create', 'into', 'global', 'local', 'replace']);
/** What EXECUTE is that is no statement: a privilege, or a part of CREATE TRIGGER. */
const notExecuted: ReadonlySet<string> = new Set(['on', 'function', 'procedure']);
/** Behind them a name with parentheses is a table. */
const beforeTable: ReadonlySet<string> = new Set(['into', 'table', 'exists', 'on', 'view', 'references']);
const endsExecuted: ReadonlySet<string> = new Set(['into', 'using', 'loop']);
/** Of a trigger: names of a table and its schema. */
const namesOfTable: ReadonlySet<string> = new Set(['tg_table_name', 'tg_table_schema', 'tg_relname']);

class Judge {
  private readonly tokens: readonly BodyToken[];
  private readonly isPlpgsql: boolean;
  private readonly facts: BodyFacts;
  private readonly onWord: OnWord;
  private readonly open: Parentheses[] = [];

  constructor(tokens: readonly BodyToken[], isPlpgsql: boolean, facts: BodyFacts, onWord: OnWord) {
    this.tokens = tokens;
    this.isPlpgsql = isPlpgsql;
    this.facts = facts;
    this.onWord = onWord;
  }

  judge(): void {
    const { tokens, facts, open } = this;
    for (const [at, token] of tokens.entries()) {
      if (token.kind === 'word') this.word(at, token.text);
      else if (token.kind === 'dynamic') this.dynamic(at);
      this.count(at, token);
    }
    if (!open.some(({ isConfig }) => isConfig)) return;
    facts.tells = true;
    facts.hides = true;
  }

  private textAt(at: number): string {
    return this.tokens[at]?.text ?? '';
  }

  private isSign(at: number, sign: string): boolean {
    const token = this.tokens[at];
    return token?.kind === 'sign' && token.text === sign;
  }

  private isWord(at: number): boolean {
    return this.tokens[at]?.kind === 'word';
  }

  /** A statement may begin here. */
  private begins(at: number): boolean {
    const before = this.tokens[at - 1];
    if (before === undefined || before.text === ';' || before.text === '>') return true;
    return before.kind === 'word' && beginsBehind.has(before.text);
  }

  private word(at: number, word: string): void {
    const { facts } = this;
    this.onWord(word);
    if (word.includes('advisory') && !word.includes('advisory_xact')) facts.tells = true;
    else if (word === 'temp' || word === 'temporary')
      facts.tells ||= beforeTemporary.has(this.textAt(at - 1));
    else if (word === 'hold') facts.tells ||= this.textAt(at - 1) === 'with';
    else if (word.startsWith('set_config')) this.opaqueIf(word !== 'set_config' || !this.isSign(at + 1, '('));
    else if (word === 'pg_settings') facts.tells ||= this.isUpdated(at);
    else if (word === 'execute') this.execute(at);
    else if (this.begins(at)) this.statement(at, word);
  }

  private isUpdated(at: number): boolean {
    const from = this.isSign(at - 1, '.') ? at - 2 : at;
    return this.textAt(from - (this.textAt(from - 1) === 'only' ? 2 : 1)) === 'update';
  }

  private statement(at: number, word: string): void {
    const { facts } = this;
    if (word === 'set') this.set(at);
    else if (tellingStatements.has(word)) facts.tells = true;
    else if (word === 'do') this.opaqueIf(true);
  }

  private set(at: number): void {
    const { facts } = this;
    const isDotted = this.isSign(at + 2, '.');
    if (transient.has(this.textAt(at + 1)) && !isDotted) return;
    facts.tells = true;
    const isSession = this.textAt(at + 1) === 'session' && !isDotted && this.textAt(at + 2) !== '=';
    let place = at + (isSession ? 2 : 1);
    const from = place;
    while (this.isWord(place) && this.isSign(place + 1, '.')) place += 2;
    // Whatever else it is, it may be a name.
    if (!this.isWord(place)) facts.hides = true;
    else if (place > from)
      this.setting(
        this.tokens
          .slice(from, place + 1)
          .map(({ text }) => text)
          .join(''),
      );
  }

  private setting(name: string): void {
    if (name.length <= nameCharsMax && settingName.test(name)) this.facts.settings.add(name);
    else this.facts.hides = true;
  }

  private opaqueIf(is: boolean): void {
    if (!is) return;
    this.facts.tells = true;
    this.facts.isOpaque = true;
  }

  /** In what EXECUTE is given. */
  private dynamic(at: number): void {
    const { text } = this.tokens[at]!;
    this.opaqueIf(text.includes(dynamicText) || this.begins(at));
    if (!this.isSign(at + 1, '(')) return;
    let name = at;
    while (this.isSign(name - 1, '.')) name -= 2;
    this.opaqueIf(!beforeTable.has(this.textAt(name - 1)));
  }

  /** Which argument of set_config it is. */
  private count(at: number, token: BodyToken): void {
    const { open } = this;
    const inner = open.at(-1);
    if (token.text === ')' && token.kind === 'sign') {
      const closed = open.pop();
      if (closed?.isConfig === true) this.config(closed);
    } else if (token.text === ',' && token.kind === 'sign' && inner !== undefined) {
      inner.arguments += 1;
      inner.tokens = 0;
      return;
    }
    const around = open.at(-1);
    if (around !== undefined) {
      around.tokens += 1;
      around.last = token;
      if (around.arguments === 0)
        around.name = around.tokens === 1 && token.kind === 'string' ? token.text : null;
    }
    if (token.text === '(' && token.kind === 'sign')
      open.push({
        isConfig: this.textAt(at - 1) === 'set_config',
        tokens: 0,
        last: null,
        arguments: 0,
        name: null,
      });
  }

  private config(closed: Parentheses): void {
    const { facts } = this;
    if (closed.arguments === 2 && closed.tokens === 1 && closed.last?.text === 'true') return;
    facts.tells = true;
    const name = closed.name?.toLowerCase() ?? null;
    if (name === null) facts.hides = true;
    else if (name.includes('.')) this.setting(name);
  }

  private execute(at: number): void {
    if (notExecuted.has(this.textAt(at + 1))) return;
    if (!this.isPlpgsql) {
      this.opaqueIf(true);
      return;
    }
    const template = this.templateAt(at + 1);
    if (/pg_temp/i.test(template)) this.facts.tells = true;
    new Judge(tokensOf(template), false, this.facts, this.onWord).judge();
  }

  /** The text that is executed, with a sign for each part that is not known. */
  private templateAt(from: number): string {
    const { tokens } = this;
    const parts: string[] = [];
    let depth = 0;
    for (let at = from; at < tokens.length; at += 1) {
      const { kind, text, closes } = tokens[at]!;
      const calls = this.isSign(at + 1, '(') ? (tokens[at + 1]!.closes ?? tokens.length) : null;
      if (kind === 'string') parts.push(text);
      else if (kind === 'dynamic') parts.push(dynamicText);
      else if (kind === 'word') {
        if (depth === 0 && endsExecuted.has(text)) break;
        // Each text is read once.
        if (text === 'execute') return dynamicText;
        if (this.isType(at) || (text === 'pg_catalog' && this.isSign(at + 1, '.'))) continue;
        parts.push(calls === null ? (namesOfTable.has(text) ? dynamicName : dynamicText) : this.called(at));
        at = calls ?? at;
      } else if (text === ';') break;
      else if (text === '(') depth += 1;
      else if (text === ')') {
        depth -= 1;
        if (depth < 0) break;
      } else if (!silent.has(text)) parts.push(/^\d/.test(text) ? text : dynamicText);
      if (kind === 'sign' && closes === undefined && text === '(') break;
    }
    return parts.length === 0 ? dynamicText : parts.join('');
  }

  /** Of a cast. */
  private isType(at: number): boolean {
    return this.isSign(at - 1, ':') && this.isSign(at - 2, ':');
  }

  private called(at: number): string {
    const name = this.textAt(at);
    if (name === 'quote_ident') return dynamicName;
    if (name === 'quote_literal' || name === 'quote_nullable') return "''";
    const template = this.tokens[at + 2];
    const ends = this.textAt(at + 3);
    if (name !== 'format' || template?.kind !== 'string' || (ends !== ',' && ends !== ')'))
      return dynamicText;
    return template.text.replaceAll(placeholder, (_, kind: string) => {
      if (kind === '%') return '%';
      return kind === 'I' ? dynamicName : kind === 'L' ? "''" : dynamicText;
    });
  }
}

const settingName = /^[a-z_][\w$]*(?:\.[a-z_][\w$]*)+$/;
/** Between the parts of a text that is put together. */
const silent: ReadonlySet<string> = new Set(['|', ':', '.']);
const placeholder = /%(?:\d{1,9}\$)?-?\d{0,9}([%A-Za-z])/g;
