/**
 * By which functions a session's texts were judged, and whether those were the ones that it has called.
 *
 * A function may be made, or replaced, in the seconds between two looks. So what a text has called is settled only by a look that began behind its answer and has found none that tell more, or, but for names of settings, by PostgreSQL, which says
 * what the session has. What no look has settled when the leader goes depends on whether the next leader has the same functions, or others that tell no more.
 */
import type { FunctionsWatch } from './function-looks.ts';
import { tellsOfState } from './telling-text.ts';
import { type Naming, nothingFound, type TellingFunctions } from './telling-functions.ts';

/** What changes functions, or what uses them. One that is not seen so is taken for the work of others. */
const defining =
  /\b(?:create|alter|drop)\s{1,9}(?:or\s{1,9}replace\s{1,9})?(?:(?:constraint|recursive|materialized|foreign|event|unlogged)\s{1,9})?(function|procedure|routine|aggregate|trigger|view|rule|policy|table|domain|operator|cast|extension|schema)\b/gi;
/** These change functions. What the others name, if it tells, runs without being named from then on. */
const changing: ReadonlySet<string> = new Set(['function', 'procedure', 'routine', 'extension']);

/** More than that is not kept of texts. */
const earlyCharsMax = 16_384;

export class JudgedTexts {
  watch: FunctionsWatch;
  /** PostgreSQL has to be asked again: texts were judged by others than are known now. */
  isDoubtful = false;
  /** One that no look has settled may have set a custom setting whose name is not known. */
  hides = false;
  private mark: string | null = null;
  /** The functions by which the texts were judged that no look has settled; null: there are no such texts. */
  private by: TellingFunctions | null = null;
  private isAsked = true;
  /** The client was told that something succeeded about which PostgreSQL was not asked. */
  private isToldUnasked = false;
  /** It was told so of something that no look has settled. */
  private isTold = false;
  /** Texts of before anything was known. */
  private early: string[] = [];
  private earlyChars = 0;
  /** Looks that had begun when the last answer was told. */
  private answeredAt = 0;
  /** The session may have changed functions: `sent`: in what is not answered; a number: no look that is not a later one knows of it. */
  private defined: 'sent' | number = 0;

  constructor(watch: FunctionsWatch) {
    this.watch = watch;
  }

  /** Null: they are not known. */
  get telling(): TellingFunctions | null {
    return this.watch.known?.telling ?? null;
  }

  namedIn(text: string): Naming {
    const { known } = this.watch;
    const naming = this.found(text);
    if (this.defines(text, known === null || naming.tells)) this.defined = 'sent';
    return this.isCurrent ? naming : { ...naming, tells: true };
  }

  /** It may set what has a name that nobody knows. For a session that is asked nothing before its end. */
  hidesIn(text: string): boolean {
    return this.found(text).hides;
  }

  private found(text: string): Naming {
    if (this.watch.known === null && text !== '') this.keep(text);
    return (this.telling ?? nothingFound).namedIn(text);
  }

  /** `tells`: it names what does. */
  private defines(text: string, tells: boolean): boolean {
    let uses = false;
    for (const [, kind = ''] of text.matchAll(defining)) {
      if (changing.has(kind.toLowerCase())) return true;
      uses = true;
    }
    return uses && (tells || tellsOfState(text));
  }

  /** Something is known, and it is not older than what the session itself has changed. */
  private get isCurrent(): boolean {
    const { known } = this.watch;
    return known !== null && this.defined !== 'sent' && known.look > this.defined;
  }

  private keep(text: string): void {
    this.earlyChars += text.length + 100;
    if (this.earlyChars <= earlyCharsMax) this.early.push(text);
    else this.early = [];
  }

  /** The client sends something. */
  sent(): void {
    this.compare();
    this.by = this.telling ?? nothingFound;
    this.mark = this.watch.known?.mark ?? null;
    this.isAsked = false;
    this.watch.use();
  }

  answered(): void {
    this.answeredAt = this.watch.begun;
    this.isToldUnasked ||= !this.isAsked;
    this.isTold = true;
    this.watch.use();
    if (this.defined !== 'sent') return;
    this.defined = this.answeredAt;
    this.watch.hurry();
  }

  /** PostgreSQL is asked, behind all that was sent. */
  asked(): void {
    this.isAsked = true;
    this.isToldUnasked = false;
    this.isDoubtful = false;
  }

  /** To be called while nothing is under way. */
  settle(): void {
    const { known } = this.watch;
    if (known === null || known.look <= this.answeredAt) return;
    this.compare();
    this.by = null;
    this.isTold = false;
  }

  /** A look that began behind the last answer has found nothing more, or nothing was sent. */
  get isSettled(): boolean {
    return this.by === null;
  }

  private compare(): void {
    const { by, telling } = this;
    if (by === null || telling === null || telling === by) return;
    if (by === nothingFound && this.earlyChars <= earlyCharsMax) this.judgeEarly(telling);
    else {
      this.isDoubtful ||= (!this.isAsked && telling.tellsMoreThan(by)) || telling.setsMoreThan(by);
      this.hides ||= telling.hidesMoreThan(by);
    }
    this.early = [];
  }

  /** The next leader has others than `needs`, and a look has begun since: those that it has found are as good if they tell no more. */
  judgeAnew(): void {
    const { by } = this;
    const { known } = this.watch;
    if (by === null || known === null) return;
    const { telling } = known;
    const tellsMore = this.isToldUnasked && telling.tellsMoreThan(by);
    if (tellsMore || telling.setsMoreThan(by) || telling.hidesMoreThan(by)) return;
    this.by = telling;
    this.mark = known.mark;
  }

  private judgeEarly(telling: TellingFunctions): void {
    const namings = this.early.map((text) => telling.namedIn(text));
    // PostgreSQL was asked, but not for these settings.
    const mayLack = telling.settings.length > 0;
    this.isDoubtful ||= mayLack && (telling.all || namings.some(({ isNamed }) => isNamed));
    this.hides ||= namings.some(({ hides }) => hides);
  }

  /** The leader has gone: the next one must have the functions of this mark; `any`: whatever it has, `none`: whatever it has, something may be lost. */
  get needs(): { readonly mark: string } | 'any' | 'none' {
    if (this.by === null || !this.isTold || this.mark === null) return 'any';
    // What it has itself changed is not taken for the work of others.
    if (!this.isToldUnasked && !this.isCurrent) return 'any';
    return this.isDoubtful ? 'none' : { mark: this.mark };
  }

  /** Another session has taken its place, in which some of it may be executed again. */
  moved(executesAgain: boolean): void {
    if (!executesAgain) this.by = null;
    this.isAsked = !executesAgain;
    this.isToldUnasked = false;
    this.isTold = false;
    this.isDoubtful = false;
    this.hides = false;
    this.early = [];
  }
}
