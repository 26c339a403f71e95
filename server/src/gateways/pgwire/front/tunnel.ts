/**
 * A client of a follower: its bytes go to the leader's front end and back, untouched.
 *
 * Responsible for: saying to the client what is true when the leader goes away. For that it watches, at the borders of frames, whether
 * an answer is due. Invariant: an error is put into the stream only between two frames.
 */
import { connect, type Socket } from 'node:net';
import type { Service } from '../../../ports/agreement.ts';
import { errorResponse, type GatewayError } from '../codec/backend-messages.ts';
import { createFrameSplitter } from '../codec/frame-splitter.ts';
import { back } from '../codec/message-types.ts';
import * as errors from '../errors.ts';
import type { PgwireLimits } from '../limits.ts';

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
}): Tunnel => {
  const { client, leader } = options;
  const where = `${leader.host}:${leader.port}`;
  const upstream = connect({ host: leader.host, port: leader.port, noDelay: true });
  let connected = false;
  let answerDue = true;
  let authenticated = false;
  let over = false;
  let grace: NodeJS.Timeout | null = null;
  let saidFatal = false;
  let finished = (): void => {};
  const done = new Promise<void>((resolve) => {
    finished = resolve;
  });

  const splitter = createFrameSplitter({
    wholeBytesMax: options.limits.streamedFrameBytesMax,
    streamedBytesMax: options.limits.streamedFrameBytesMax,
    pieceBytesMin: 8_192,
    streams: () => true,
  });
  const sink = {
    frame(type: number, frame: Buffer): void {
      if (type === back.readyForQuery) {
        answerDue = false;
        authenticated = true;
      }
      saidFatal = type === back.errorResponse && frame.includes('FATAL');
    },
    piece(): void {},
  };

  const end = (error: GatewayError | null): void => {
    if (over) return;
    over = true;
    if (grace !== null) clearTimeout(grace);
    upstream.destroy();
    if (error === null || saidFatal || !splitter.atBoundary) client.end();
    else client.end(errorResponse('FATAL', error));
    client.resume();
    const linger = setTimeout(() => client.destroy(), lingerMs);
    client.once('close', () => {
      clearTimeout(linger);
      finished();
    });
    if (client.destroyed) finished();
  };

  const leaderLost = (): GatewayError => {
    if (!authenticated) return errors.leaderUnreachable(where, 'the connection was closed');
    return answerDue ? errors.outcomeUnknown('the leader went away') : errors.notLeaderAnyMore;
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
    try {
      splitter.push(chunk, sink);
    } catch (error) {
      end(errors.protocolViolation(error instanceof Error ? error.message : String(error)));
      return;
    }
    if (!over && !client.write(chunk)) upstream.pause();
  });
  upstream.on('drain', () => client.resume());
  upstream.on('error', (error) =>
    end(connected ? leaderLost() : errors.leaderUnreachable(where, error.message)),
  );
  upstream.on('close', () => end(leaderLost()));

  client.on('data', (chunk: Buffer) => {
    if (over) return;
    answerDue = true;
    if (!upstream.write(chunk)) client.pause();
  });
  client.on('drain', () => upstream.resume());
  client.on('end', () => upstream.end());
  client.on('error', () => end(null));
  client.on('close', () => end(null));
  client.resume();

  return {
    done,
    end,
    onService(service) {
      if (service.kind === 'at' && service.leader === leader.leader) {
        if (grace !== null) clearTimeout(grace);
        grace = null;
        return;
      }
      // The old leader, if it lives, says how things ended; it is given a moment to.
      if (grace !== null) clearTimeout(grace);
      grace = setTimeout(
        () => end(leaderLost()),
        service.kind === 'nowhere' ? options.limits.leaderWaitMs : options.limits.tunnelGraceMs,
      );
    },
  };
};
