/**
 * Whether a request comes from an operator: by a token in its Authorization header, or by a certificate.
 *
 * Responsible for: that judgement, and the bound on guesses. Does not say which requests need one. Invariants: how long a judgement takes tells nothing about the tokens; a token in a URL is never taken, since
 * URLs are written into logs and histories; a right token is taken whatever else its address has shown, since others share it: they could keep operators out. Tokens are too long to be guessed (docs/configuration.md).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { RequestHandler } from 'express';
import { connectionOf } from '../../adapters/http-turns.ts';
import { WrongTokens } from './wrong-tokens.ts';

export interface OperatorAccessOptions {
  /** Each of them is taken; asked for with each request. */
  readonly tokens: () => readonly string[];
  readonly nowMs?: () => number;
  readonly onWrong?: (address: string | undefined) => void;
}

export type AccessVerdict =
  | { readonly code: 'operator' }
  | {
      readonly code: 'unauthorized';
      readonly status: 401 | 400 | 429;
      readonly message: string;
      readonly waitSeconds: number;
    };

export interface OperatorAccess {
  judge(request: IncomingMessage): AccessVerdict;
}

const howTo =
  'This needs a token: that of http.tokenFile, or one made of the cluster secret, which the barista command makes by itself.';
const notInUrl =
  'A token does not belong into a URL, where logs keep it: send it as "Authorization: Bearer TOKEN", and make a new one.';

export function createOperatorAccess(options: OperatorAccessOptions): OperatorAccess {
  const { tokens, nowMs = () => performance.now(), onWrong = () => undefined } = options;
  const guesses = new WrongTokens(nowMs);
  return {
    judge(request) {
      if (/[?&](access_)?token=/i.test(request.url ?? '')) return refused(400, notInUrl);
      if (showsCertificate(connectionOf(request))) return { code: 'operator' };
      const { authorization } = request.headers;
      if (authorization === undefined) return refused(401, howTo);
      const { remoteAddress } = request.socket;
      if (isOne(authorization, tokens())) return { code: 'operator' };
      const waitSeconds = guesses.waitSeconds(remoteAddress);
      if (waitSeconds > 0)
        return refused(
          429,
          `Too many wrong tokens came from ${remoteAddress ?? 'there'}: wait a moment.`,
          waitSeconds,
        );
      guesses.wrong(remoteAddress);
      onWrong(remoteAddress);
      return refused(401, howTo);
    },
  };
}

/** Of the authority that the configuration names. A session that is resumed counts for nothing: Node takes that of one who showed no certificate for authorized. */
function showsCertificate(socket: Socket): boolean {
  if (!(socket instanceof TLSSocket) || !socket.authorized || socket.isSessionReused()) return false;
  return socket.getPeerX509Certificate() !== undefined;
}

function refused(status: 401 | 400 | 429, message: string, waitSeconds = 0): AccessVerdict {
  return { code: 'unauthorized', status, message, waitSeconds };
}

/** All are compared, whichever it is. */
function isOne(authorization: string, tokens: readonly string[]): boolean {
  const given = digest(authorization);
  return tokens.map((token) => timingSafeEqual(given, digest(`Bearer ${token}`))).includes(true);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Lets operators pass. */
export function requireOperator(access: OperatorAccess): RequestHandler {
  return (request, response, next) => {
    const verdict = access.judge(request);
    if (verdict.code === 'operator') return next();
    const { status, message, waitSeconds } = verdict;
    if (status === 401) response.setHeader('www-authenticate', 'Bearer');
    if (waitSeconds > 0) response.setHeader('retry-after', String(waitSeconds));
    response.status(status).json({ error: { code: 'unauthorized', message } });
  };
}
