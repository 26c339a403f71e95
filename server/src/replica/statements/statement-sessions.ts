/**
 * Sessions that exist at every replica, for the gateways of this one: what a client wants is made deterministic, given to whoever proposes, and answered with what this replica's own PostgreSQL said when it was its turn.
 *
 * Responsible for: the clock and the seed that an operation carries, its number, and what the client hears where it is not ordered. Invariant: what is not deterministic is never submitted.
 */
import { errorResponse, readyForQuery } from '../../pgwire/backend-messages.ts';
import { FrameSplitter } from '../../pgwire/frame-splitter.ts';
import { back, type TransactionStatus } from '../../pgwire/message-types.ts';
import type { OperationResult } from '../../payload/statements/executor.ts';
import { encodeOperation, keyOf, processIdOf, type Operation } from '../../payload/statements/operation.ts';
import type { Prepared, RequestPreparation } from '../../determinism/preparation.ts';
import type { FindLogin } from '../../ports/client-service.ts';
import type {
  OpenAnswer,
  RequestAnswer,
  SessionId,
  SessionOpening,
  StatementSessions,
} from '../../ports/statement-sessions.ts';
import type { EarlierSessions } from './earlier-sessions.ts';
import { levelOf, type LevelRules, SessionLevel } from './session-level.ts';
import type { Submissions } from './submissions.ts';

export interface SessionsOptions {
  readonly submissions: Submissions<OperationResult>;
  readonly preparation: () => RequestPreparation;
  /** Null: sessions are served here. */
  readonly whyNot: () => string | null;
  /** Null: nor does anything keep new ones out. */
  readonly whyNoMore: () => string | null;
  /** None is opened before. */
  readonly earlier: Pick<EarlierSessions, 'isOver' | 'whenOver'>;
  readonly findLogin: FindLogin;
  readonly reservedUsers: readonly string[];
  /** Null: no primary orders, and no session has a level. */
  readonly levels: LevelRules | null;
  /** The client wants the end of what its session is at: a request that lasts. */
  readonly onCancel: (session: SessionId) => void;
  /** What the names of its sessions begin with (session-sweep.ts). */
  readonly prefix: string;
  readonly randomBytes: (count: number) => Buffer;
  /** Microseconds since 1970. */
  readonly clockUs: () => number;
}

interface LocalSession {
  readonly preparation: RequestPreparation;
  readonly onNotified: (message: Buffer) => void;
  /** Where its client has heard notifications, the last `heardMax`. */
  readonly heard: number[];
  /** So many come again, and were heard. */
  heardAgain: number;
  readonly level: SessionLevel;
  status: TransactionStatus | 'closed';
  /** Its client hears this, and that it is over. */
  endReason: string | null;
}

/** Its value has a meaning of its own. */
const acknowledgeName = 'barista.acknowledge';
const sessionBytes = 16;
const seedBytes = 16;
const heardMax = 10_000;

export class ReplicaSessions implements StatementSessions {
  readonly findLogin: FindLogin;
  readonly reservedUsers: readonly string[];
  readonly hasLevels: boolean;
  private readonly options: SessionsOptions;
  /** Those that were opened here, or asked for here since. */
  private readonly sessions = new Map<SessionId, LocalSession>();

  constructor(options: SessionsOptions) {
    this.options = options;
    this.findLogin = options.findLogin;
    this.reservedUsers = options.reservedUsers;
    this.hasLevels = options.levels !== null;
  }

  /** Whose clients are here. */
  get count(): number {
    return this.sessions.size;
  }

  whyNot(): string | null {
    return this.options.whyNot() ?? this.options.whyNoMore();
  }

  async open(
    { user, database, parameters, settings = [], acknowledge }: SessionOpening,
    onNotified: (message: Buffer) => void,
  ): Promise<OpenAnswer> {
    const { randomBytes, clockUs, prefix, levels, earlier } = this.options;
    await earlier.whenOver();
    if (!earlier.isOver)
      return {
        code: 'refused',
        reason: 'sessions of an earlier life of this replica are not closed yet',
        session: '' as SessionId,
        processId: 0,
      };
    const drawn = randomBytes(sessionBytes).toString('hex');
    const session = `${prefix}${drawn.slice(prefix.length)}` as SessionId;
    const processId = processIdOf(session);
    const preparation = this.options.preparation();
    const begun = acknowledge === undefined || levels === null ? null : levelOf(acknowledge, levels);
    if (begun !== null && typeof begun !== 'string')
      return { code: 'answered', bytes: errorResponse('FATAL', begun), ended: true, session, processId };
    for (const [name, value] of settings) {
      const error = name === acknowledgeName ? null : preparation.refusalOf(name, value);
      if (error !== null)
        return { code: 'answered', bytes: errorResponse('FATAL', error), ended: true, session, processId };
    }
    const answer = await this.submit({
      kind: 'open',
      session,
      user,
      database,
      parameters,
      clockUs: clockUs(),
    });
    if (answer.code === 'answered' && !answer.ended) {
      preparation.answered(answer.bytes);
      const level = new SessionLevel(levels, begun);
      this.sessions.set(session, {
        preparation,
        onNotified,
        heard: [],
        heardAgain: 0,
        level,
        status: 'I',
        endReason: null,
      });
    }
    return { ...answer, session, processId };
  }

  async request(session: SessionId, seq: number, bytes: Buffer): Promise<RequestAnswer> {
    const known = this.sessions.get(session);
    if (known === undefined) return { code: 'refused', reason: 'the session is not known here' };
    if (known.endReason !== null) {
      const error = { sqlState: '57P01', message: 'the session is ended', detail: known.endReason };
      return { code: 'answered', bytes: errorResponse('FATAL', error), ended: true };
    }
    const read = known.preparation.prepare(bytes);
    if (read.code === 'wantsData') return read;
    const change = changeOf(known, read);
    const prepared: Exclude<Prepared, { code: 'wantsData' }> =
      change === null || 'level' in change
        ? read
        : { code: 'refused', error: change, failing: known.preparation.failing(change) };
    if (prepared.code === 'refused' && known.status !== 'T') {
      const status = known.status === 'E' ? 'E' : 'I';
      return {
        code: 'answered',
        bytes: Buffer.concat([errorResponse('ERROR', prepared.error), readyForQuery(status)]),
        ended: false,
      };
    }
    const { randomBytes, clockUs } = this.options;
    const answer = await this.submit({
      kind: 'request',
      session,
      seq,
      what: prepared.code === 'prepared' ? prepared.what : 'execute',
      bytes: prepared.code === 'prepared' ? prepared.bytes : prepared.failing,
      clockUs: clockUs(),
      seed: randomBytes(seedBytes),
      ...(prepared.code === 'prepared' && !prepared.isCompared ? { isCompared: false as const } : {}),
      ...(known.level.now === null ? {} : { level: known.level.now }),
    });
    if (change !== null && 'level' in change) {
      if (answer.code === 'unknown') known.level.perhaps(change.level);
      if (answer.code === 'answered' && !hasFailed(answer.bytes)) known.level.now = change.level;
    }
    if (answer.code !== 'answered') return answer;
    known.preparation.answered(answer.bytes);
    return prepared.code === 'prepared' ? { ...answer, bytes: prepared.answer(answer.bytes) } : answer;
  }

  private async submit(
    operation: Extract<Operation, { kind: 'open' | 'request' }>,
  ): Promise<Exclude<RequestAnswer, { code: 'wantsData' }>> {
    const why = this.options.whyNot();
    if (why !== null) return { code: 'refused', reason: why };
    const submitted = await this.options.submissions.submit(keyOf(operation), encodeOperation(operation));
    if (submitted.code !== 'executed') return submitted;
    const { answer, status } = submitted.result;
    const known = this.sessions.get(operation.session as SessionId);
    if (known !== undefined) known.status = status;
    return { code: 'answered', bytes: answer, ended: status === 'closed' };
  }

  /** `at`: a slot, or between two. What is executed again tells its notifications again, in the same order. */
  notified(session: SessionId, message: Buffer, at: number): void {
    const known = this.sessions.get(session);
    if (known === undefined) return;
    if (known.heardAgain > 0) {
      known.heardAgain -= 1;
      return;
    }
    if (known.heard.length === heardMax) known.heard.splice(0, heardMax / 2);
    known.heard.push(at);
    known.onNotified(message);
  }

  /** What comes behind the slot is executed again, as far as it was before. */
  goesOnFrom(slot: number): void {
    for (const session of this.sessions.values())
      session.heardAgain = session.heard.filter((at) => at > slot).length;
  }

  cancel(session: SessionId): void {
    if (!this.sessions.has(session)) return;
    this.options.onCancel(session);
    this.tell({ kind: 'cancelOpen', session });
  }

  close(session: SessionId): void {
    if (this.sessions.delete(session)) this.closeLeft(session);
  }

  /** What its clients have been told may be wrong: none of them goes on. */
  endAll(reason: string): void {
    for (const session of this.sessions.values()) session.endReason = reason;
    this.options.submissions.giveUpAll(reason);
  }

  hasClient(session: string): boolean {
    return this.sessions.has(session as SessionId);
  }

  /** Nobody uses it. `ifSeq`: unless a request has come behind that one. */
  closeLeft(session: string, ifSeq?: number): void {
    this.tell(ifSeq === undefined ? { kind: 'close', session } : { kind: 'close', session, ifSeq });
  }

  /** Nobody waits for it. */
  private tell(operation: Operation): void {
    if (this.options.submissions.has(keyOf(operation))) return;
    void this.options.submissions.submit(keyOf(operation), encodeOperation(operation));
  }
}

/** Of the session's level; null: it stays. */
function changeOf(
  { level, status }: LocalSession,
  prepared: Prepared,
): ReturnType<SessionLevel['after']> | null {
  if (prepared.code !== 'prepared' || prepared.acknowledge === null) return null;
  return level.after(prepared.acknowledge, status !== 'I');
}

function hasFailed(answer: Buffer): boolean {
  const splitter = new FrameSplitter(answer.length + 1);
  splitter.feed(answer);
  while (splitter.next()) if (splitter.type === back.errorResponse) return true;
  return false;
}
