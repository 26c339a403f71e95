/**
 * Sessions that their clients use at whichever replica they like: calls are prepared by what is known of the session behind its last one, numbered behind that, and given again where another replica's has come ahead.
 *
 * Invariant: a call is executed only if it was prepared by the settings that the session has at its slot.
 */
import type { Prepared, RequestPreparation } from '../../determinism/preparation.ts';
import type { OperationResult, SessionFacts } from '../../payload/statements/executor.ts';
import { type CallMark, encodeOperation, keyOf, type Operation } from '../../payload/statements/operation.ts';
import { errorResponse, frameOf, readyForQuery } from '../../pgwire/backend-messages.ts';
import { sync } from '../../pgwire/frontend-messages.ts';
import { back } from '../../pgwire/message-types.ts';
import type {
  CallAnswer,
  SessionId,
  SessionOpening,
  SharedCall,
  SharedSession,
  SharedSessions,
} from '../../ports/statement-sessions.ts';
import type { Submissions, Submitted } from './submissions.ts';

export interface SharedSessionsOptions {
  readonly submissions: Pick<Submissions<OperationResult>, 'submit' | 'has'>;
  readonly preparation: () => RequestPreparation;
  /** Null: this replica serves. */
  readonly whyNot: () => string | null;
  /** Null: nor does anything keep new ones out. */
  readonly whyNoMore: () => string | null;
  /** As this replica has executed it so far; null: it knows none. */
  readonly factsOf: (session: SessionId) => SessionFacts | null;
  readonly randomBytes: (count: number) => Buffer;
  /** Microseconds since 1970. */
  readonly clockUs: () => number;
}

/** What the names of such sessions begin with: they are no replica's own (session-sweep.ts). */
export const sharedPrefix = '5ba2ed5e';

const sessionBytes = 16;
const seedBytes = 16;
const nameBytes = 16;
/** Each time, another replica has had one executed. */
const triesMax = 50;

export class ReplicaSharedSessions implements SharedSessions {
  private readonly options: SharedSessionsOptions;
  /** Those whose clients were told something by this replica, and are not known to be over. */
  private readonly used = new Map<SessionId, Shared>();
  /** Those that are to be closed at all replicas, and why. */
  private readonly ended = new Map<SessionId, string>();

  constructor(options: SharedSessionsOptions) {
    this.options = options;
  }

  async open({ user, database, parameters }: SessionOpening): ReturnType<SharedSessions['open']> {
    const { randomBytes, clockUs, whyNoMore } = this.options;
    const why = whyNoMore();
    if (why !== null) return { code: 'refused', reason: why };
    const drawn = randomBytes(sessionBytes).toString('hex');
    const session = `${sharedPrefix}${drawn.slice(sharedPrefix.length)}` as SessionId;
    const submitted = await submit(this.options, {
      kind: 'open',
      session,
      user,
      database,
      parameters,
      clockUs: clockUs(),
    });
    if (submitted.code !== 'executed') return submitted;
    const { answer, status, session: facts } = submitted.result;
    if (status === 'closed') return { code: 'answered', bytes: answer, ended: true };
    return { code: 'opened', session: this.shared(session, facts ?? null) };
  }

  at(id: SessionId): SharedSession {
    return this.shared(id, null);
  }

  /** What their clients have been told here may be wrong: none of them goes on, here or elsewhere. Whoever has what is under way gives it up first. */
  endAll(reason: string): void {
    for (const [id, session] of this.used) {
      session.end(reason);
      this.ended.set(id, reason);
    }
    this.used.clear();
    this.look();
  }

  /** Now and then: closes again what could not be closed. */
  look(): void {
    for (const session of this.ended.keys()) void this.closeEnded(session);
  }

  private async closeEnded(session: SessionId): Promise<void> {
    const operation = { kind: 'close', session } as const;
    const { submissions } = this.options;
    if (submissions.has(keyOf(operation))) return;
    const submitted = await submissions.submit(keyOf(operation), encodeOperation(operation));
    if (submitted.code === 'executed') this.ended.delete(session);
  }

  private shared(id: SessionId, facts: SessionFacts | null): Shared {
    return new Shared(id, this.options, facts, {
      whyEnded: () => this.ended.get(id) ?? null,
      onTold: (session) => this.used.set(id, session),
      onOver: () => this.used.delete(id),
    });
  }
}

/** What a session and those that know all sessions tell each other. */
interface Belonging {
  /** Null: it has not been ended here. */
  readonly whyEnded: () => string | null;
  readonly onTold: (session: Shared) => void;
  /** Nobody here has anything of it any more. */
  readonly onOver: () => void;
}

function submit(
  { whyNot, submissions }: SharedSessionsOptions,
  operation: Operation,
): Promise<Submitted<OperationResult>> {
  const why = whyNot();
  if (why !== null) return Promise.resolve({ code: 'refused', reason: why });
  return submissions.submit(keyOf(operation), encodeOperation(operation));
}

type Failed = Extract<CallAnswer, { code: 'refused' | 'unknown' }>;

class Shared implements SharedSession {
  readonly id: SessionId;
  private readonly options: SharedSessionsOptions;
  private readonly preparation: RequestPreparation;
  /** Null: to be asked for. */
  private facts: SessionFacts | null = null;
  /** Calls were executed that were not prepared here. */
  private hasOthers: boolean;
  private readonly belonging: Belonging;
  /** Its client hears this, and that it is over. */
  private endReason: string | null = null;

  constructor(
    id: SessionId,
    options: SharedSessionsOptions,
    facts: SessionFacts | null,
    belonging: Belonging,
  ) {
    this.id = id;
    this.options = options;
    this.belonging = belonging;
    this.preparation = options.preparation();
    this.hasOthers = facts === null;
    if (facts !== null) this.follow(facts);
  }

  async call(call: SharedCall): Promise<CallAnswer> {
    const answer = await this.tries(call);
    if (answer.code === 'answered' && answer.ended) this.belonging.onOver();
    else if (answer.code !== 'refused') this.belonging.onTold(this);
    return answer;
  }

  end(reason: string): void {
    this.endReason = reason;
  }

  private async tries(call: SharedCall): Promise<CallAnswer> {
    const why = this.endReason ?? this.belonging.whyEnded();
    if (why !== null) {
      const error = { sqlState: '57P01', message: 'the session is ended', detail: why };
      return { code: 'answered', bytes: errorResponse('FATAL', error), ended: true };
    }
    const mark: CallMark = {
      name: call.name ?? this.options.randomBytes(nameBytes).toString('hex'),
      digest: call.digest,
      needs: call.needs,
      isNamed: call.name !== null,
    };
    for (let tries = 0; tries < triesMax; tries += 1) {
      const answer = await this.attempt(call, mark);
      if (answer !== 'superseded') return answer;
    }
    return { code: 'refused', reason: 'other replicas have requests of this session without a pause' };
  }

  async close(): ReturnType<SharedSession['close']> {
    const submitted = await submit(this.options, { kind: 'close', session: this.id });
    if (submitted.code === 'executed') this.belonging.onOver();
    return submitted.code === 'executed' ? { code: 'closed' } : submitted;
  }

  closeIfUnused(): void {
    this.belonging.onOver();
    if (this.facts === null) return;
    const operation = { kind: 'close', session: this.id, ifSeq: this.facts.seq } as const;
    if (!this.options.submissions.has(keyOf(operation))) void submit(this.options, operation);
  }

  private async attempt(call: SharedCall, mark: CallMark): Promise<CallAnswer | 'superseded'> {
    const facts = this.facts ?? (await this.look());
    if ('code' in facts) return facts;
    const prepared = this.prepare(call.bytes, facts.status);
    if (prepared.code === 'wantsData') return { code: 'copies' };
    if (prepared.code === 'refused' && facts.status !== 'T') {
      const bytes = Buffer.concat([errorResponse('ERROR', prepared.error), readyForQuery(facts.status)]);
      return { code: 'answered', bytes, ended: false };
    }
    const isOdd = prepared.code === 'prepared' && !prepared.isCompared;
    const isCompared = call.isCompared !== false && !isOdd && !(this.hasOthers && facts.hadUncompared);
    const submitted = await this.give(facts.seq + 1, mark, {
      what: prepared.code === 'prepared' ? prepared.what : 'execute',
      bytes: prepared.code === 'prepared' ? prepared.bytes : prepared.failing,
      ...(isCompared ? {} : { isCompared: false as const }),
    });
    if (submitted.code !== 'executed') return submitted;
    const { outcome, answer, status } = submitted.result;
    switch (outcome) {
      case 'superseded':
        return outcome;
      case 'unmet':
      case 'differs':
      case 'notKept':
        return { code: outcome };
      case 'executed':
      case 'repeated': {
        const bytes = prepared.code === 'prepared' ? prepared.answer(answer) : answer;
        return { code: 'answered', bytes, ended: status === 'closed' };
      }
      default:
        return outcome satisfies never;
    }
  }

  /** What cannot be done here fails the block that it is in. */
  private prepare(bytes: Buffer, status: SessionFacts['status']): Prepared {
    const prepared = this.preparation.prepare(bytes);
    const isLevel = prepared.code === 'prepared' && prepared.acknowledge?.isAll === false;
    const error = isLevel ? noLevels : prepared.code === 'wantsData' && status === 'T' ? noCopies : null;
    return error === null ? prepared : { code: 'refused', error, failing: this.preparation.failing(error) };
  }

  /** Where the session stands: what this replica knows, or what it has come to when this is executed. */
  private async look(): Promise<SessionFacts | CallAnswer> {
    const known = this.options.factsOf(this.id);
    if (known !== null) {
      this.follow(known);
      return known;
    }
    const name = this.options.randomBytes(nameBytes).toString('hex');
    const mark: CallMark = { name, digest: name, needs: 'any', isNamed: false };
    // By this number nothing is executed.
    const submitted = await this.give(0, mark, { what: 'execute', bytes: sync });
    if (submitted.code !== 'executed') return { code: 'refused', reason: submitted.reason };
    const { answer, session } = submitted.result;
    return session ?? { code: 'answered', bytes: answer, ended: true };
  }

  private async give(
    seq: number,
    call: CallMark,
    request: Pick<Extract<Operation, { kind: 'request' }>, 'what' | 'bytes' | 'isCompared'>,
  ): Promise<Exclude<Submitted<OperationResult>, { code: 'refused' | 'unknown' }> | Failed> {
    const { randomBytes, clockUs } = this.options;
    const submitted = await submit(this.options, {
      kind: 'request',
      session: this.id,
      seq,
      clockUs: clockUs(),
      seed: randomBytes(seedBytes),
      call,
      ...request,
    });
    if (submitted.code !== 'executed') return submitted;
    const { outcome, session, status } = submitted.result;
    if (outcome === 'superseded') this.hasOthers = true;
    if (session !== undefined) this.follow(session);
    else if (status === 'closed') this.facts = null;
    return submitted;
  }

  private follow(facts: SessionFacts): void {
    this.facts = facts;
    const settings = Object.entries(facts.settings).map(([name, value]) =>
      frameOf(back.parameterStatus, Buffer.from(`${name}\0${value}\0`)),
    );
    this.preparation.answered(Buffer.concat(settings));
  }
}

const noLevels = {
  sqlState: '0A000',
  message: 'barista.acknowledge is not followed in sessions that are valid at every replica',
  hint: 'Set primary.replication, or use the SQL protocol.',
};
const noCopies = { sqlState: '0A000', message: 'COPY from the client is not possible here' };
