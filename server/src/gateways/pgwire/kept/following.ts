/**
 * Follows a client's session from outside, in both directions, so that it can go on at another upstream.
 *
 * Responsible for: what of the bytes goes where, and what is known of the session. Has no sockets.
 */
import {
  endsSession,
  type ErrorFields,
  errorResponse,
  frameOf,
  type GatewayError,
  readyForQuery,
} from '../../../pgwire/backend-messages.ts';
import { type Doubt, leadershipParameter } from '../codec/doubt-frame.ts';
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import { mentionInStartup } from '../codec/mentions.ts';
import { back, front, type TransactionStatus } from '../../../pgwire/message-types.ts';
import type { StartupMessage } from '../codec/startup.ts';
import { rulesAfter } from '../../../pgwire/text-rules.ts';
import * as errors from '../errors.ts';
import type { PgwireLimits } from '../limits.ts';
import { KnownTransaction } from '../session/known-transaction.ts';
import { RequestTracker } from '../session/request-tracker.ts';
import { failBatch, FailedBlock } from './failed-block.ts';
import { HiddenBlock, readingBlock } from './hidden-block.ts';
import type { IdAnswer } from './id-question.ts';
import { type FunctionsWatch, nothingWatched } from './function-looks.ts';
import { IdsAhead } from './ids-ahead.ts';
import type { KeptBudget } from './kept-budget.ts';
import type { LeftSession } from './left-session.ts';
import { isOfCopy, KeptRequests } from './kept-requests.ts';
import { meaningOf, type Said, saysBackendEnded, saysTerminated } from './last-words.ts';
import type { LoggedIn } from './log-in.ts';
import {
  askLogin,
  askLoginLate,
  differingDefaults,
  mayGive,
  LoginAnswer,
  type LoginFacts,
  type Setting,
} from './login-defaults.ts';
import { type ReadQuestion, readQuestion } from './read-question.ts';
import {
  askElsewhere,
  askFunctions,
  askNewLogin,
  failStep,
  type RestoreStep,
  restoreSteps,
} from './restore.ts';
import { SessionState } from './session-state.ts';
import type { Continuation, Interrupted } from './settlement.ts';
import { askState, StateAnswer } from './state-question.ts';
import { AnswersInTurn, type OwnAnswer, type UpstreamListener, UpstreamReader } from './upstream-reader.ts';

export interface FollowingOptions {
  readonly startup: StartupMessage;
  readonly limits: PgwireLimits;
  readonly budget: KeptBudget;
  readonly onAuthenticated: () => void;
  /** PostgreSQL's key for CancelRequests, at the first login. */
  readonly onKey: (key: Buffer) => void;
  /** For the upstream, behind what the client has sent. */
  readonly send: (bytes: Buffer) => void;
}

const escapesSetting = 'standard_conforming_strings';
/** PostgreSQL's SQLSTATE. */
const readOnlyTransaction = '25006';

export class Following implements UpstreamListener {
  readonly tracker = new RequestTracker();
  readonly known = new KnownTransaction(this.tracker);
  reader: UpstreamReader;
  /** What the upstream's last words say of requests that it has not answered. */
  said: Said | null = null;
  /** Why the session alone has ended there, and is not given another one; null: it has not. */
  private endedAlone: GatewayError | null = null;
  /** Requests ahead of this position were executed again. */
  private resentUpTo = 0;
  /** Of the session at the upstream that serves. */
  key: Buffer | null = null;
  readonly ids: IdsAhead;

  private readonly options: FollowingOptions;
  private readonly fromClient: FrameSplitter;
  private readonly requests: KeptRequests;
  private readonly state: SessionState;
  private readonly parametersTold = new Map<string, string>();
  private failing: FailedBlock | null = null;
  /** The session is in a block that has failed in the place of one that is lost, or had failed at another leader. */
  private isReplaced = false;
  /** The client has been told ReadyForQuery. */
  isLoggedIn = false;
  /** ReadyForQuery that is told when PostgreSQL has said what the session has. */
  private held: { readonly status: TransactionStatus; readonly isBare: boolean } | null = null;
  /** The end of what the client has sent, which commits: PostgreSQL gets it when the id is known. */
  private withheld: Buffer | null = null;
  /** Who takes the answer to a question behind the request that is under way. */
  private ownBehind: IdAnswer | null = null;
  /** What is left of the client's message is not passed on. */
  private passesOver = false;
  private lostUntold: readonly string[] = [];
  private seenRequest = 0;
  private askedRequest = 1;
  private askedMs = Number.NEGATIVE_INFINITY;
  /** Undefined: PostgreSQL was not asked. */
  private login: LoginFacts | undefined;
  /** What a new session is to log in with, so that it has them. */
  loginSettings: readonly Setting[] = [];

  /** The client asks nothing more, and no answer to a question of the gateway's own would come. */
  asksNothing = false;

  constructor(options: FollowingOptions) {
    const { limits, budget, startup } = options;
    this.options = options;
    this.fromClient = new FrameSplitter(limits.frameBytesMax);
    this.requests = new KeptRequests(limits.keptBytesMax, budget);
    this.state = new SessionState({
      preparedBytesMax: limits.preparedBytesMax,
      budget,
      functions: nothingWatched,
    });
    this.ids = new IdsAhead(this.tracker, this.state.statements, {
      answered: (doubt) => this.idAnswered(doubt),
      // It is sent again in a session of its own.
      refused: () => {
        this.said = 'notCommitted';
        this.reader.isOver = true;
      },
      failsRequest: (_, passesOver) => this.failRequest(passesOver),
      rollBack: () => options.send(send.query('ROLLBACK')),
      failedBehind: (error) => this.failedBehind(error),
    });
    this.state.onMention(mentionInStartup(startup));
    this.reader = new UpstreamReader(limits.frameBytesMax, this);
    this.tracker.startedUp();
  }

  /** A session of this replica's own, which it has left. */
  adopt({ key, parameters, snapshot, statements, settingNames, login, spokeOfElsewhere }: LeftSession): void {
    if (spokeOfElsewhere) this.state.actsElsewhere();
    this.loggedInAs(login);
    this.tracker.told(1, 'I');
    this.key = key;
    this.isLoggedIn = true;
    for (const [name, value] of parameters) this.parameter(name, value);
    this.state.mayHaveChanged = false;
    this.state.found(snapshot);
    for (const [name, frame] of statements) this.state.statements.have(name, frame);
    if (snapshot.settings.some(([name]) => name === escapesSetting)) this.state.escapesChanged();
    this.tracker.hasPrepared(statements.map(([, frame]) => frame));
    for (const name of settingNames) this.state.settingNames.add(name);
  }

  private loggedInAs(login: LoginFacts): void {
    this.login = login;
    if (mayGive(login.defaults, 'search_path', 'pg_temp')) this.state.mayMakeTemporary = true;
  }

  /** The session may call these. */
  follow(functions: FunctionsWatch): void {
    this.state.judged.watch = functions;
  }

  /** Another upstream can take its place. */
  get isMovable(): boolean {
    const isWhole = this.isLoggedIn || this.held !== null;
    return isWhole && this.state.canBeMoved && this.owner !== null;
  }

  // ------------------------------------------------------------------------------------------------- from the client

  /** What of the chunk goes to the upstream. @throws ProtocolViolation */
  sent(chunk: Buffer): readonly Buffer[] {
    const { fromClient, tracker } = this;
    const isChanged = this.failing !== null || this.passesOver;
    // A client that does not wait for its answer is not waited for, either.
    const passed: Buffer[] = this.takeWithheld();
    this.ids.begin(this.isFree);
    fromClient.feed(chunk);
    while (fromClient.next()) {
      const { position } = tracker.owed;
      tracker.sent(fromClient, chunk);
      this.ids.sent(fromClient, chunk);
      // A password is no request.
      if (fromClient.type !== front.password) {
        this.requests.sent(fromClient, chunk);
        this.state.sent(fromClient, chunk, position);
      }
      if (isChanged) passed.push(this.change(fromClient, chunk));
    }
    if (isChanged) return passed;
    const mayAsk = fromClient.atBoundary && this.isMovable;
    const question = mayAsk
      ? this.ids.question(chunk, this.known.doubt !== null, this.state.commitMayAct)
      : null;
    if (question === null) return [...passed, chunk];
    this.reader.own = question.taker;
    this.reader.block = question.block;
    this.ownBehind = question.later;
    this.withheld = question.withheld;
    return question.now;
  }

  /** Goes to the upstream now: the client has sent it, and does not wait for it, or has gone. */
  takeWithheld(): Buffer[] {
    const { withheld } = this;
    this.withheld = null;
    return withheld === null ? [] : [withheld];
  }

  /** PostgreSQL has said the id of the transaction that is open. Null tells nothing: it may be given one inside its COMMIT, or act elsewhere. */
  private idAnswered(doubt: Doubt | null): void {
    if (doubt !== null) this.known.doubt = doubt;
    for (const bytes of this.takeWithheld()) this.options.send(bytes);
  }

  /** What the client has sent ends, too. */
  private failRequest(passesOver: boolean): boolean {
    const { withheld } = this;
    // Others of its requests would be passed over.
    if (passesOver && withheld === null) return false;
    this.withheld = null;
    const end = passesOver ? send.sync : withheld;
    if (end !== null) this.options.send(end);
    return true;
  }

  /** The client does not know that its block has failed: it hears so at its next statement. */
  private failedBehind(error: ErrorFields): boolean {
    const { tracker, fromClient } = this;
    if (tracker.outstanding || !fromClient.atBoundary) return false;
    const words = { sqlState: error.get('C') ?? '', message: error.get('M') ?? '' };
    this.failing = new FailedBlock('block', words, tracker);
    return true;
  }

  /** Nothing is under way, and something of the gateway's own can be put ahead of what the client sends. */
  private get isFree(): boolean {
    const { tracker, failing, passesOver, fromClient, reader, held } = this;
    if (tracker.outstanding || failing !== null || passesOver || held !== null) return false;
    return fromClient.atBoundary && reader.own === null && reader.block === null;
  }

  private change(part: FrameSplitter, chunk: Buffer): Buffer {
    if (this.passesOver && !part.first) {
      this.passesOver = !part.last;
      return chunk.subarray(0, 0);
    }
    this.passesOver = false;
    return this.failing?.sent(part, chunk) ?? chunk.subarray(part.start, part.end);
  }

  // ----------------------------------------------------------------------------------------------- from the upstream

  authentication(isOver: boolean): void {
    if (isOver) this.options.onAuthenticated();
  }

  backendKey(key: Buffer): void {
    this.key = key;
    this.options.onKey(key);
  }

  parameter(name: string, value: string): boolean {
    if (name === leadershipParameter) {
      this.ids.under(value);
      return false;
    }
    const { tracker } = this;
    tracker.rules = rulesAfter(tracker.rules, name, value);
    const isOther = this.parametersTold.get(name) !== value;
    this.parametersTold.set(name, value);
    if (this.isLoggedIn) this.state.mayHaveChanged = true;
    if (this.isLoggedIn && isOther && name === escapesSetting) this.state.escapesChanged();
    return true;
  }

  doubt(doubt: Doubt): void {
    this.known.doubt = doubt;
  }

  copyBegan(): void {
    this.requests.spoil();
    this.tracker.copyBegan();
  }

  parseComplete(): void {
    this.state.statements.parseComplete();
  }

  closeComplete(): void {
    this.state.statements.closeComplete();
  }

  failed(fields: ErrorFields): true | Buffer | 'over' {
    const said = meaningOf(fields);
    this.endedAlone ??= whyAlone(fields);
    // What the leader's gateway says of it is all that is known, but for an outcome that this one can ask for.
    const isLast = saysTerminated(fields) && (said !== 'unknown' || this.known.doubt === null);
    if (!isLast && said !== null && (this.isMovable || (said === 'unknown' && this.known.doubt !== null))) {
      this.said = said;
      return 'over';
    }
    this.tracker.failed();
    if (this.reader.block?.reads === true && fields.get('C') === readOnlyTransaction)
      return errorResponse('ERROR', errors.outcomeUnknownHere);
    const told = endsSession(fields) ? null : (this.failing?.told() ?? null);
    if (told !== null) this.lostUntold = [];
    return told ?? true;
  }

  ready(status: TransactionStatus, isBare: boolean): boolean {
    if (this.failing?.ready() === false) {
      this.reader.skips = true;
      return false;
    }
    const asks = this.state.mayHaveChanged || this.login === undefined;
    if (status === 'I' && this.tracker.due === 1 && asks && this.mayAsk) {
      this.held = { status, isBare };
      this.ask();
      return false;
    }
    this.tellReady(status, isBare);
    return true;
  }

  private tellReady(status: TransactionStatus, isBare: boolean): void {
    const { tracker } = this;
    if (tracker.mayHaveSurplus) tracker.ready(isBare);
    tracker.told(1, status);
    if (status === 'I') this.state.toldUnasked();
    this.state.judged.answered();
    this.answered();
    this.isReplaced &&= status === 'E';
    if (this.failing?.isOver === true || (this.failing?.isOfBlock === true && !this.isReplaced))
      this.failing = this.refuseChain(tracker.due) ?? this.tellLoss();
    this.isLoggedIn = true;
    if (this.ownBehind !== null) this.reader.own = this.ownBehind;
    this.ownBehind = null;
  }

  private answered(): void {
    const { tracker } = this;
    this.known.afterReady();
    if (this.isLoggedIn) this.requests.answered(!tracker.outstanding);
    this.state.statements.answered(tracker.owed.position - tracker.due);
  }

  // ------------------------------------------------------------------------------------------ what the session has

  /** A question of the gateway's own can be put into the stream. */
  private get mayAsk(): boolean {
    const { tracker, state, failing, fromClient, reader } = this;
    if (this.asksNothing || state.usesNames || failing !== null) return false;
    if (reader.own !== null || this.ownBehind !== null) return false;
    return !tracker.open && !tracker.mayHaveSurplus && fromClient.atBoundary;
  }

  /** To be called now and then: what a session has that is idle for a while is asked, for something may have changed it that could not be seen. */
  lookIdle(nowMs: number): void {
    const { request, outstanding, status, terminated } = this.tracker;
    const wasSeen = this.seenRequest === request;
    this.seenRequest = request;
    if (!wasSeen || outstanding || terminated || status !== 'I') return;
    this.state.settle();
    const { isKnown, mayHaveChanged } = this.state;
    if (request === this.askedRequest && !mayHaveChanged) return;
    if (isKnown && nowMs - this.askedMs < this.options.limits.idleQuestionEveryMs) return;
    if (!this.mayAsk) return;
    this.askedMs = nowMs;
    this.ask();
  }

  private ask(): void {
    const { state, options } = this;
    this.askedRequest = this.tracker.request;
    const questions: Buffer[] = [];
    const answers: OwnAnswer[] = [];
    if (this.login === undefined) {
      questions.push(this.isLoggedIn ? askLoginLate : askLogin);
      answers.push(
        new LoginAnswer((login) => {
          this.loggedInAs(login);
          return this.isLoggedIn ? null : this.tellHeld();
        }),
      );
    }
    if (this.isLoggedIn) {
      state.asked();
      questions.push(askState(state.settingNames));
      answers.push(
        new StateAnswer((snapshot) => {
          state.found(snapshot);
          return this.tellHeld();
        }),
      );
    }
    this.reader.own = new AnswersInTurn(answers);
    options.send(Buffer.concat(questions));
  }

  /** The client hears ReadyForQuery that was held for a question; null: none was. */
  private tellHeld(): Buffer | null {
    const { held } = this;
    if (held === null) return null;
    this.held = null;
    this.tellReady(held.status, held.isBare);
    this.reader.begun = false;
    return readyForQuery(held.status);
  }

  // ------------------------------------------------------------------------------------------- to another upstream

  get interrupted(): Interrupted {
    return {
      tracker: this.tracker,
      told: this.reader,
      doubt: this.known.doubt,
      answer: this.answer,
      isRead: this.ids.isRead,
      hasFailed: this.reader.block?.toldError === true,
      hasRequests: this.requests.all !== null,
      isMidMessage: !this.fromClient.atBoundary && !isOfCopy(this.fromClient.type),
      said: this.isUncommitted ? 'notCommitted' : this.said === 'unknown' ? null : this.said,
      lost: this.lost,
      isSpent: this.endsFor !== null,
    };
  }

  /** How many requests the client has had answered. */
  get requestsAnswered(): number {
    return this.tracker.owed.position - this.tracker.due;
  }

  /** Why the request that is under way is not executed again; null: it may be. */
  get endsFor(): GatewayError | null {
    const wasResent = this.tracker.outstanding && this.requestsAnswered < this.resentUpTo;
    return wasResent ? errors.leaderWentAwayAgain : null;
  }

  /** Why the client's session ends, whatever became of the request that is under way; null: it may go on. A process that has ended at a question of the gateway's own is nothing that the client knows of. */
  get endsAloneFor(): GatewayError | null {
    const { endedAlone, tracker } = this;
    return endedAlone === errors.backendEnded && !tracker.outstanding ? null : endedAlone;
  }

  /** What would commit was not sent. */
  private get isUncommitted(): boolean {
    return this.withheld !== null;
  }

  /** The client has spoken of what acts elsewhere, which may have been made in the transaction that is lost. */
  get spokeOfElsewhere(): boolean {
    return this.state.spokeOfElsewhere;
  }

  get answer(): readonly Buffer[] | null {
    const tag = this.reader.block?.tag ?? null;
    return tag === null ? this.ids.answer : [tag];
  }

  /** What the client is to be told that its session has lost. */
  private get lost(): readonly string[] {
    return [...new Set([...this.lostUntold, ...this.state.lost])];
  }

  /** The upstream will not say any more what the session has: what the client is told that waits for it. */
  giveUpQuestion(): readonly Buffer[] {
    const asksState = this.isLoggedIn;
    const told = this.tellHeld();
    if (told === null) return [];
    if (asksState) this.state.unanswered();
    return [told];
  }

  stepsTo({ block, trustsAbsence, resends }: Continuation): readonly RestoreStep[] {
    const effects = trustsAbsence ? [askElsewhere] : [];
    const reads = resends === 'reading' ? (this.readQuestion?.steps ?? []) : [];
    const functions = typeof this.state.judged.needs === 'object' ? [askFunctions] : [];
    const steps = [...effects, ...functions, askNewLogin, ...restoreSteps(this.state), ...reads];
    return block === 'none' ? steps : [...steps, failStep];
  }

  /** What is concluded from absence holds in the session that was found: it acts nowhere else, and what is executed again can only have read. */
  mayTrust({ trustsAbsence, resends }: Continuation, { told, saidSafe }: LoggedIn): boolean {
    if (trustsAbsence && (told !== 'f' || this.state.spokeOfElsewhere)) return false;
    return resends !== 'reading' || saidSafe === this.readQuestion?.safe;
  }

  private get readQuestion(): ReadQuestion | null {
    const { requests, state, options } = this;
    return readQuestion(requests.all ?? [], state.statements, options.limits.frameBytesMax);
  }

  /** Object ids of role and database; null: not known. */
  get owner(): string | null {
    return this.login?.identity ?? null;
  }

  /** Of the role that the client has proved to be, in its database: another one may have got the name of either. */
  isSame({ login }: LoggedIn): boolean {
    return login.identity !== null && login.identity === this.owner;
  }

  /** Functions have changed since it was judged what the session has called. */
  findsOthers({ functions }: LoggedIn): boolean {
    const { needs } = this.state.judged;
    return typeof needs === 'object' && needs.mark !== functions;
  }

  /** It was looked at functions since. */
  judgeAnew(): void {
    this.state.judged.judgeAnew();
  }

  /** What another session is to log in with in the place of this one, whose defaults are not those of the client's login; null: they are. */
  corrections({ login }: LoggedIn): readonly Setting[] | null {
    const differing = differingDefaults(this.login?.defaults ?? null, login.defaults);
    if (differing.length === 0) return null;
    this.loginSettings = [...this.loginSettings, ...differing];
    return this.loginSettings;
  }

  /** Another upstream has the session from now on: what the client hears, and what is sent there. */
  goOn(
    session: LoggedIn,
    how: Continuation,
  ): { readonly client: readonly Buffer[]; readonly upstream: readonly Buffer[] } {
    const { tracker, state } = this;
    const lostBefore = new Set(this.lost);
    if (state.judged.needs === 'none' || this.findsOthers(session)) state.unanswered();
    const { lost } = this;
    state.moved(tracker.outstanding && how.resends !== 'no');
    const isTold = how.tellsLoss && how.block !== 'untold';
    this.lostUntold = isTold ? lost.filter((one) => !lostBefore.has(one)) : lost;
    for (const name of session.forgotten) state.statements.forget(name);
    this.key = session.key;
    this.ids.under(session.parameters.get(leadershipParameter));
    if (session.told !== null) this.ids.actsElsewhere = session.told !== 'f';
    this.said = null;
    this.endedAlone = null;
    this.held = null;
    this.withheld = null;
    this.ownBehind = null;
    this.known.doubt = null;
    this.isReplaced = how.block !== 'none';
    this.failing = this.failingAt(how, lost);
    this.reader = new UpstreamReader(this.options.limits.frameBytesMax, this);
    const client = [...this.parametersFrom(session.parameters), ...session.notifications, ...how.words];
    if (how.readies > 0) {
      if (how.tellsLoss) tracker.failed();
      tracker.told(how.readies, how.status);
      this.state.statements.answered(tracker.owed.position - tracker.due);
    }
    const { fromClient } = this;
    this.passesOver = !fromClient.atBoundary && isOfCopy(fromClient.type);
    if (how.resends !== 'no') {
      if (tracker.outstanding) this.resentUpTo = tracker.owed.position + (tracker.open ? 1 : 0);
      return { client, upstream: this.resent(how.resends) };
    }
    this.reader.begun = tracker.outstanding;
    this.requests.restart(tracker.outstanding);
    return { client, upstream: how.fails === null ? [] : [failBatch] };
  }

  private failingAt(
    { block, fails, tellsLoss, resends }: Continuation,
    lost: readonly string[],
  ): FailedBlock | null {
    if (block === 'untold')
      return new FailedBlock('block', errors.withLoss(errors.notCommittedHere, lost), this.tracker);
    if (fails !== null) return new FailedBlock('batch', fails, this.tracker);
    if (block === 'failed') return this.refuseChain(0);
    // It may have been executed, and written.
    const executed = resends === 'reading' ? errors.withLoss(errors.outcomeUnknownHere, lost) : null;
    return tellsLoss ? this.tellLoss() : this.tellLoss(executed);
  }

  /** A block that would be like the one that is lost, and cannot be. */
  private refuseChain(owed: number): FailedBlock | null {
    if (!this.isReplaced) return null;
    return new FailedBlock(
      'chain',
      errors.withLoss(errors.notCommittedHere, this.lostUntold),
      this.tracker,
      owed,
    );
  }

  /** The next statement fails with this, or with words that say that it was not executed. */
  private tellLoss(error: GatewayError | null = null): FailedBlock | null {
    const { lostUntold } = this;
    if (lostUntold.length === 0) return null;
    return new FailedBlock('lost', error ?? errors.stateLost(lostUntold), this.tracker);
  }

  /** What was not answered, as PostgreSQL is to get it. */
  private resent(how: 'asItWas' | 'reading'): readonly Buffer[] {
    const all = this.requests.all ?? [];
    const { failing } = this;
    if (how === 'reading' && failing === null) return this.reading(all);
    if (failing === null) return all;
    const splitter = new FrameSplitter(this.options.limits.frameBytesMax);
    const sent: Buffer[] = [];
    for (const bytes of all) {
      splitter.feed(bytes);
      while (splitter.next()) sent.push(failing.sent(splitter, bytes));
    }
    return sent;
  }

  private reading(requests: readonly Buffer[]): readonly Buffer[] {
    const { reader } = this;
    // Nothing of it was run: it is as little known as before what became of it.
    const refused = (): void => void (reader.isOver = true);
    reader.block = new HiddenBlock(
      { id: () => undefined, failed: refused, failsRequest: () => false, rollBack: () => undefined },
      true,
    );
    return [readingBlock.ahead, ...requests, readingBlock.behind];
  }

  /** Those that the client was told otherwise. */
  private parametersFrom(parameters: ReadonlyMap<string, string>): readonly Buffer[] {
    const { tracker, parametersTold } = this;
    const messages: Buffer[] = [];
    for (const [name, value] of parameters) {
      if (name === leadershipParameter || parametersTold.get(name) === value) continue;
      parametersTold.set(name, value);
      tracker.rules = rulesAfter(tracker.rules, name, value);
      messages.push(frameOf(back.parameterStatus, Buffer.from(`${name}\0${value}\0`, 'latin1')));
    }
    return messages;
  }

  /** Nothing more is kept. */
  close(): void {
    this.requests.clear();
    this.state.statements.clear();
  }
}

function whyAlone(fields: ErrorFields): GatewayError | null {
  if (saysTerminated(fields)) return errors.terminated;
  return saysBackendEnded(fields) ? errors.backendEnded : null;
}
