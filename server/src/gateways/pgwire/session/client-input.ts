/**
 * Reads along in what a client of the leader sends: for the tracker, and for mentions of settings that concern the gateway.
 *
 * Responsible for: looking at every byte of it before it is passed on. Passes nothing on itself. COPY data is not searched.
 * What belongs to a COPY at the beginning of a chunk, and Syncs there, count as messages of before: PostgreSQL may be waiting for them.
 * Invariant: a mention is reported with the chunk in which it becomes complete, however it is spread over chunks.
 */
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import { bothMentions, type Mention, mentionIn, mentions, PieceSearch } from '../codec/mentions.ts';
import { front } from '../../../pgwire/message-types.ts';
import { nothingWatched } from '../kept/function-looks.ts';
import { JudgedTexts } from '../kept/judged-texts.ts';
import { customSettings, nameCharsMax, namesMax, setsCustom, setsUnnamed } from '../kept/telling-text.ts';
import { PreparedTexts } from './prepared-texts.ts';
import type { RequestTracker } from './request-tracker.ts';

export class ClientInput {
  /** Where in the chunk that was read last the first message begins that is not of a COPY; its length if none does. */
  boundary = 0;
  /** How many ReadyForQuery messages come before that message's own, counted from the beginning of the session. */
  position = 0;
  /** Before that message the last thing was a BEGIN, and its answer. */
  hasJustBegun = false;
  /** That chunk completes a mention of `barista.request_id` in a message that began in an earlier one. */
  mentionsBeforeBoundary = false;

  /** Custom settings that the session may have; null: they cannot be told. */
  customSettings: Set<string> | null = new Set();

  /** By functions of the database: those may set custom settings, too. */
  readonly judged = new JudgedTexts(nothingWatched);

  readonly texts = new PreparedTexts();

  private readonly splitter: FrameSplitter;
  private readonly tracker: RequestTracker;
  private readonly frameBytesMax: number;
  private pieces: PieceSearch | null = null;
  /** The end of the piece before. */
  private tail = '';

  constructor(tracker: RequestTracker, frameBytesMax: number) {
    this.tracker = tracker;
    this.frameBytesMax = frameBytesMax;
    this.splitter = new FrameSplitter(frameBytesMax);
  }

  /** Between two messages. */
  get atBoundary(): boolean {
    return this.splitter.atBoundary;
  }

  /** @throws ProtocolViolation */
  read(chunk: Buffer): Mention | null {
    const { splitter, tracker } = this;
    let mention: Mention | null = null;
    /** Whole messages that have text are searched together. */
    let from = -1;
    let to = 0;
    let hasNames = false;
    this.boundary = chunk.length;
    this.mentionsBeforeBoundary = false;
    splitter.feed(chunk);
    while (splitter.next()) {
      if (splitter.first && this.boundary === chunk.length && !isOfCopy(splitter.type)) {
        this.boundary = splitter.start;
        this.position = tracker.owed.position;
        this.hasJustBegun = tracker.hasJustBegun;
      }
      tracker.sent(splitter, chunk);
      if (splitter.first) this.noteText(chunk);
      if (!hasText(splitter.type)) continue;
      if (!splitter.first || !splitter.last) mention = bothMentions(mention, this.searchPiece(chunk));
      else {
        if (from < 0) from = splitter.payload;
        to = splitter.end;
        hasNames ||= splitter.type !== front.bind;
        // Any function.
        if (this.isByNumber) this.customSettings = null;
      }
    }
    if (from < 0) return mention;
    const text = chunk.toString('latin1', from, to);
    if (this.customSettings !== null) this.noteSettings(text, hasNames, this.customSettings);
    if (!mentions(text)) return mention;
    return bothMentions(mention, this.searchWhole(chunk));
  }

  private noteText(chunk: Buffer): void {
    const { type, payload, end, last } = this.splitter;
    if (type !== front.parse && type !== front.close) return;
    const message = { bytes: chunk, from: payload, to: end, isWhole: last };
    if (type === front.parse) this.texts.parse(message);
    else this.texts.close(message);
  }

  private searchPiece(chunk: Buffer): Mention | null {
    const { payload, end, first, last } = this.splitter;
    this.pieces ??= new PieceSearch();
    const piece = chunk.toString('latin1', payload, end);
    // A name may be spread over two pieces.
    const { customSettings: known } = this;
    if (known !== null && (setsCustom(piece) || this.callsHiding(this.tail + piece) || this.isByNumber))
      this.customSettings = null;
    this.tail = last ? '' : piece.slice(-nameCharsMax);
    const mention = this.pieces.look(piece);
    if (!first && mention?.request === true) this.mentionsBeforeBoundary = true;
    if (last) this.pieces = null;
    return mention;
  }

  private get isByNumber(): boolean {
    return this.splitter.type === front.functionCall && this.judged.telling?.any.hides !== false;
  }

  /** A function that it names may set what has a name that is not known. */
  private callsHiding(text: string): boolean {
    this.judged.sent();
    return this.judged.hidesIn(text);
  }

  /** `hasNames`: it names functions, and has not only values. */
  private noteSettings(text: string, hasNames: boolean, known: Set<string>): void {
    if (this.callsHiding(hasNames ? text : '')) this.customSettings = null;
    else if (setsCustom(text)) this.noteCustom(text, known);
  }

  private noteCustom(text: string, known: Set<string>): void {
    const names = customSettings(text);
    if (names === null || names.length + known.size > namesMax || setsUnnamed(text))
      this.customSettings = null;
    else for (const name of names) known.add(name);
  }

  /** Something is mentioned: in which messages, each by itself? */
  private searchWhole(chunk: Buffer): Mention | null {
    let mention: Mention | null = null;
    const again = new FrameSplitter(this.frameBytesMax);
    const bytes = chunk.subarray(this.boundary);
    again.feed(bytes);
    while (again.next()) {
      if (!again.last || !hasText(again.type)) continue;
      mention = bothMentions(mention, mentionIn(bytes.toString('latin1', again.payload, again.end)));
    }
    return mention;
  }
}

function isOfCopy(type: number): boolean {
  return (
    type === front.copyData ||
    type === front.copyDone ||
    type === front.copyFail ||
    type === front.sync ||
    type === front.flush
  );
}

function hasText(type: number): boolean {
  return type === front.query || type === front.parse || type === front.bind || type === front.functionCall;
}
