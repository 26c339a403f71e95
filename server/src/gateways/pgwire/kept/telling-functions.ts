/**
 * Which functions of a database's clients may change what a session has besides its transaction, by themselves (telling-body.ts) or by others that they call; and whether a client's text names one.
 *
 * Pure. Linear in the sources, and in the text. Invariant: what is not known to change nothing tells: the text is asked about behind it, which costs a question.
 */
import type { ClientFunction, ClientFunctions } from '../../../ports/client-functions.ts';
import { judgeBody } from './telling-body.ts';
import { namesMax } from './telling-text.ts';

/** What a text may do by what it names. */
export interface Naming {
  /** It may change what the session has. */
  readonly tells: boolean;
  /** It may set a custom setting whose name is not among `settings`. */
  readonly hides: boolean;
  /** Not only because every text may. */
  readonly isNamed: boolean;
}

interface Reach {
  tells: boolean;
  hides: boolean;
  isOpaque: boolean;
}

/** They execute a text that they are given. Some are PostgreSQL's own, some an extension's. */
const executing =
  'query_to_xml query_to_xmlschema query_to_xml_and_xmlschema ts_stat ts_rewrite crosstab crosstab2 crosstab3 crosstab4 crosstabn connectby xpath_table'.split(
    ' ',
  );
const opaque: Reach = { tells: true, hides: true, isOpaque: true };
const nothing: Naming = { tells: false, hides: false, isNamed: false };
const plainName = /^[a-z_][\w$]*$/;
/** A name whose letters are written by their numbers. */
const numbered = /u&"/i;
/** So much of the sources is judged in one turn. */
const turnChars = 32_768;

export class TellingFunctions {
  /** Every text tells: something tells that need not be named. */
  readonly all: boolean;
  /** Custom settings that functions name where they set one. */
  readonly settings: readonly string[];

  private readonly hidesUnnamed: boolean;
  private readonly hidden: Naming;
  /** By name in small letters: whether it hides a setting. */
  private readonly names: ReadonlyMap<string, boolean>;
  private readonly longest: number = 0;
  /** Their first letters. */
  private readonly beginnings = new Uint8Array(256);

  constructor(
    names: ReadonlyMap<string, boolean>,
    unnamed: { readonly tells: boolean; readonly hides: boolean },
    settings: readonly string[],
  ) {
    this.names = names;
    this.all = unnamed.tells;
    this.hidesUnnamed = unnamed.hides;
    this.settings = settings;
    this.hidden = { tells: true, hides: unnamed.hides || [...names.values()].includes(true), isNamed: true };
    for (const name of names.keys()) {
      this.beginnings[name.charCodeAt(0)] = 1;
      this.longest = Math.max(this.longest, name.length);
    }
  }

  /** Of a call by a number. */
  get any(): Naming {
    return this.hidden;
  }

  /** What `others` tells, it tells, and more. */
  tellsMoreThan(others: TellingFunctions): boolean {
    if (others.all) return false;
    if (this.all) return true;
    for (const name of this.names.keys()) if (!others.names.has(name)) return true;
    return false;
  }

  /** It hides settings behind names that `others` does not. */
  hidesMoreThan(others: TellingFunctions): boolean {
    if (this.hidesUnnamed && !others.hidesUnnamed) return true;
    for (const [name, hides] of this.names) if (hides && others.names.get(name) !== true) return true;
    return false;
  }

  /** It names settings that `others` do not. */
  setsMoreThan(others: TellingFunctions): boolean {
    return this.settings.some((name) => !others.settings.includes(name));
  }

  namedIn(text: string): Naming {
    let { hidesUnnamed: hides } = this;
    let isNamed = false;
    if (numbered.test(text)) return this.hidden;
    const { length } = text;
    for (let at = 0; at < length; at += 1) {
      const code = text.charCodeAt(at);
      if (!isOfWord(code)) continue;
      const from = at;
      while (at < length && isOfWord(text.charCodeAt(at))) at += 1;
      // Of a letter: its small one.
      if (this.beginnings[code < 0x80 && code > 0x40 && code !== 0x5f ? code | 0x20 : code] !== 1) continue;
      if (at - from > this.longest) continue;
      const found = this.names.get(text.slice(from, at).toLowerCase());
      if (found === undefined) continue;
      isNamed = true;
      hides ||= found;
    }
    return isNamed || this.all ? { tells: true, hides, isNamed } : nothing;
  }
}

/** A letter, a digit, `_`, `$`, or whatever is not ASCII. */
function isOfWord(code: number): boolean {
  if (code >= 0x80 || code === 0x5f || code === 0x24) return true;
  return code < 0x40 ? code >= 0x30 && code <= 0x39 : (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
}

/** What a text may name in every database. */
export const nothingFound = new TellingFunctions(
  new Map(executing.map((name) => [name, true])),
  { tells: false, hides: false },
  [],
);

/** `breathe`: lets others have their turn. */
export async function findTelling(
  { functions, unnamedTells }: ClientFunctions,
  breathe: () => Promise<void>,
): Promise<TellingFunctions> {
  if (functions === null) return new TellingFunctions(new Map(), { tells: true, hides: true }, []);
  const graph = new CallGraph(functions);
  let chars = 0;
  for (const each of functions) {
    graph.judge(each);
    chars += each.source.length + 100;
    if (chars < turnChars) continue;
    chars = 0;
    await breathe();
  }
  return graph.telling(functions, unnamedTells);
}

class CallGraph {
  private readonly reach = new Map<string, Reach>();
  /** Who calls it. */
  private readonly callers = new Map<string, Set<string>>();
  private readonly settings = new Set<string>();
  private hidesAll = false;

  constructor(functions: readonly ClientFunction[]) {
    for (const { name } of functions)
      this.reach.set(name.toLowerCase(), { tells: false, hides: false, isOpaque: false });
    for (const name of executing) this.reach.set(name, { ...opaque });
  }

  judge({ name, source, language, calls }: ClientFunction): void {
    const caller = name.toLowerCase();
    const facts = judgeBody(source, language, (word) => this.call(caller, word));
    const own = this.reach.get(caller)!;
    own.tells ||= facts.tells;
    own.hides ||= facts.hides;
    own.isOpaque ||= facts.isOpaque;
    for (const setting of facts.settings) {
      if (this.settings.size < namesMax) this.settings.add(setting);
      else this.hidesAll = true;
    }
    for (const called of calls) {
      const word = called.toLowerCase();
      if (this.reach.has(word)) this.call(caller, word);
      // One of PostgreSQL's own that tells.
      else {
        own.tells = true;
        own.hides ||= word === 'set_config';
      }
    }
  }

  private call(caller: string, word: string): void {
    if (word === caller || !this.reach.has(word)) return;
    const known = this.callers.get(word);
    if (known === undefined) this.callers.set(word, new Set([caller]));
    else known.add(caller);
  }

  telling(functions: readonly ClientFunction[], unnamedTells: boolean): TellingFunctions {
    for (const fact of ['tells', 'hides', 'isOpaque'] as const) this.spread(fact);
    const names = new Map<string, boolean>();
    let tells = unnamedTells;
    let hides = unnamedTells;
    for (const [name, own] of this.reach) {
      if (!own.tells) continue;
      names.set(name, own.hides || own.isOpaque || this.hidesAll);
      // It cannot be found in a text.
      if (plainName.test(name)) continue;
      tells = true;
      hides ||= own.hides;
    }
    for (const { name, isUsed } of functions) {
      const own = this.reach.get(name.toLowerCase())!;
      if (!isUsed || !own.tells) continue;
      tells = true;
      // What is opaque, and says nothing of settings, is believed: or each session would hear of a loss at each change of leader.
      hides ||= own.hides;
    }
    return new TellingFunctions(names, { tells, hides }, [...this.settings]);
  }

  /** To all who call what has it. */
  private spread(fact: keyof Reach): void {
    const waiting = [...this.reach].filter(([, own]) => own[fact]).map(([name]) => name);
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop())
      for (const caller of this.callers.get(name) ?? []) {
        const own = this.reach.get(caller)!;
        if (!own[fact]) waiting.push(caller);
        own[fact] = true;
      }
  }
}
