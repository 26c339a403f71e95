/**
 * A client of a follower: its bytes go to the leader's front end and back, untouched but for what that one tells this one (doubt-frame.ts).
 *
 * Responsible for: saying to the client what is true when the leader goes away. For that it watches, at the borders of frames, whether
 * an answer is due, and whether a transaction is being decided: what became of that is asked of this replica's own log.
 * Invariants: an error is put into the stream only between two frames; success is told only of what took effect.
 */
import { connect, type Socket } from 'node:net';
import type { Agreement, Service } from '../../../ports/agreement.ts';
import { errorResponse, type GatewayError, readErrorFields } from '../codec/backend-messages.ts';
import { type Doubt, doubtType, readDoubt } from '../codec/doubt-frame.ts';
import { createFrameSplitter, type FrameSink } from '../codec/frame-splitter.ts';
import { back } from '../codec/message-types.ts';
import * as errors from '../errors.ts';
import type { PgwireLimits } from '../limits.ts';
import { writeAll } from '../session/backend-link.ts';

export interface Tunnel {
  readonly done: Promise<void>;
  readonly onService: (service: Service) => void;
  readonly end: (error: GatewayError) => void;
}

const connectTimeoutMs = 5_000;
const lingerMs = 5_000;

export const startTunnel = (options: {
  readonly client: Socket;
  readonly leader: { readonly host: string; readonly port: number; readonly leader: string };
  readonly startup: Buffer;
  readonly limits: PgwireLimits;
  readonly agreement: Pick<Agreement, 'outcomeOf'>;
}): Tunnel => {
  const { client, leader, limits } = options;
  const where = `${leader.host}:${leader.port}`;
  const upstream = connect({ host: leader.host, port: leader.port, noDelay: true });
  const answers = createAnswerWatch(limits);
  let connected = false;
  let over = false;
  let settling = false;
  let grace: NodeJS.Timeout | null = null;
  let finished = (): void => {};
  const done = new Promise<void>((resolve) => {
    finished = resolve;
  });

  const end = (error: GatewayError | null, before: readonly Buffer[] = []): void => {
    if (over) return;
    over = true;
    if (grace !== null) clearTimeout(grace);
    upstream.destroy();
    if (error === null || answers.saidFatal || !answers.atBoundary) client.end();
    else client.end(Buffer.concat([...before, errorResponse('FATAL', error)]));
    client.resume();
    const linger = setTimeout(() => client.destroy(), lingerMs);
    client.once('close', () => {
      clearTimeout(linger);
      finished();
    });
    if (client.destroyed) finished();
  };

  /** The leader is gone, or is no leader any more and has not said how things ended. */
  const lost = (): void => {
    if (over || settling) return;
    const { doubt } = answers;
    if (!answers.authenticated) end(errors.leaderUnreachable(where, 'the connection was closed'));
    else if (doubt !== null && !answers.saidFatal) {
      settling = true;
      upstream.destroy();
      settle(doubt).catch(() => end(errors.outcomeUnknown('the leader went away')));
    } else if (answers.due) end(errors.outcomeUnknown('the leader went away'));
    else end(errors.notLeaderAnyMore);
  };

  const settle = async (doubt: Doubt): Promise<void> => {
    const outcome = await options.agreement.outcomeOf(doubt.mark, limits.outcomeWaitMs);
    switch (outcome) {
      case 'committed':
        end(errors.committedButEnding, doubt.answer === null ? [] : [doubt.answer]);
        return;
      case 'notCommitted':
        end(errors.superseded('the leader went away, and the log goes on without it'));
        return;
      case 'unknown':
        end(errors.outcomeUnknown('the leader went away, and the log does not tell in time'));
        return;
      default:
        outcome satisfies never;
    }
  };

  upstream.setTimeout(connectTimeoutMs, () => {
    if (!connected) end(errors.leaderUnreachable(where, 'it does not answer'));
  });
  upstream.on('connect', () => {
    connected = true;
    upstream.setTimeout(0);
    upstream.write(options.startup);
  });
  upstream.on('data', (chunk: Buffer) => {
    if (over || settling) return;
    try {
      const forClient = answers.take(chunk);
      if (forClient.length > 0 && !writeAll(client, forClient)) upstream.pause();
      if (answers.leaderDoubts) lost();
    } catch (error) {
      end(errors.protocolViolation(error instanceof Error ? error.message : String(error)));
    }
  });
  upstream.on('drain', () => client.resume());
  upstream.on('error', (error) => {
    if (connected) lost();
    else end(errors.leaderUnreachable(where, error.message));
  });
  upstream.on('close', lost);

  client.on('data', (chunk: Buffer) => {
    if (over || settling) return;
    answers.asked();
    if (!upstream.write(chunk)) client.pause();
  });
  client.on('drain', () => upstream.resume());
  client.on('end', () => upstream.end());
  client.on('error', () => end(null));
  client.on('close', () => end(null));
  client.resume();

  return {
    done,
    end(error) {
      end(answers.doubt === null ? error : errors.outcomeUnknown('this replica stopped meanwhile'));
    },
    onService(service) {
      if (service.kind === 'at' && service.leader === leader.leader) {
        if (grace !== null) clearTimeout(grace);
        grace = null;
        return;
      }
      // The old leader, if it lives, says how things ended; it is given a moment to.
      if (grace !== null) clearTimeout(grace);
      grace = setTimeout(lost, service.kind === 'nowhere' ? limits.leaderWaitMs : limits.tunnelGraceMs);
    },
  };
};

interface AnswerWatch {
  /** What of it is for the client. @throws ProtocolViolation */
  take(chunk: Buffer): readonly Buffer[];
  /** The client has sent something. */
  asked(): void;
  readonly due: boolean;
  readonly authenticated: boolean;
  readonly saidFatal: boolean;
  /** The leader does not know what became of it: cut off, perhaps. This replica may. */
  readonly leaderDoubts: boolean;
  /** The transaction that is being decided. */
  readonly doubt: Doubt | null;
  /** What the client has received ends with a whole message. */
  readonly atBoundary: boolean;
}

const unknownState = errors.outcomeUnknown('').sqlState;

const createAnswerWatch = (limits: PgwireLimits): AnswerWatch => {
  let due = true;
  let authenticated = false;
  let saidFatal = false;
  let leaderDoubts = false;
  let inPiece = false;
  let doubt: Doubt | null = null;
  let forClient: Buffer[] = [];

  const splitter = createFrameSplitter({
    wholeBytesMax: limits.streamedFrameBytesMax,
    streamedBytesMax: limits.streamedFrameBytesMax,
    pieceBytesMin: 8_192,
    streams: (type) => type !== doubtType,
  });

  /** Neighbouring views of one chunk become one. */
  const push = (bytes: Buffer): void => {
    const last = forClient.at(-1);
    const next = last !== undefined && last.buffer === bytes.buffer;
    if (next && last.byteOffset + last.length === bytes.byteOffset) {
      forClient[forClient.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + bytes.length);
    } else forClient.push(bytes);
  };

  const sink: FrameSink = {
    frame(type, frame) {
      if (type === doubtType) {
        doubt = readDoubt(frame);
        return;
      }
      if (type === back.errorResponse && doubt !== null && readErrorFields(frame).get('C') === unknownState) {
        leaderDoubts = true;
        return;
      }
      saidFatal = type === back.errorResponse && frame.includes('FATAL');
      if (type === back.readyForQuery) {
        due = false;
        authenticated = true;
      }
      if (type === back.readyForQuery || type === back.errorResponse) doubt = null;
      // Its answer has begun: the client must not get it twice.
      else if (type === back.commandComplete && doubt !== null) doubt = { ...doubt, answer: null };
      push(frame);
    },
    piece(_type, piece, { last }) {
      inPiece = !last;
      push(piece);
    },
  };

  return {
    take(chunk) {
      forClient = [];
      splitter.push(chunk, sink);
      return forClient;
    },
    asked() {
      due = true;
    },
    get due() {
      return due;
    },
    get authenticated() {
      return authenticated;
    },
    get saidFatal() {
      return saidFatal;
    },
    get leaderDoubts() {
      return leaderDoubts;
    },
    get doubt() {
      return doubt;
    },
    get atBoundary() {
      return !inPiece;
    },
  };
};
