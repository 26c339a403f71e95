/**
 * One client of the leader and its own PostgreSQL session: takes the client's messages one after another and runs each.
 *
 * Responsible for: the session's life, what of PostgreSQL's answers goes to the client, and how it ends. How statements run is in
 * simple-query.ts and extended-query.ts. Invariant: a session never outlives the leadership (generation) in which it began, but
 * a transaction that has been proposed gets its outcome first.
 */
import type { Socket } from 'node:net';
import { randomBytes } from 'node:crypto';
import type { Agreement } from '../../../ports/agreement.ts';
import type { SessionSql } from '../../../ports/session-sql.ts';
import {
  commandTag,
  errorFromFields,
  errorResponse,
  type GatewayError,
  readErrorFields,
  readParameterStatus,
  readyForQuery,
} from '../codec/backend-messages.ts';
import { terminate } from '../codec/frontend-messages.ts';
import { back, front } from '../codec/message-types.ts';
import { ProtocolViolation } from '../codec/protocol-violation.ts';
import * as errors from '../errors.ts';
import type { PgwireLimits } from '../limits.ts';
import type { SqlParser } from '../sql/parse-sql.ts';
import { type BackendListener, createBackendLink } from './backend-link.ts';
import { type CancelGuard, createCancelGuard } from './cancel-guard.ts';
import { createClientInput } from './client-input.ts';
import { createClientOutput } from './client-output.ts';
import { clientStatus, type Counter, type SessionContext } from './context.ts';
import { createExtendedQuery } from './extended-query.ts';
import { mentionsRequestId } from './request.ts';
import { createPreparedTable } from './prepared-table.ts';
import { runSimpleQuery } from './simple-query.ts';
import { unsafeSetting } from './safety.ts';
import { SessionEnded } from './session-ended.ts';
import type { Step } from './step.ts';

export interface SessionOptions {
  readonly client: Socket;
  /** Connected and authenticated: PostgreSQL has said that it is ready, and the client has been told. */
  readonly backend: Socket;
  /** What has been read of either already. */
  readonly clientBytes: Buffer;
  readonly agreement: Agreement;
  readonly generation: number;
  readonly sessionSql: SessionSql;
  readonly parse: SqlParser;
  readonly limits: PgwireLimits;
  readonly count: (counter: Counter) => void;
  /** The client came through a follower that is told what is being decided. */
  readonly takesDoubts: boolean;
  /** The client named a transaction as it connected. */
  readonly usesRequests: boolean;
}

export interface Session {
  /** Resolves when both connections are closed. */
  readonly done: Promise<void>;
  readonly cancels: CancelGuard;
  /** Ends the session, at once or, if a transaction is being decided, with its outcome. */
  readonly end: (error: GatewayError) => void;
}

/** How long a client may take to read its last words. */
const lastWordsMs = 5_000;

export const startSession = (options: SessionOptions): Session => {
  const { client, backend, agreement, generation } = options;
  let ended = false;
  let lost = false;
  let pendingEnd: GatewayError | null = null;
  /** Why PostgreSQL ends the session, in its own words. */
  let fatal: Buffer | null = null;
  const name = randomBytes(8).toString('hex');
  let transactions = 0;

  /** Closes both connections; the first call decides what the client is told. */
  const close = (lastWords: readonly Buffer[] | null): void => {
    if (ended) return;
    ended = true;
    lost = true;
    context.output.end(lastWords === null || !link.atBoundary ? null : Buffer.concat(lastWords));
    const linger = setTimeout(() => client.destroy(), lastWordsMs);
    client.once('close', () => clearTimeout(linger));
    if (context.deciding) return;
    link.destroy();
  };

  const end = (error: GatewayError): void => {
    lost = true;
    if (context.deciding) {
      pendingEnd ??= error;
      return;
    }
    close([errorResponse('FATAL', error)]);
    input.stop();
  };

  const listener: BackendListener = {
    answer(frame, type, step) {
      if (step === null && type === back.errorResponse) fatal = Buffer.from(frame);
      else onAnswer(context, frame, type, step);
    },
    aside(frame, type, step) {
      if (type === back.parameterStatus) {
        const unsafe = unsafeSetting(readParameterStatus(frame));
        if (unsafe !== null) end(unsafe);
      }
      context.output.aside(shifted(frame, type, step));
    },
    error(frame, error) {
      if (error.fields.get('V') === 'FATAL' || error.fields.get('V') === 'PANIC') {
        fatal = Buffer.from(frame);
        return;
      }
      if (error.step.own && error.step.tells !== true) return;
      if (context.mayRunAgain && error.fields.get('C') === '25006') return;
      context.output.answer(shifted(frame, back.errorResponse, error.step));
    },
    chunkDone: () => context.output.flush(),
    closed(cause) {
      lost = true;
      if (context.deciding) pendingEnd ??= errors.databaseWentAway;
      else close([fatal ?? errorResponse('FATAL', errors.sessionLost(cause))]);
      input.stop();
    },
  };

  const link = createBackendLink({
    socket: backend,
    listener,
    frameBytesMax: options.limits.backendFrameBytesMax,
    streamedFrameBytesMax: options.limits.streamedFrameBytesMax,
  });
  const output = createClientOutput({
    socket: client,
    gate: {
      held: () => agreement.leaseHeld(generation),
      awaitHeld: () => agreement.awaitLease(generation),
    },
    pause: (reason) => link.pause(reason),
    resume: (reason) => link.resume(reason),
    onLeaseLost: () => end(errors.notLeaderAnyMore),
  });
  const input = createClientInput({
    socket: client,
    limits: options.limits,
    onViolation: (error) => end(errors.protocolViolation(error.message)),
    onGone() {
      // A transaction that is being decided is committed for all that: the session ends when that is done.
      if (!context.deciding) close(null);
    },
  });

  const context: SessionContext = {
    link,
    input,
    output,
    agreement,
    generation,
    sessionSql: options.sessionSql,
    parse: options.parse,
    limits: options.limits,
    prepared: createPreparedTable(),
    cancels: createCancelGuard(),
    count: options.count,
    nextTransaction: () => `${name}/${(transactions += 1)}`,
    endWith(error, before = []) {
      context.deciding = false;
      close([...before, errorResponse('FATAL', error)]);
      throw new SessionEnded();
    },
    isLost: () => lost,
    deciding: false,
    block: 'none',
    status: 'I',
    mayRunAgain: false,
    holdsCursor: false,
    takesDoubts: options.takesDoubts,
    usesRequests: options.usesRequests,
    lastTag: null,
    answeredRows: false,
    sentSql: [],
  };

  const run = async (): Promise<void> => {
    try {
      await serve(context, () => {
        if (pendingEnd !== null) end(pendingEnd);
        return ended;
      });
      if (!ended) link.sendRaw(terminate);
    } catch (error) {
      if (!(error instanceof SessionEnded)) {
        context.deciding = false;
        end(violationOrBug(error));
      }
    }
    context.deciding = false;
    close(null);
    link.destroy();
  };

  if (options.clientBytes.length > 0) input.push(options.clientBytes);
  client.resume();
  backend.resume();
  return { done: run(), cancels: context.cancels, end };
};

const violationOrBug = (error: unknown): GatewayError =>
  error instanceof ProtocolViolation
    ? errors.protocolViolation(error.message)
    : { sqlState: 'XX000', message: `internal error of the gateway: ${String(error)}` };

const serve = async (context: SessionContext, isOver: () => boolean): Promise<void> => {
  const extended = createExtendedQuery(context);
  while (!isOver()) {
    const message = context.input.take() ?? (await context.input.next());
    if (message === null || isOver() || message.type === front.terminate) return;
    if (!context.usesRequests && mayHoldText(message.type))
      context.usesRequests = mentionsRequestId(message.bytes);
    switch (message.type) {
      case front.query:
        if (!extended.skipping) await runSimpleQuery(context, message.bytes);
        break;
      case front.parse:
      case front.bind:
      case front.describe:
      case front.execute:
      case front.close:
      case front.flush:
      case front.sync:
        await extended.take(message);
        break;
      case front.functionCall:
        context.output.answer(errorResponse('ERROR', errors.functionCallRefused));
        context.output.ready(readyForQuery(clientStatus(context)));
        break;
      case front.copyData:
      case front.copyDone:
      case front.copyFail:
        break;
      default:
        throw new ProtocolViolation(`invalid frontend message type ${message.type}`);
    }
  }
};

const mayHoldText = (type: number): boolean =>
  type === front.query || type === front.parse || type === front.bind;

/** In our wrapper the last CommandComplete waits for the commit. */
const onAnswer = (context: SessionContext, frame: Buffer, type: number, step: Step | null): void => {
  const { output } = context;
  if (type === back.commandComplete) context.lastTag = commandTag(frame);
  else if (tellsRows.has(type)) context.answeredRows = true;
  if (step !== null && context.block === 'wrapped' && !context.mayRunAgain && type === back.commandComplete) {
    output.release();
    output.hold();
  }
  output.answer(step === null || type !== back.errorResponse ? frame : shifted(frame, type, step));
  if (output.heldBytes <= context.limits.holdBytesMax) return;
  context.mayRunAgain = false;
  output.release();
};

const tellsRows: ReadonlySet<number> = new Set([back.rowDescription, back.dataRow, back.copyOutResponse]);

/** Error positions count from the beginning of what the client sent. */
const shifted = (frame: Buffer, type: number, step: Step | null): Buffer => {
  const shift = step?.positionShift ?? 0;
  if (shift === 0 || (type !== back.errorResponse && type !== back.noticeResponse)) return frame;
  const fields = new Map(readErrorFields(frame));
  const position = Number(fields.get('P'));
  if (!Number.isFinite(position) || position < 1) return frame;
  fields.set('P', String(position + shift));
  const moved = errorFromFields(fields);
  moved[0] = type;
  return moved;
};
