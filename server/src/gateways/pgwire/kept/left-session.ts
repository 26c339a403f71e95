/**
 * A session of the leader that is left, for its client is to go on with the next leader: what it had is asked of PostgreSQL while that still answers.
 *
 * Responsible for: the question and its answer. Pure but for the listener.
 */
import type { Duplex } from 'node:stream';
import { endsSession, frameOf, readErrorFields } from '../../../pgwire/backend-messages.ts';
import { FrameGatherer } from '../../../pgwire/frame-gatherer.ts';
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import { back, comesAnyTime, front } from '../../../pgwire/message-types.ts';
import { LoginAnswer, type LoginFacts, nothingKnown } from './login-defaults.ts';
import { type ParsedText, StateAnswer, type StateSnapshot } from './state-question.ts';
import { AnswersInTurn } from './upstream-reader.ts';

export interface LeftSession {
  /** The key for CancelRequests that its client was given. */
  readonly key: Buffer | null;
  /** Settings that its client was told of. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly snapshot: StateSnapshot;
  /** Parse messages of its prepared statements, by name. */
  readonly statements: readonly (readonly [string, Buffer])[];
  /** Custom settings that it may have. */
  readonly settingNames: Iterable<string>;
  /** Its client has spoken of what acts elsewhere. */
  readonly spokeOfElsewhere: boolean;
  readonly login: LoginFacts;
  /** The connection to its PostgreSQL. */
  readonly upstream: Duplex;
}

/** Longer rows are of no session that can be moved. */
const rowBytesMax = 1_048_576;

/** Reads the answers to `askLoginLate` and `askState`. */
export class LeavingReader {
  private readonly splitter: FrameSplitter;
  private readonly gatherer = new FrameGatherer(rowBytesMax);
  private readonly answer: AnswersInTurn;
  private readonly onFatal: (message: Buffer) => void;

  /** `onEnd`: null if it could not be found out. `onFatal`: PostgreSQL ends the session, for this reason. */
  constructor(
    frameBytesMax: number,
    onEnd: (snapshot: StateSnapshot | null, login: LoginFacts) => void,
    onFatal: (message: Buffer) => void,
  ) {
    this.onFatal = onFatal;
    this.splitter = new FrameSplitter(frameBytesMax);
    let login = nothingKnown;
    this.answer = new AnswersInTurn([
      new LoginAnswer((found) => {
        login = found;
        return null;
      }),
      new StateAnswer((snapshot) => {
        onEnd(snapshot, login);
        return null;
      }),
    ]);
  }

  /** @throws ProtocolViolation */
  read(chunk: Buffer): void {
    this.splitter.feed(chunk);
    while (this.splitter.next()) {
      const { type } = this.splitter;
      const message = this.gatherer.add(this.splitter, chunk);
      if (message === null || comesAnyTime(type)) continue;
      if (type === back.errorResponse && endsSession(readErrorFields(message))) {
        this.onFatal(Buffer.from(message));
        return;
      }
      this.answer.take(type, message.length < rowBytesMax ? message : null);
    }
  }
}

export function statementsOf({ parsed }: StateSnapshot): readonly (readonly [string, Buffer])[] {
  return [...parsed].map(([name, statement]) => [name, parseFrame(name, statement)] as const);
}

export function parseFrame(name: string, { text, types }: ParsedText): Buffer {
  const head = Buffer.from(`${name}\0${text}\0`, 'latin1');
  const tail = Buffer.alloc(2 + 4 * types.length);
  tail.writeInt16BE(types.length, 0);
  for (const [index, type] of types.entries()) tail.writeUInt32BE(type, 2 + 4 * index);
  return frameOf(front.parse, Buffer.concat([head, tail]));
}
