/**
 * One client of the leader and its own PostgreSQL session, from the startup packet to the end: bytes pass between the two.
 *
 * Responsible for: the session's life. What is read along is in client-input.ts and answer-reader.ts, what may leave when in answer-gate.ts and outbox.ts, what is told at the end in
 * farewell.ts, and transactions that have a name in named/.
 * Invariants: what PostgreSQL says passes the gate after it was read; a session never outlives the generation in which it began; whatever a client does ends its own session at most;
 * the end of a session never ends the wait of its COMMIT.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ClientService } from '../../../ports/client-service.ts';
import { errorResponse, type GatewayError } from '../../../pgwire/backend-messages.ts';
import { type Doubt, doubtFrame, leadershipFrame } from '../codec/doubt-frame.ts';
import { type Mention, mentionInStartup } from '../codec/mentions.ts';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';
import { databaseOf, sessionPlace, type StartupMessage, startupForBackend } from '../codec/startup.ts';
import { rulesAfter } from '../../../pgwire/text-rules.ts';
import * as errors from '../errors.ts';
import { type FunctionLooks, nothingWatched } from '../kept/function-looks.ts';
import { LeavingReader, type LeftSession, statementsOf } from '../kept/left-session.ts';
import { askLoginLate, type LoginFacts } from '../kept/login-defaults.ts';
import { askState, type StateSnapshot } from '../kept/state-question.ts';
import { namesMax } from '../kept/telling-text.ts';
import type { PgwireLimits } from '../limits.ts';
import type { AnswerGate, Gated } from './answer-gate.ts';
import { AnswerReader } from './answer-reader.ts';
import { ClientInput } from './client-input.ts';
import { closeWithWords } from './close-with-words.ts';
import { awaitEnd, connectBackend } from './connect-backend.ts';
import { Draining } from './draining.ts';
import { askOutcome, farewell, wordsAfter } from './farewell.ts';
import { Intake } from './intake.ts';
import { KnownTransaction } from './known-transaction.ts';
import { NamedSession } from './named/named-session.ts';
import type { RequestDatabases } from './named/request-databases.ts';
import { Outbox, type Told } from './outbox.ts';
import type { ThreadShare } from './thread-share.ts';
import { serverLives } from './server-lives.ts';
import { RequestTracker } from './request-tracker.ts';
import { readModeRefusal } from './reading/read-mode-refusal.ts';
import { Trust } from './trust.ts';
import { Valve } from './valve.ts';
import { WholeMessages } from './whole-messages.ts';

export interface SessionOptions {
  readonly client: Duplex;
  /** Of PostgreSQL. */
  readonly socketPath: string;
  readonly startup: StartupMessage;
  /** What is at its other end is a gateway, which is told of transactions whose outcome may come into doubt. */
  readonly takesDoubts: boolean;
  readonly service: ClientService;
  readonly gate: AnswerGate;
  readonly requestDatabases: RequestDatabases;
  /** Null: the session is never left to go on elsewhere. */
  readonly functions: FunctionLooks | null;
  readonly limits: PgwireLimits;
  /** Of the thread, with all other clients. */
  readonly share: ThreadShare;
  /** PostgreSQL has let the client in. Returns why there is no room for it, or null. */
  readonly onAuthenticated: () => GatewayError | null;
  /** PostgreSQL has closed the connection, or notices at once that it is closed; else with the process that executes something yet. */
  readonly onLetGo: (running: number | null) => void;
  /** PostgreSQL has told the client why it ends the session. */
  readonly onFatal: (sqlState: string) => void;
  /** Told what the client is told at the end, before its connection closes. */
  readonly onWords: (words: readonly Buffer[]) => void;
  /** PostgreSQL's key for CancelRequests. */
  readonly onKey: (key: Buffer) => void;
  /** Leadership is handed over, and the session is left by its client, which is paused, and to which nothing of it listens any more. Null: then it ends instead. */
  readonly onLeft: ((session: LeftSession) => void) | null;
}

/** So long a session that is left waits for a look at functions, for which leadership waits. */
const lookMs = 1_000;

/**
 * `open`: bytes pass. `leaving`: PostgreSQL is asked what the session has, and the client is paused. `asking`: PostgreSQL's session is given up, and what became of its transaction is being found out. `closed`: the client
 * has its last words, or is gone, or is another one's.
 */
type State = 'open' | 'leaving' | 'asking' | 'closed';

export class Session implements Gated {
  readonly tracker = new RequestTracker();
  readonly known = new KnownTransaction(this.tracker);
  /** Of PostgreSQL's process; 0 until it is known. */
  pid = 0;

  private readonly options: SessionOptions;
  private readonly client: Duplex;
  private readonly fromClient: Intake;
  private readonly backend: Socket;
  private readonly input: ClientInput;
  private readonly answers: AnswerReader;
  private readonly outbox: Outbox;
  /** Null: the client is no gateway. */
  private readonly whole: WholeMessages | null;
  private readonly trust: Trust;
  /** Of a session that has mentioned `barista.request_id`. */
  private names: NamedSession | null = null;
  private state: State = 'open';
  private backendReached = false;
  private backendGone = false;
  /** The process that was executing something when it was left. */
  private leftRunning: number | null = null;
  /** Whether its process alone has ended, without a word or with a warning only; null: it has not, or said why. */
  private backendEnded: boolean | 'asking' | null = null;
  /** Why the session ends, when that is known. */
  private endsWhenKnown: GatewayError | null = null;
  private clientEnded = false;
  private doubtTold = false;
  private leadershipTold = false;
  /** The client has spoken of what acts elsewhere: that nothing is committed here says nothing of it. */
  private spokeOfElsewhere = false;
  private key: Buffer | null = null;
  private readonly parameters = new Map<string, string>();
  private leaving: LeavingReader | null = null;
  private readonly clientListeners: [event: string, listener: (chunk: Buffer) => void][] = [];
  /** Of one that is to end when nothing is under way. */
  private draining: Draining | null = null;

  constructor(options: SessionOptions) {
    const { client, limits } = options;
    this.options = options;
    this.client = client;
    this.fromClient = new Intake(client, options.share, (piece) => this.onClient(piece));
    this.backend = connectBackend(options.socketPath, (bytes) => this.onAnswer(bytes));
    this.input = new ClientInput(this.tracker, limits.frameBytesMax);
    if (options.functions === null) this.input.customSettings = null;
    this.answers = this.createReader();
    this.outbox = new Outbox(client, this.tracker, new Valve(this.backend));
    this.whole = options.takesDoubts ? new WholeMessages((bytes, told) => this.emit(bytes, told)) : null;
    this.trust = new Trust(options.service, options.gate.generation);
    this.listen();
    this.tracker.startedUp();
    this.onMention(mentionInStartup(options.startup));
    this.names?.mentioned();
    this.backend.write(startupForBackend(options.startup));
    client.resume();
  }

  private get loggedIn(): boolean {
    return this.pid !== 0;
  }

  // ------------------------------------------------------------------------------------------------ from PostgreSQL

  private createReader(): AnswerReader {
    const { limits, onAuthenticated, onKey, onFatal, functions, startup } = this.options;
    return new AnswerReader(limits.frameBytesMax, {
      authenticated: () => {
        const refusal = onAuthenticated();
        if (refusal !== null) this.close([errorResponse('FATAL', refusal)]);
        else this.input.judged.watch = functions?.watch(databaseOf(startup)) ?? nothingWatched;
      },
      backendKey: (key) => {
        if (key.length >= 4) this.pid = key.readInt32BE(0);
        this.key = key;
        onKey(key);
      },
      parameter: (name, value) => {
        this.parameters.set(name, value);
        this.tracker.rules = rulesAfter(this.tracker.rules, name, value);
      },
      copyBegan: () => {
        if (!this.tracker.copyBegan(this.readiesUntold)) this.names?.copyBeganUnended();
      },
      failed: () => this.tracker.failed(this.readiesUntold),
      fatal: onFatal,
      ready: (isBare) => {
        if (this.names?.visitor == null) this.onReady(isBare);
      },
    });
  }

  /** ReadyForQuery for the client, before it is in the outbox. */
  private onReady(isBare: boolean): void {
    this.input.judged.answered();
    if (this.tracker.mayHaveSurplus) this.tracker.ready(isBare, this.readiesUntold);
  }

  /** ReadyForQuery messages for the client that have been read. Where names are kept, each is in the outbox at once. */
  private get readiesUntold(): number {
    const inChunk = this.names?.visitor == null ? this.answers.readies : 0;
    return this.outbox.readiesWaiting + inChunk;
  }

  private onAnswer(chunk: Buffer): void {
    if (this.state !== 'open' && this.state !== 'leaving') return;
    try {
      if (this.leaving !== null) {
        this.leaving.read(chunk);
        return;
      }
      const visitor = this.names?.visitor ?? null;
      if (visitor !== null) this.whole?.flush();
      this.answers.read(chunk, visitor);
      if (visitor === null) {
        if (this.whole === null) this.emit(chunk, this.answers);
        else this.whole.pass(chunk, this.answers, this.answers.begunAt);
      }
      this.names?.answered();
    } catch (error) {
      this.close([errorResponse('FATAL', errors.internalError(error))]);
    }
  }

  /** For the client, when it may leave. */
  private emit(bytes: Buffer, told: Told): void {
    if (this.state !== 'open') return;
    if (this.outbox.add(bytes, told) && !this.outbox.isHolding) this.options.gate.add(this);
  }

  release(): void {
    if (this.state !== 'open') return;
    const { due } = this.tracker;
    const more = this.outbox.release();
    if (this.tracker.due < due) this.known.afterReady();
    if (!this.leadershipTold && this.loggedIn) this.tellLeadership();
    if (more) this.options.gate.add(this);
    else if (this.backendGone) this.afterLastAnswer();
    else this.draining?.look();
  }

  hold(): void {
    if (this.state === 'open') this.outbox.hold();
  }

  refuse(): void {
    this.end(errors.notLeaderAnyMore);
  }

  // -------------------------------------------------------------------------------------------------- from the client

  private onClient(chunk: Buffer): void {
    if (this.state !== 'open') return;
    try {
      const mention = this.input.read(chunk);
      this.onMention(mention);
      const { names } = this;
      // While it logs in there is nothing to name.
      if (names === null) this.forward(this.refusalOf(chunk) ?? chunk);
      else if (!this.loggedIn) {
        if (mention?.request === true) names.mentionedUnseen();
        this.forward(chunk);
      } else {
        if (this.input.mentionsBeforeBoundary) names.mentionedUnseen();
        const { boundary, position, hasJustBegun } = this.input;
        names.fromClient(chunk, { boundary, position, hasJustBegun, mentions: mention?.request === true });
      }
    } catch (error) {
      const known = error instanceof ProtocolViolation;
      const told = known ? errors.protocolViolation(error.message) : errors.internalError(error);
      this.close(this.outbox.atBoundary ? [errorResponse('FATAL', told)] : []);
    }
  }

  /** Of what has come nothing waits to be passed on. */
  get atBoundary(): boolean {
    return this.fromClient.isEmpty && this.input.atBoundary;
  }

  private refusalOf(chunk: Buffer): Buffer | null {
    return this.input.boundary === 0 ? readModeRefusal(chunk, this.options.startup) : null;
  }

  private forward(bytes: Buffer): void {
    if (!this.backend.write(bytes)) this.fromClient.pause('full');
  }

  private onMention(mention: Mention | null): void {
    if (mention?.commit === true) this.trust.lose(mention);
    if (mention?.request === true) this.names ??= this.createNames();
    if (mention?.elsewhere === true) this.spokeOfElsewhere = true;
  }

  private createNames(): NamedSession {
    const { limits, service, requestDatabases, startup, gate } = this.options;
    const { fromClient } = this;
    return new NamedSession({
      tracker: this.tracker,
      answers: this.answers,
      limits,
      service,
      databases: requestDatabases,
      database: databaseOf(startup),
      generation: gate.generation,
      reported: this.parameters,
      texts: () => this.input.texts.copy(),
      untold: () => this.outbox.readiesWaiting,
      send: (bytes) => this.forward(bytes),
      emit: (bytes, told) => this.emit(bytes, told),
      ready: (isBare) => this.onReady(isBare),
      learn: (doubt) => this.learn(doubt),
      isInDoubt: () => this.known.doubt !== null && this.tracker.outstanding,
      pause: () => fromClient.pause('waiting'),
      resume: () => fromClient.resume('waiting'),
      fail: (error) => this.close([errorResponse('FATAL', error)]),
    });
  }

  // ------------------------------------------------------------------------------------------- the transaction under way

  /** PostgreSQL should be asked which transaction the session has open. */
  get lacksTransaction(): boolean {
    const { state, pid, known, tracker } = this;
    if (state !== 'open' || pid === 0 || known.doubt !== null || !tracker.outstanding) return false;
    return tracker.verdict !== 'several';
  }

  /** What is known of the transaction that is outstanding. */
  learn(doubt: Doubt): void {
    this.known.doubt = doubt;
    this.doubtTold = false;
    this.tellDoubt();
  }

  /** To the follower through which the client came, if it has not been told. */
  tellDoubt(): void {
    const { doubt } = this.known;
    if (doubt === null || this.doubtTold || this.state !== 'open' || !this.options.takesDoubts) return;
    this.doubtTold = this.outbox.insert(doubtFrame(doubt));
  }

  /** To the follower through which the client came, once. */
  private tellLeadership(): void {
    const { takesDoubts, service, gate } = this.options;
    const leadership = takesDoubts ? service.leadership(gate.generation) : null;
    this.leadershipTold = leadership === null || this.outbox.insert(leadershipFrame(leadership));
  }

  // -------------------------------------------------------------------------------------------------------- the end

  /** The session cannot go on. Tells the client what is true; if that is not known, finds it out first, or, with `atOnce`, says that it is unknown. */
  end(reason: GatewayError, { atOnce = false } = {}): void {
    if (this.state === 'closed' || (this.state === 'asking' && !atOnce)) return;
    if (this.backendEnded === 'asking' && !atOnce) this.endsWhenKnown ??= reason;
    else this.endFor(this.endsFor(reason), atOnce);
  }

  /** A process that has ended in the middle of a request may do so again, wherever that is executed. What somebody has ended is not begun again. */
  private endsFor(reason: GatewayError): GatewayError {
    if (this.backendEnded !== true) return reason;
    if (this.answers.saidTerminated) return errors.terminated;
    return this.tracker.outstanding ? errors.backendEnded : reason;
  }

  private endFor(reason: GatewayError, atOnce: boolean): void {
    // A gateway that knows the transaction finds out what became of it, and must hear first that it is not to be repeated.
    const isTold = errors.isFinal(reason) && this.options.takesDoubts && this.doubtTold;
    const words = farewell({ tracker: this.tracker, told: this.outbox, doubt: this.known.doubt }, reason);
    if (words.kind === 'words') this.close(words.bytes);
    else if (atOnce || isTold) this.close([errorResponse('FATAL', errors.outcomeUnknown(reason.message))]);
    else void this.ask(words.doubt, reason);
  }

  /** It may end what is under way, and then ends; a transaction that is open may go on. `onOver`: it asks nothing more. */
  drain(onOver: () => void): void {
    const onIdle = (): void => {
      if (this.state === 'open') this.leave(onOver);
      else onOver();
    };
    this.draining ??= new Draining(this.tracker, this, onIdle, this.options.takesDoubts ? 2 : 1);
    this.draining.look();
  }

  /** Nothing is under way, and nothing more begins here: the client goes on with the next leader, or the session ends. */
  private leave(onOver: () => void): void {
    const { onLeft, limits } = this.options;
    const { judged } = this.input;
    const isQuiet = this.atBoundary && this.outbox.isEmpty && !this.client.writableNeedDrain;
    // Of one that is distrusted PostgreSQL has to close the connection by itself.
    const mayLeave = this.names === null && isQuiet && !this.clientEnded && !this.trust.isLost;
    if (onLeft === null || this.input.customSettings === null || !mayLeave) {
      this.end(errors.handingOver);
      onOver();
      return;
    }
    this.state = 'leaving';
    this.fromClient.pause('waiting');
    const names = new Set(this.input.customSettings);
    const found = (snapshot: StateSnapshot | null, login: LoginFacts): void => {
      if (this.state !== 'leaving') return;
      if (snapshot === null || login.identity === null || this.clientEnded) this.end(errors.handingOver);
      else this.left({ snapshot, login, settingNames: names }, onLeft);
      onOver();
    };
    const ended = (words: Buffer): void => {
      this.close([words]);
      onOver();
    };
    this.leaving = new LeavingReader(limits.frameBytesMax, found, ended);
    void judged.watch.renew(lookMs).then(() => {
      if (this.state !== 'leaving') return;
      judged.settle();
      for (const name of judged.telling?.settings ?? []) names.add(name);
      // Its functions may have set what has a name that is not known.
      const isHidden = judged.hides || !judged.isSettled || names.size > namesMax;
      if (!isHidden) this.backend.write(Buffer.concat([askLoginLate, askState(names)]));
      else {
        this.end(errors.handingOver);
        onOver();
      }
    });
  }

  private left(
    found: Pick<LeftSession, 'snapshot' | 'settingNames' | 'login'>,
    onLeft: (session: LeftSession) => void,
  ): void {
    const { key, parameters, backend, client, spokeOfElsewhere } = this;
    this.state = 'closed';
    this.draining?.stop();
    for (const [event, listener] of this.clientListeners) client.off(event, listener);
    this.outbox.leave();
    this.input.judged.watch.stop();
    this.closeBackend();
    onLeft({
      ...found,
      key,
      parameters,
      spokeOfElsewhere,
      statements: statementsOf(found.snapshot),
      upstream: backend,
    });
  }

  private async ask(doubt: Doubt, reason: GatewayError): Promise<void> {
    this.state = 'asking';
    this.closeBackend();
    const { service, startup, limits } = this.options;
    const place = { ...sessionPlace(startup), owner: null, spokeOfElsewhere: this.spokeOfElsewhere };
    const outcome = await askOutcome(service, doubt, place, limits.outcomeWaitMs);
    if (this.state !== 'asking') return;
    this.close(wordsAfter({ tracker: this.tracker, told: this.outbox }, outcome, reason));
  }

  /** The first call decides what the client is told. */
  private close(words: readonly Buffer[]): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.draining?.stop();
    this.input.judged.watch.stop();
    this.fromClient.drop();
    this.closeBackend();
    if (!this.client.destroyed) this.options.onWords(words);
    closeWithWords(this.client, words, this.options.limits.lastWordsMs);
  }

  private closeBackend(): void {
    this.outbox.drop();
    if (this.backendGone) return;
    // Only when PostgreSQL has closed the connection is it certain that the session commits nothing more. While it begins a session it does not look whether anybody is there, and its place is not free.
    if (this.trust.isLost || !this.loggedIn) awaitEnd(this.backend);
    else {
      if (this.tracker.outstanding) this.leftRunning = this.pid;
      this.backend.destroy();
    }
  }

  /** PostgreSQL has closed the connection. */
  private onBackendEnd(): void {
    if (this.backendEnded !== null || this.answers.saidEnd || !this.backendReached) return;
    const { socketPath, service } = this.options;
    // The replica stops its PostgreSQL in order: nobody has ended this session.
    const isStopping = this.answers.saidTerminated && service.door() === null;
    this.backendEnded = 'asking';
    void serverLives(socketPath).then((lives) => {
      this.backendEnded = lives && !isStopping;
      if (this.endsWhenKnown !== null) this.end(this.endsWhenKnown);
    });
  }

  /** PostgreSQL has closed the connection, and the client has heard all that it said. */
  private afterLastAnswer(): void {
    if (this.tracker.terminated || this.clientEnded || this.outbox.saidFatal) this.close([]);
    else this.end(this.backendReached ? errors.databaseWentAway : errors.databaseDown);
  }

  private onClientEvent(event: string, listener: (chunk: Buffer) => void): void {
    this.client.on(event, listener);
    this.clientListeners.push([event, listener]);
  }

  private listen(): void {
    const { backend } = this;
    this.onClientEvent('data', (chunk: Buffer) => this.fromClient.add(chunk));
    this.onClientEvent('end', () => {
      this.clientEnded = true;
      this.fromClient.whenEmpty(() => {
        if (this.names === null) backend.end();
        else this.names.ended(() => backend.end());
      });
    });
    this.onClientEvent('close', () => this.close([]));
    backend.on('connect', () => {
      this.backendReached = true;
    });
    backend.on('drain', () => this.fromClient.resume('full'));
    // What is wrong shows in that the connection closes.
    backend.on('error', () => {});
    backend.on('end', () => this.onBackendEnd());
    backend.on('close', () => {
      this.backendGone = true;
      this.options.onLetGo(this.leftRunning);
      this.onBackendEnd();
      void this.trust.sessionEnded();
      if (this.state === 'leaving') this.end(errors.handingOver);
      if (this.state === 'open' && this.outbox.isEmpty) this.afterLastAnswer();
    });
  }
}
