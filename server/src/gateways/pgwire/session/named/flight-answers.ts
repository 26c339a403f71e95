/**
 * Tells the answers to a client's requests from those to the gateway's own, and gives the client what is for it.
 *
 * Responsible for: the order of flights, and what of each answer passes. What is sent next is decided by whoever sent the flight, when it is done.
 * Invariants: what may come at any time, and what ends the session, always passes, but for an operator's end of a session whose transaction is in doubt: PostgreSQL says no word of that, and may have committed it. Nothing else that answers the
 * gateway's own statements reaches the client.
 */
import {
  commandComplete,
  endsSession,
  type ErrorFields,
  errorResponse,
  firstColumn,
  notice,
  readErrorFields,
  readyForQuery,
  statusOf,
} from '../../../../pgwire/backend-messages.ts';
import { FrameGatherer } from '../../../../pgwire/frame-gatherer.ts';
import type { FrameSplitter } from '../../../../pgwire/frame-splitter.ts';
import { back, comesAnyTime, type TransactionStatus } from '../../../../pgwire/message-types.ts';
import { committedBefore, committedBeforeUntold } from '../../errors.ts';
import type { AnswerVisitor } from '../answer-reader.ts';
import type { Told } from '../outbox.ts';
import type { ClientFlight, Flight, OwnFlight } from './flight.ts';

/** Errors and tags; of what is longer only the beginning is looked at. */
const messageBytesMax = 1_048_576;

const dataTypes: ReadonlySet<number> = new Set([
  back.rowDescription,
  back.dataRow,
  back.copyInResponse,
  back.copyOutResponse,
  back.functionCallResponse,
]);

export interface FlightAnswersOptions {
  readonly emit: (bytes: Buffer, told: Told) => void;
  /** ReadyForQuery is about to be emitted. `isBare`: no answer was, before it. */
  readonly ready: (isBare: boolean) => void;
  /** The client waits to hear what became of a transaction that is known. */
  readonly isInDoubt: () => boolean;
}

export class FlightAnswers implements AnswerVisitor {
  private readonly options: FlightAnswersOptions;
  private readonly flights: Flight[] = [];
  private readonly gatherer = new FrameGatherer(messageBytesMax);
  /** Neighbouring parts of a chunk that pass go together. */
  private passing: { chunk: Buffer; from: number; to: number; begun: boolean; last: boolean } | null = null;
  private saidFatal = false;
  /** PostgreSQL has said something since its last ReadyForQuery, or the client was told something since the one that it was told. */
  private begun = false;
  private told = false;

  constructor(options: FlightAnswersOptions) {
    this.options = options;
  }

  get isIdle(): boolean {
    return this.flights.length === 0;
  }

  /** PostgreSQL waits for COPY data of the client, and for nothing else. */
  get takesData(): boolean {
    const [flight] = this.flights;
    return flight?.kind === 'client' && flight.copy === 'taking';
  }

  /**
   * Whether a Sync (or Flush) of the client belongs to the COPY that is under way: PostgreSQL ignores those that come before the end of the COPY data, and behind that end comes one more,
   * the `last`, if the protocol is the extended one.
   */
  takeInCopy(isSync: boolean): 'no' | 'ignored' | 'last' {
    const [flight] = this.flights;
    if (this.takesData) {
      if (isSync && flight?.kind === 'client') flight.copySyncs += 1;
      return 'ignored';
    }
    if (flight?.kind !== 'client' || !flight.extended || flight.copy === 'none') return 'no';
    if (!isSync) return 'ignored';
    flight.copy = 'none';
    return 'last';
  }

  /** A COPY of the extended protocol has failed, and it is not known whether PostgreSQL has ignored a Sync that was sent before. */
  get endIsUnclear(): boolean {
    const [flight] = this.flights;
    return flight?.kind === 'client' && flight.extended && flight.failed && flight.copySyncs > 0;
  }

  /** The client has ended its COPY data. */
  copyEnded(): void {
    const flight = this.flights.find((one) => one.kind === 'client');
    if (flight === undefined) return;
    if (flight.copy === 'taking') flight.copy = 'ended';
    else flight.dataEnds += 1;
  }

  expect(flight: Flight): void {
    this.flights.push(flight);
  }

  part(part: FrameSplitter, chunk: Buffer): void {
    const [flight] = this.flights;
    if (part.type === back.readyForQuery) {
      if (part.last) this.ready(flight, statusOf(chunk[part.end - 1]!));
      return;
    }
    this.begun ||= !comesAnyTime(part.type);
    if (part.type === back.errorResponse) this.error(flight, part, chunk);
    else if (comesAnyTime(part.type)) this.pass(part, chunk);
    else if (flight === undefined) this.pass(part, chunk);
    else if (flight.kind === 'own') this.ownPart(flight, part, chunk);
    else this.clientPart(flight, part, chunk);
  }

  chunkDone(): void {
    const { passing } = this;
    this.passing = null;
    if (passing === null) return;
    const { chunk, from, to, begun, last } = passing;
    const { saidFatal } = this;
    this.told ||= begun;
    this.options.emit(chunk.subarray(from, to), {
      readies: 0,
      status: 'I',
      begun,
      atBoundary: last,
      saidFatal,
    });
  }

  /** A whole message of the gateway's own, in its turn. */
  say(message: Buffer): void {
    this.chunkDone();
    this.told = true;
    this.options.emit(message, {
      readies: 0,
      status: 'I',
      begun: true,
      atBoundary: true,
      saidFatal: this.saidFatal,
    });
  }

  sayReady(status: TransactionStatus): void {
    this.chunkDone();
    const told = { readies: 1, status, begun: false, atBoundary: true, saidFatal: false };
    this.options.ready(!this.told);
    this.told = false;
    this.options.emit(readyForQuery(status), told);
  }

  /** Where nothing was said before it and the flight is to be answered, it belongs to a Sync of before, which a COPY that failed has not ignored. */
  private ready(flight: Flight | undefined, status: TransactionStatus): void {
    const isBare = !this.begun;
    this.begun = false;
    if (flight === undefined || (isBare && !(flight.kind === 'client' && flight.isBare)))
      this.sayReady(status);
    else if (flight.kind === 'client') this.clientReady(flight, status);
    else {
      this.flights.shift();
      flight.done({ status, row: flight.row, error: flight.error });
    }
  }

  private pass({ start, end, type, last }: FrameSplitter, chunk: Buffer): void {
    const { passing } = this;
    const begun = !comesAnyTime(type);
    if (passing !== null && passing.chunk === chunk && passing.to === start) {
      passing.to = end;
      passing.last = last;
      passing.begun ||= begun;
      return;
    }
    this.chunkDone();
    this.passing = { chunk, from: start, to: end, begun, last };
  }

  private ownPart(flight: OwnFlight, part: FrameSplitter, chunk: Buffer): void {
    const message = this.gatherer.add(part, chunk);
    if (message === null) return;
    if (part.type === back.dataRow) flight.row ??= firstColumn(message);
  }

  private clientPart(flight: ClientFlight, part: FrameSplitter, chunk: Buffer): void {
    switch (part.type) {
      case back.commandComplete:
        this.clientCompletion(flight, part, chunk);
        return;
      case back.parseComplete:
        if (part.last) flight.parsed += 1;
        break;
      case back.bindComplete:
        if (part.last) flight.bound += 1;
        break;
      case back.copyInResponse:
        flight.copy = flight.dataEnds > 0 ? 'ended' : 'taking';
        flight.dataEnds = Math.max(0, flight.dataEnds - 1);
        break;
      default:
    }
    if (dataTypes.has(part.type)) flight.tellsData = true;
    this.showCompletion(flight);
    if (flight.mode !== 'swallow') this.pass(part, chunk);
  }

  private clientReady(flight: ClientFlight, status: TransactionStatus): void {
    this.flights.shift();
    flight.answered();
    if (flight.mode === 'pass') this.sayReady(status);
    flight.done(status);
  }

  private error(flight: Flight | undefined, part: FrameSplitter, chunk: Buffer): void {
    const message = this.gatherer.add(part, chunk);
    const fields = message === null ? null : readErrorFields(message);
    const fatal = fields !== null && endsSession(fields);
    // What became of it is found out when the connection closes.
    if (fatal && isIntervention(fields) && part.first && this.options.isInDoubt()) return;
    this.saidFatal ||= fatal;
    if (flight?.kind === 'client') {
      flight.failed = true;
      if (flight.copy === 'taking') flight.copy = 'ended';
      this.showCompletion(flight);
      if (flight.mode === 'commitBefore' && !fatal) {
        // Something else stands before the COMMIT, and is refused since the transaction was not begun again in earnest.
        if (part.last) this.say(errorResponse('ERROR', committedBeforeUntold));
        return;
      }
    }
    if (flight === undefined || (flight.kind === 'client' && flight.mode !== 'swallow'))
      this.pass(part, chunk);
    else if (message !== null && fatal) this.say(Buffer.from(message));
    else if (flight.kind === 'own') flight.error ??= fields;
  }

  private clientCompletion(flight: ClientFlight, part: FrameSplitter, chunk: Buffer): void {
    if (part.last) flight.completions += 1;
    switch (flight.mode) {
      case 'pass':
      case 'part':
        this.pass(part, chunk);
        return;
      case 'hold': {
        if (part.first) this.showCompletion(flight);
        const message = this.gatherer.add(part, chunk);
        if (message !== null) flight.completion = Buffer.from(message);
        return;
      }
      case 'commitBefore':
        if (!part.last) return;
        this.say(notice(committedBefore));
        this.say(commandComplete('COMMIT'));
        return;
      case 'swallow':
        return;
      default:
        flight.mode satisfies never;
    }
  }

  /** It was not the last one, or something follows it. */
  private showCompletion(flight: ClientFlight): void {
    if (flight.completion !== null) this.say(flight.completion);
    flight.completion = null;
  }
}

/** Somebody has ended the session, or PostgreSQL: not what the client has sent. */
function isIntervention(fields: ErrorFields): boolean {
  return fields.get('C')?.startsWith('57') === true;
}
