/**
 * A client whose connection outlives leaders: it has the client's socket, and an upstream that can be replaced.
 *
 * Responsible for: passing bytes on while an upstream serves; and when it serves no more, finding out what is true (settlement.ts), another upstream (find-upstream.ts), and going on there. What is known of the session is
 * in following.ts. What cannot go on ends as a session of the leader does, with the words of farewell.ts. The gate of answers is the leader's.
 * Invariants: an error is put into the stream only between two messages; success is told only of what took effect and was not answered before; while there is no upstream nothing is read from the client.
 */
import type { Duplex } from 'node:stream';
import type { ClientService, RequestOutcome, Service, SessionPlace } from '../../../ports/client-service.ts';
import { errorResponse, type GatewayError } from '../../../pgwire/backend-messages.ts';
import type { Doubt } from '../codec/doubt-frame.ts';
import { sessionPlace, type StartupMessage } from '../codec/startup.ts';
import * as errors from '../errors.ts';
import type { PgwireLimits } from '../limits.ts';
import { closeWithWords } from '../session/close-with-words.ts';
import { askOutcome, farewell, type Situation, wordsAfter } from '../session/farewell.ts';
import { Intake } from '../session/intake.ts';
import type { ThreadShare } from '../session/thread-share.ts';
import { type Found, findUpstream } from './find-upstream.ts';
import { Following } from './following.ts';
import { type FunctionLooks, nothingWatched } from './function-looks.ts';
import type { KeptBudget } from './kept-budget.ts';
import type { LeftSession } from './left-session.ts';
import { type Continuation, type Interrupted, settle, settleAfter } from './settlement.ts';
import type { Turns } from './turns.ts';
import { isSamePlace, type OpenUpstream, type Place } from './upstream.ts';

export interface KeptClientOptions {
  readonly client: Duplex;
  readonly place: Place;
  /** The way to there; paused. */
  readonly upstream: Duplex;
  /** The client's session there, which is left; null: it logs in. */
  readonly left: LeftSession | null;
  readonly startup: StartupMessage;
  /** Nothing is asked of the client before it is let in: it hears all of that at once, or nothing. */
  readonly isProven: boolean;
  readonly limits: PgwireLimits;
  readonly service: Pick<
    ClientService,
    'service' | 'door' | 'onServiceChange' | 'outcomeOf' | 'outcomeOfRequest' | 'mayActElsewhere'
  >;
  readonly open: OpenUpstream;
  readonly turns: Turns;
  readonly functions: FunctionLooks;
  /** Of the thread, with all other clients. */
  readonly share: ThreadShare;
  readonly budget: KeptBudget;
  /** PostgreSQL has let the client in. Returns why there is no room for it, or null. */
  readonly onAuthenticated: () => GatewayError | null;
  /** Its last words; none: it has gone. */
  readonly onWords: (words: readonly Buffer[]) => void;
  /** The key for CancelRequests that the client is given. */
  readonly onKey: (key: Buffer) => void;
  /** A request is executed again at another leader, or is not, because it was before or has ended its own process. */
  readonly onRepeat: (repeats: boolean) => void;
  /** The leader has gone, or another leads, and the client has neither heard anything nor said anything but the startup packet: it is to be placed anew. It is paused, and nothing of this listens to it any more. */
  readonly onUnheard: () => void;
}

/** More than PostgreSQL says of a login. */
const greetingBytesMax = 65_536;

/**
 * `open`: bytes pass. `moving`: the upstream is given up; what became of the transaction, and another upstream, are being found. `asking`: the same, and
 * it ends behind the answer. `closed`: the client has its last words, or is gone.
 */
type State = 'open' | 'moving' | 'asking' | 'closed';

export class KeptClient {
  private readonly options: KeptClientOptions;
  private readonly client: Duplex;
  private readonly fromClient: Intake;
  private readonly following: Following;
  private place: Place;
  private upstream: Duplex;
  private fromUpstream: Intake;
  private state: State = 'open';
  private clientEnded = false;
  /** Something has passed, in either direction, behind the startup packet. */
  private heard: boolean;
  /** What the client hears when its login has succeeded, or failed; null: it hears everything at once. */
  private greeting: Buffer[] | null;
  private hasMoved = false;
  /** Moves since the client was answered last, or for a while, and the first of them. */
  private readonly moves = { count: 0, answered: 0, firstMs: 0 };
  private readonly clientListeners: [event: string, listener: (chunk: Buffer) => void][] = [];
  private grace: NodeJS.Timeout | null = null;
  private functions = nothingWatched;
  /** The client is gone, or has its last words. */
  private readonly over = new AbortController();

  constructor(options: KeptClientOptions) {
    const { client, startup, limits, budget, onKey } = options;
    this.options = options;
    this.client = client;
    this.heard = options.left !== null;
    this.greeting = options.isProven && !this.heard ? [] : null;
    this.fromClient = new Intake(client, options.share, (piece) => this.onClient(piece));
    this.place = options.place;
    this.following = new Following({
      startup,
      limits,
      budget,
      onKey,
      send: (bytes) => this.sendOn([bytes]),
      onAuthenticated: () => {
        const refusal = options.onAuthenticated();
        if (refusal !== null) this.close([errorResponse('FATAL', refusal)]);
        else {
          void this.lookElsewhere();
          this.lookAtFunctions();
        }
      },
    });
    this.following.ids.isElsewhere = options.place.kind === 'at';
    this.upstream = options.upstream;
    this.fromUpstream = this.intakeOf(this.upstream);
    this.listenToClient();
    if (options.left !== null) {
      this.lookAtFunctions();
      this.following.adopt(options.left);
      this.lose(errors.handingOver);
      return;
    }
    this.listenToUpstream(this.upstream);
    this.upstream.resume();
    client.resume();
    // Behind this call: whoever makes it cannot be told yet.
    if (this.upstream.destroyed) setImmediate(() => this.lose(errors.leaderWentAway));
  }

  /** Where a CancelRequest of the client goes; null: it has not moved, and whoever serves knows its key. */
  get cancelTarget(): {
    readonly key: Buffer;
    readonly leader: Extract<Place, { kind: 'at' }> | null;
  } | null {
    const { key } = this.following;
    if (!this.hasMoved || key === null) return null;
    return { key, leader: this.place.kind === 'at' ? this.place : null };
  }

  /** To be called some times a minute. */
  lookIdle(nowMs: number): void {
    if (this.state === 'open') this.following.lookIdle(nowMs);
  }

  /** Another service: the old leader, if it lives, says how things ended; it is given a moment to. */
  onService(service: Service): void {
    if (this.state !== 'open') return;
    this.stopGrace();
    if (isSamePlace(this.place, service)) return;
    if (!this.heard) {
      this.leave();
      return;
    }
    const { limits } = this.options;
    const { tracker, isMovable } = this.following;
    const nowhereMs = isMovable ? limits.keepWaitMs : limits.leaderWaitMs;
    // Nothing is to be said of one that is idle.
    if (service.kind !== 'nowhere' && isMovable && !tracker.outstanding) {
      this.lose(errors.leaderWentAway);
      return;
    }
    const graceMs = service.kind === 'nowhere' ? nowhereMs : limits.tunnelGraceMs;
    this.grace = setTimeout(() => this.lose(errors.leaderWentAway), graceMs);
  }

  private stopGrace(): void {
    if (this.grace !== null) clearTimeout(this.grace);
    this.grace = null;
  }

  /** Nothing is lost by it: what the client has sent is known, and it was told nothing. */
  private leave(): void {
    this.state = 'closed';
    this.stopGrace();
    this.following.close();
    this.functions.stop();
    for (const [event, listener] of this.clientListeners) this.client.off(event, listener);
    this.upstream.destroy();
    this.client.pause();
    this.options.onUnheard();
  }

  // --------------------------------------------------------------------------------------------------- another upstream

  /** The upstream serves no more. */
  private lose(reason: GatewayError): void {
    if (this.state !== 'open') return;
    if (!this.heard) {
      this.leave();
      return;
    }
    this.stopGrace();
    this.upstream.destroy();
    const { endsAloneFor, isMovable } = this.following;
    if (endsAloneFor !== null) {
      if (endsAloneFor === errors.backendEnded) this.options.onRepeat(false);
      this.end(endsAloneFor);
    } else if (isMovable && !this.clientEnded && this.mayMove()) void this.move(reason);
    else this.end(reason);
  }

  /** Whatever is done again for a client has a bound, moves that are of no use to it among them. */
  private mayMove(): boolean {
    const { moves, following } = this;
    const { movesUnansweredMax, movesWithinMs } = this.options.limits;
    const nowMs = performance.now();
    if (following.requestsAnswered !== moves.answered || nowMs - moves.firstMs > movesWithinMs) {
      moves.count = 0;
      moves.answered = following.requestsAnswered;
      moves.firstMs = nowMs;
    }
    moves.count += 1;
    return moves.count <= movesUnansweredMax;
  }

  private async move(reason: GatewayError): Promise<void> {
    const { following } = this;
    this.state = 'moving';
    this.fromClient.pause('waiting');
    this.tell(following.giveUpQuestion());
    const { interrupted } = following;
    let outcome = toldOutcome(following);
    let settlement = settle(interrupted);
    if (settlement.kind === 'ask') {
      outcome = await this.ask(settlement.doubt);
      settlement = settleAfter(interrupted, outcome);
    }
    if (this.isOver) return;
    if (settlement.kind !== 'go') {
      const { endsFor } = following;
      if (endsFor !== null) this.options.onRepeat(false);
      const known = settlement.kind === 'end' ? settlement.outcome : null;
      return this.finish(endsFor ?? reason, known ?? outcome);
    }
    const found = await this.find(settlement.how);
    if (found.kind === 'found' && !following.mayTrust(settlement.how, found.session)) {
      found.upstream.destroy();
      await this.moveInDoubt(interrupted, reason);
    } else this.enter(found, settlement.how, { reason, outcome });
  }

  /** Where it may act elsewhere its transactions are given ids. Nothing waits for this, and nothing is concluded from it. */
  private async lookElsewhere(): Promise<void> {
    const { service } = this.options;
    this.following.ids.actsElsewhere = await service.mayActElsewhere(this.sessionPlace, null, 0);
  }

  private get sessionPlace(): SessionPlace {
    return { ...sessionPlace(this.options.startup), owner: this.following.owner };
  }

  /** Those of a database that it has been let into. */
  private lookAtFunctions(): void {
    if (this.state === 'closed' || this.functions !== nothingWatched) return;
    this.functions = this.options.functions.watch(sessionPlace(this.options.startup).database);
    this.following.follow(this.functions);
  }

  private async ask(doubt: Doubt): Promise<RequestOutcome> {
    const { service, limits } = this.options;
    const place = { ...this.sessionPlace, spokeOfElsewhere: this.following.spokeOfElsewhere };
    return askOutcome(service, doubt, place, limits.outcomeWaitMs);
  }

  /** What the session did elsewhere cannot be known: nothing is done again, and the client hears so. */
  private async moveInDoubt(interrupted: Interrupted, reason: GatewayError): Promise<void> {
    if (this.isOver) return;
    const outcome = { code: 'unknown' } as const;
    const settlement = settleAfter(interrupted, outcome);
    if (settlement.kind === 'go')
      this.enter(await this.find(settlement.how), settlement.how, { reason, outcome });
    else this.finish(reason, outcome);
  }

  private async find(how: Continuation): Promise<Found> {
    const { following } = this;
    const found = await this.findOnce(how);
    if (found.kind === 'failed' || !following.findsOthers(found.session)) return found;
    // Most changes of functions are nothing to a session: that takes another look.
    found.upstream.destroy();
    await this.functions.renew(this.options.limits.keepWaitMs);
    following.judgeAnew();
    return this.findOnce(how);
  }

  private findOnce(how: Continuation): Promise<Found> {
    const { service, startup, limits, open, turns } = this.options;
    const { following, over } = this;
    return findUpstream({
      service,
      open,
      steps: following.stepsTo(how),
      settings: following.loginSettings,
      isSame: (session) => following.isSame(session),
      correct: (session) => following.corrections(session),
      turns,
      role: sessionPlace(startup).role,
      limits,
      signal: over.signal,
    });
  }

  private enter(
    found: Found,
    how: Continuation,
    { reason, outcome }: { readonly reason: GatewayError; readonly outcome: RequestOutcome | null },
  ): void {
    if (found.kind === 'failed') this.finish(reason, outcome);
    else if (this.isOver) found.upstream.destroy();
    else {
      if (how.resends !== 'no' && this.following.tracker.outstanding) this.options.onRepeat(true);
      this.goOn(found.upstream, found.place, () => this.following.goOn(found.session, how));
    }
  }

  private goOn(upstream: Duplex, place: Place, resume: () => ReturnType<Following['goOn']>): void {
    this.state = 'open';
    this.hasMoved = true;
    this.place = place;
    this.following.ids.isElsewhere = place.kind === 'at';
    this.upstream = upstream;
    this.fromUpstream = this.intakeOf(upstream);
    // What the old one did not take is not waited for.
    this.fromClient.resume('full');
    const { client, upstream: requests } = resume();
    this.tell(client);
    this.listenToUpstream(upstream);
    this.sendOn(requests);
    upstream.resume();
    this.fromClient.resume('waiting');
    if (this.clientEnded) {
      this.fromClient.flush();
      upstream.end();
    }
    this.awaitAnswers();
    this.onService(this.options.service.service());
  }

  private get isOver(): boolean {
    return this.state !== 'moving';
  }

  /** There is no other upstream for it. */
  private finish(reason: GatewayError, outcome: RequestOutcome | null): void {
    if (this.isOver) return;
    if (outcome !== null) this.close(wordsAfter(this.situation, outcome, reason));
    else this.end(reason);
  }

  // ------------------------------------------------------------------------------------------------------------ the end

  private get situation(): Omit<Situation, 'doubt'> {
    const { tracker, reader, answer } = this.following;
    return { tracker, told: reader, answer };
  }

  /** Tells the client what is true; if that is not known, finds it out first, or, with `atOnce`, says that it is unknown. */
  end(reason: GatewayError, { atOnce = false } = {}): void {
    if (this.state === 'closed' || (this.state === 'asking' && !atOnce)) return;
    const words = farewell({ ...this.situation, doubt: this.following.known.doubt }, reason);
    if (words.kind === 'words') this.close(words.bytes);
    else if (atOnce) this.close([errorResponse('FATAL', errors.outcomeUnknown(reason.message))]);
    else {
      this.state = 'asking';
      this.upstream.destroy();
      void this.ask(words.doubt).then((outcome) => {
        if (this.state === 'asking') this.close(wordsAfter(this.situation, outcome, reason));
      });
    }
  }

  private close(words: readonly Buffer[]): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.stopGrace();
    this.following.close();
    this.functions.stop();
    this.upstream.destroy();
    this.fromClient.drop();
    this.fromUpstream.drop();
    this.over.abort();
    if (!this.client.destroyed) this.options.onWords(words);
    closeWithWords(this.client, words, this.options.limits.lastWordsMs);
  }

  // ---------------------------------------------------------------------------------------------------------- bytes pass

  private intakeOf(upstream: Duplex): Intake {
    return new Intake(upstream, this.options.share, (piece) => {
      if (upstream === this.upstream) this.onUpstream(piece);
    });
  }

  private onUpstream(chunk: Buffer): void {
    if (this.state !== 'open') return;
    const { reader } = this.following;
    try {
      const views = reader.read(chunk);
      if (this.greeting === null) this.hear(views);
      else this.greet(this.greeting, views);
    } catch (error) {
      this.close(reader.atBoundary ? [errorResponse('FATAL', errors.internalError(error))] : []);
      return;
    }
    if (reader.isOver) this.lose(errors.leaderWentAway);
  }

  private hear(views: readonly Buffer[]): void {
    this.heard = true;
    this.tell(views);
    this.awaitAnswers();
  }

  private greet(greeting: Buffer[], views: readonly Buffer[]): void {
    greeting.push(...views);
    const { isLoggedIn, reader } = this.following;
    const bytes = greeting.reduce((sum, { length }) => sum + length, 0);
    if (!isLoggedIn && !reader.saidFatal && bytes <= greetingBytesMax) return;
    this.greeting = null;
    this.hear(greeting);
  }

  private tell(views: readonly Buffer[]): void {
    const { client } = this;
    if (client.destroyed || client.writableEnded) return;
    let room = true;
    if (views.length > 1) client.cork();
    for (const view of views) room = client.write(view);
    if (views.length > 1) client.uncork();
    if (room) return;
    this.fromUpstream.pause('full');
    this.hurry();
  }

  private onClient(chunk: Buffer): void {
    if (this.state !== 'open') return;
    if (this.greeting !== null) {
      this.tell(this.greeting);
      this.greeting = null;
    }
    try {
      this.sendOn(this.following.sent(chunk));
      if (this.client.writableNeedDrain) this.hurry();
      this.awaitAnswers();
    } catch (error) {
      const told = errors.protocolViolation(error instanceof Error ? error.message : String(error));
      this.close(this.following.reader.atBoundary ? [errorResponse('FATAL', told)] : []);
    }
  }

  /** Sockets hold megabytes: what a client sends and does not read the answers of is left there, and not worked off. PostgreSQL ignores a Sync among the data of a COPY, and never answers it. */
  private awaitAnswers(): void {
    const { due, isTaking } = this.following.tracker.owed;
    const max = this.options.limits.unansweredMax;
    if (due > max && !isTaking) this.fromClient.pause('answers');
    else if (due <= max / 2 || isTaking) this.fromClient.resume('answers');
  }

  /** The client does not read, so no id is read either: its change does not wait for that, and holds no locks meanwhile. */
  private hurry(): void {
    if (this.state === 'open') this.sendOn(this.following.takeWithheld());
  }

  private sendOn(views: readonly Buffer[]): void {
    let room = true;
    for (const view of views) room = this.upstream.write(view);
    if (!room) this.fromClient.pause('full');
  }

  /** The upstream has closed the connection, or it broke. */
  private onUpstreamGone(): void {
    if (this.state !== 'open') return;
    const { tracker, reader } = this.following;
    if (tracker.terminated || this.clientEnded || reader.saidFatal) this.close([]);
    else this.lose(errors.leaderWentAway);
  }

  private listenToUpstream(upstream: Duplex): void {
    const ifCurrent = (act: () => void) => (): void => {
      if (upstream === this.upstream) act();
    };
    const intake = this.fromUpstream;
    upstream.on('data', (chunk: Buffer) => {
      if (upstream === this.upstream) intake.add(chunk);
    });
    upstream.on(
      'drain',
      ifCurrent(() => this.fromClient.resume('full')),
    );
    // What is wrong shows in that the connection closes.
    upstream.on('error', () => {});
    upstream.on('end', () => {
      ifCurrent(() => intake.flush())();
      upstream.destroy();
    });
    upstream.on(
      'close',
      ifCurrent(() => {
        intake.flush();
        this.onUpstreamGone();
      }),
    );
  }

  private onClientEvent(event: string, listener: (chunk: Buffer) => void): void {
    this.client.on(event, listener);
    this.clientListeners.push([event, listener]);
  }

  private listenToClient(): void {
    this.onClientEvent('data', (chunk: Buffer) => {
      this.heard = true;
      this.fromClient.add(chunk);
    });
    this.onClientEvent('drain', () => this.fromUpstream.resume('full'));
    this.onClientEvent('end', () => {
      this.clientEnded = true;
      this.following.asksNothing = true;
      if (this.state !== 'open') return;
      this.fromClient.flush();
      this.sendOn(this.following.takeWithheld());
      this.upstream.end();
    });
    this.onClientEvent('close', () => {
      // What it has sent PostgreSQL does, whether or not anybody waits for the answer.
      if (this.state === 'open') this.fromClient.flush();
      if (this.state === 'open') this.sendOn(this.following.takeWithheld());
      this.close([]);
    });
  }
}

/** What the leader itself has said became of the transaction that was under way. */
function toldOutcome({ said, tracker }: Following): RequestOutcome | null {
  if (said === 'committed') return { code: 'committed', tag: null };
  return said === 'notCommitted' && tracker.verdict !== 'nothing' ? { code: 'notCommitted' } : null;
}
