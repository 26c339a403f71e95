/**
 * A session that names its transactions (`barista.request_id`): a transaction that is repeated under its name takes effect once.
 *
 * Responsible for: when a session is looked at message by message, and handing the messages on (named-requests.ts). That begins when it mentions the setting, and bytes pass by again as soon as its name is
 * used up. Sessions that never mention it have none of this.
 * Invariants: it begins only when nothing that was sent before is unanswered, so that it is known what state the session is in; no message of the client is lost or overtakes another.
 */
import type { ClientService } from '../../../../ports/client-service.ts';
import type { GatewayError } from '../../../../pgwire/backend-messages.ts';
import type { Doubt } from '../../codec/doubt-frame.ts';
import { FrameGatherer } from '../../../../pgwire/frame-gatherer.ts';
import { FrameSplitter } from '../../../../pgwire/frame-splitter.ts';
import { front } from '../../../../pgwire/message-types.ts';
import * as errors from '../../errors.ts';
import type { PgwireLimits } from '../../limits.ts';
import type { AnswerReader, AnswerVisitor } from '../answer-reader.ts';
import type { Told } from '../outbox.ts';
import type { RequestTracker } from '../request-tracker.ts';
import { Attempt } from './attempt.ts';
import { FlightAnswers } from './flight-answers.ts';
import { type MessageMentions, messageMentions, NameInForce } from './name-in-force.ts';
import { NamedRequests } from './named-requests.ts';
import type { NamedWire } from './named-wire.ts';
import type { RequestDatabases } from './request-databases.ts';

export interface NamedSessionOptions {
  readonly tracker: RequestTracker;
  readonly answers: AnswerReader;
  readonly limits: PgwireLimits;
  readonly service: Pick<ClientService, 'leadership'>;
  readonly databases: RequestDatabases;
  readonly database: string;
  readonly generation: number;
  /** Settings that PostgreSQL has reported, as they are now. */
  readonly reported: ReadonlyMap<string, string>;
  /** Digests of what the client has prepared so far (session/prepared-texts.ts). */
  readonly texts: () => Map<string, string | null>;
  /** ReadyForQuery messages that PostgreSQL has sent and the client has not been told. */
  readonly untold: () => number;
  /** To PostgreSQL. */
  readonly send: (bytes: Buffer) => void;
  /** To the client, when it may leave. */
  readonly emit: (bytes: Buffer, told: Told) => void;
  /** ReadyForQuery is about to be emitted. `isBare`: no answer was, before it. */
  readonly ready: (isBare: boolean) => void;
  readonly learn: (doubt: Doubt) => void;
  readonly isInDoubt: () => boolean;
  /** The client must wait, or may go on. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Ends the session. */
  readonly fail: (error: GatewayError) => void;
}

/**
 * `off`: bytes pass. `draining`: what was sent before is being answered. `preparing`: the functions are being made in the database. `on`: message by message.
 */
type State = 'off' | 'draining' | 'preparing' | 'on';

export class NamedSession {
  private readonly options: NamedSessionOptions;
  private readonly name = new NameInForce();
  private readonly attempt: Attempt;
  private readonly answers: FlightAnswers;
  private requests: NamedRequests | null = null;
  private state: State = 'off';
  /** The startup packet may give a name, which DISCARD ALL brings back. */
  private isNamedAtStart = false;
  /** What has passed of the transaction that is open is one BEGIN, if one is. */
  private hasJustBegun = false;
  /** What the client has sent and nobody has looked at. */
  private chunks: Buffer[] = [];
  private chunk: Buffer = Buffer.alloc(0);
  private splitter: FrameSplitter;
  private readonly gatherer: FrameGatherer;
  /** A message that must wait until something is answered. */
  private waiting: { readonly frame: Buffer; readonly mentions: MessageMentions | null } | null = null;
  private clientEnded: (() => void) | null = null;

  constructor(options: NamedSessionOptions) {
    this.options = options;
    this.attempt = new Attempt(options.reported);
    this.answers = new FlightAnswers(options);
    this.splitter = new FrameSplitter(options.limits.frameBytesMax);
    this.gatherer = new FrameGatherer(options.limits.namedFrameBytesMax);
  }

  /** Who takes PostgreSQL's answers apart; null while they pass. */
  get visitor(): AnswerVisitor | null {
    return this.state === 'on' ? this.answers : null;
  }

  /** Something in the startup packet: there is nothing to look at yet. */
  mentioned(): void {
    this.isNamedAtStart = true;
    this.name.mentioned();
  }

  /** A message that has passed already, in whole or in part. */
  mentionedUnseen(): void {
    this.name.mentionedUnseen();
  }

  /**
   * `boundary`: where the first message in the chunk begins that is looked at. `position`: how many answers come before its own, counted from the beginning of the session. `hasJustBegun`: the last of them was that to a BEGIN.
   */
  fromClient(
    chunk: Buffer,
    about: {
      readonly boundary: number;
      readonly position: number;
      readonly hasJustBegun: boolean;
      readonly mentions: boolean;
    },
  ): void {
    const { boundary, position, hasJustBegun, mentions } = about;
    if (this.state !== 'off') {
      this.chunks.push(chunk);
      this.proceed();
      return;
    }
    if (!mentions && !this.name.needsCare) {
      this.options.send(chunk);
      return;
    }
    if (boundary > 0) this.options.send(chunk.subarray(0, boundary));
    if (boundary === chunk.length) return;
    this.chunks.push(chunk.subarray(boundary));
    this.splitter = new FrameSplitter(this.options.limits.frameBytesMax);
    this.hasJustBegun = hasJustBegun;
    this.options.pause();
    const { owed } = this.options.tracker;
    owed.awaitUpTo(position);
    if (owed.isTaking) this.violated();
    else if (owed.miscounts) this.options.fail(errors.namedTransactionHidden);
    else if (this.isDrained) void this.prepare();
    else this.state = 'draining';
  }

  /** PostgreSQL takes COPY data, and the client has sent another message before it has ended them. */
  copyBeganUnended(): void {
    if (this.state === 'draining') this.violated();
  }

  /** A chunk of PostgreSQL's answers has been read. */
  answered(): void {
    if (this.state === 'on') this.proceed();
    else if (this.state === 'draining' && this.isDrained) void this.prepare();
  }

  /** The client will send nothing more. Calls back when what it has sent is with PostgreSQL. */
  ended(done: () => void): void {
    this.clientEnded = done;
    if (this.state === 'off') done();
    else this.proceed();
  }

  private get isDrained(): boolean {
    return this.options.tracker.owed.dueAhead <= this.options.untold();
  }

  private violated(): void {
    this.options.fail(errors.protocolViolation('another message during COPY from stdin'));
  }

  private async prepare(): Promise<void> {
    this.state = 'preparing';
    const { databases, database, generation } = this.options;
    try {
      await databases.ready(database, generation);
    } catch (error) {
      this.options.fail(errors.requestsUnavailable(error));
      return;
    }
    this.requests = this.createRequests();
    if (this.options.answers.status !== 'I' && !this.hasJustBegun) this.attempt.blur();
    this.state = 'on';
    this.proceed();
  }

  private createRequests(): NamedRequests {
    const { tracker, answers, fail } = this.options;
    return new NamedRequests({
      wire: this.createWire(),
      prepared: tracker.prepared.copy(),
      portals: tracker.portals.copy(),
      texts: this.options.texts(),
      rules: () => tracker.rules,
      status: () => answers.status,
      refuse: () => fail(errors.namedTransactionHidden),
      violated: () => this.violated(),
    });
  }

  private createWire(): NamedWire {
    const { send, learn, fail, databases, database, generation, service } = this.options;
    return {
      answers: this.answers,
      name: this.name,
      attempt: this.attempt,
      send: (...messages) => send(messages.length === 1 ? messages[0]! : Buffer.concat(messages)),
      learn: ({ owner, name }) => {
        const leadership = service.leadership(generation);
        if (leadership !== null) learn({ kind: 'request', request: { database, owner, name }, leadership });
      },
      used: () => databases.used(database, generation),
      fail,
      missing: () => databases.forget(database),
    };
  }

  /** Hands on what can be handed on. */
  private proceed(): void {
    const { requests } = this;
    if (this.state !== 'on' || requests === null) return;
    while (this.handOn(requests));
    if (this.clientEnded !== null && this.isDone(requests)) this.clientEnded();
    if (this.waiting !== null) {
      this.options.pause();
      return;
    }
    this.options.resume();
    if (requests.isIdle && this.splitter.atBoundary && !this.name.needsCare) this.state = 'off';
  }

  /** Of what a client has sent that sends nothing more, PostgreSQL has all that it can get. Data that do not come would be awaited for ever, with all locks held. */
  private isDone(requests: NamedRequests): boolean {
    return this.waiting === null ? requests.mayEnd : this.answers.takesData;
  }

  /** Nothing is under way. */
  private begins(): void {
    const { status } = this.options.answers;
    this.attempt.begins(status, this.name);
    if (status === 'I') this.name.outsideOfTransaction();
  }

  private taken(mentions: MessageMentions, requests: NamedRequests): void {
    const { type, kind, executes, prepares, discardsAll } = mentions;
    this.name.taken(mentions);
    if (prepares) requests.forgetTexts();
    if (type === front.parse || type === front.bind) return;
    if (executes) this.attempt.blur();
    if (kind !== 'asks') this.attempt.altered();
    // A pooler hands the session to another client, or another name is given.
    const isAsNew = discardsAll && this.options.answers.status === 'I' && !this.isNamedAtStart;
    if (isAsNew) this.attempt.cleared();
  }

  /** False if nothing can be handed on now. */
  private handOn(requests: NamedRequests): boolean {
    if (this.waiting !== null) {
      const { frame, mentions } = this.waiting;
      if (requests.isIdle) this.begins();
      this.name.note(mentions);
      if (!requests.take(frame)) return false;
      if (mentions !== null) this.taken(mentions, requests);
      this.waiting = null;
    }
    if (!this.splitter.next()) {
      const chunk = this.chunks.shift();
      if (chunk === undefined) return false;
      this.chunk = chunk;
      this.splitter.feed(chunk);
      return true;
    }
    const { splitter, chunk } = this;
    if (splitter.type === front.copyData) {
      this.options.send(chunk.subarray(splitter.start, splitter.end));
      return true;
    }
    const frame = this.gatherer.add(splitter, chunk);
    if (frame === null) return true;
    if (frame.readInt32BE(1) + 1 !== frame.length) {
      this.options.fail(errors.namedMessageTooLong(this.options.limits.namedFrameBytesMax));
      return false;
    }
    this.waiting = { frame, mentions: messageMentions(frame) };
    return true;
  }
}
