/**
 * How an operator's command reaches a group: a replica with the cluster's secret or a token, or a demo that has the secret.
 *
 * Responsible for: one request and its answer, and saying what went wrong in words. Does not try again, nor ask anybody else: from here only the replica of
 * the configuration is known to be reachable. Invariants: the token leaves only for the host and port of the replica's own configuration, for a URL that was given with it, or for a demo on this machine; never without TLS to another machine by a URL, and over TLS only to who shows the
 * certificate of the configuration, or one of an authority that is believed.
 */
import { readSmallFile } from '../../adapters/file-system.ts';
import { X509Certificate } from 'node:crypto';
import type { AdminRefusal, ClusterStatus, MembershipStatus, ReplicaStatus } from '../../api/status.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { loadReplicaConfig, type ReplicaConfig } from '../../config/replica-config.ts';
import { findDemo } from '../demo-client.ts';
import { readDemoSecret } from '../../demo/data-dir.ts';
import { requestJson, type TlsTrust } from '../../demo/http-client.ts';
import { isLoopbackName } from '../../gateways/http/request-guard.ts';
import { CliError, exitCodes } from '../../main/errors.ts';
import type { Where } from '../program-options.ts';
import { bearer } from '../../main/admin-token.ts';

export interface AdminTarget {
  readonly kind: Where['kind'];
  /** The replica; null for a demo. */
  readonly id: ReplicaId | null;
  readonly host: string;
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: without TLS. */
  readonly tls: TlsTrust | null;
  /** How long a comparison may take before the group itself gives it up. */
  readonly verifyMinutes: number;
}

const demoVerifyMinutes = 30;
const statusMs = 5000;

/** @throws ConfigError, CliError */
export async function resolveTarget(where: Where): Promise<AdminTarget> {
  if (where.kind === 'url') return targetAt(where);
  if (where.kind === 'demo') {
    const { dashboardPort, dataDir } = where.target;
    const port = await findDemo(dashboardPort, dataDir);
    const secret = await readDemoSecret(dataDir);
    const headers = secret === null ? {} : bearer(secret);
    const here = { host: '127.0.0.1', port, tls: null };
    return { kind: 'demo', id: null, ...here, headers, verifyMinutes: demoVerifyMinutes };
  }
  const { id, http, clusterSecret, verify } = loadReplicaConfig(where.configFile);
  return {
    kind: 'replica',
    id,
    host: reachable(http.host),
    port: http.port,
    headers: bearer(clusterSecret),
    tls: trustOf(http),
    verifyMinutes: verify.timeoutMinutes,
  };
}

/** @throws CliError */
function targetAt({ url, tokenFile, authority }: Extract<Where, { kind: 'url' }>): AdminTarget {
  const isTls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (!isTls && !isLoopbackName(host))
    throw new CliError(
      `A token that is sent to ${url.host} without TLS can be overheard: use https.`,
      exitCodes.usage,
    );
  const token = tokenFile === null ? (process.env['BARISTA_TOKEN'] ?? '') : readText(tokenFile).trim();
  if (token === '')
    throw new CliError('There is no token: give --token-file, or set BARISTA_TOKEN.', exitCodes.usage);
  return {
    kind: 'url',
    id: null,
    host,
    port: Number(url.port) || (isTls ? 443 : 80),
    headers: { authorization: `Bearer ${token}` },
    tls: isTls ? (authority === null ? {} : { ca: readText(authority) }) : null,
    verifyMinutes: demoVerifyMinutes,
  };
}

/** Of the replica with this configuration, on whose machine this is; null: it speaks without TLS. @throws CliError */
export function trustOf({ tls }: ReplicaConfig['http']): TlsTrust | null {
  return tls === undefined ? null : trustIn(readText(tls.certificate));
}

/** The replica's own file is here: whoever shows that very certificate is the replica, whatever its names and whoever has signed it. */
function trustIn(certificate: string): TlsTrust {
  const { fingerprint256 } = new X509Certificate(certificate);
  return {
    ca: certificate,
    allowPartialTrustChain: true,
    checkServerIdentity: (_host, shown) =>
      shown.fingerprint256 === fingerprint256
        ? undefined
        : new Error('the server presents a different certificate than http.tls.certificate'),
  };
}

function readText(file: string): string {
  try {
    return readSmallFile(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new CliError(`Cannot read ${file} (${code ?? message}).`, exitCodes.usage, { cause });
  }
}

/** Where something that listens on all addresses is reached from this machine. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** @throws CliError notRunning, or refused with what the replica said */
export async function askAdmin(
  target: AdminTarget,
  request: { readonly path: string; readonly body: unknown; readonly timeoutMs: number },
): Promise<unknown> {
  const { host, port, headers, tls } = target;
  const answer = await reach(target, () =>
    requestJson({ host, port, headers, tls, method: 'POST', ...request }),
  );
  if (answer.status === 200) return answer.body;
  throw refusal(target, answer.status, answer.body);
}

/** What the group answered instead of doing it. */
export function refusal(target: AdminTarget, status: number, body: unknown): CliError {
  const error = (body as Partial<AdminRefusal> | null | undefined)?.error;
  if (typeof error?.message !== 'string') {
    const what = target.kind === 'demo' ? 'a demo' : 'a replica';
    return new CliError(
      `The server on ${place(target)} is not ${what} (HTTP ${status}).`,
      exitCodes.notRunning,
    );
  }
  if (error.code === 'unauthorized' && target.kind === 'demo') {
    return new CliError(
      'Refused: only users who can read the data directory of the demo may do this. Name it with --data-dir.',
      exitCodes.refused,
    );
  }
  if (error.code === 'notLeader') {
    const message = error.leader
      ? `Refused: only the leader can do this. Run the command with the configuration of ${error.leader}.`
      : `Refused: ${error.message} Try again in a moment.`;
    return new CliError(message, exitCodes.refused);
  }
  const code = error.code === 'failed' || error.code === 'timedOut' ? exitCodes.failed : exitCodes.refused;
  return new CliError(`${code === exitCodes.refused ? 'Refused' : 'Failed'}: ${error.message}`, code);
}

/** @throws CliError notRunning in place of the connection's error */
export async function reach<T>(target: AdminTarget, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    const { name, code, message } = cause as NodeJS.ErrnoException;
    if (name === 'TimeoutError' || name === 'AbortError') {
      throw new CliError(`${place(target)} does not answer in time.`, exitCodes.notRunning, { cause });
    }
    const start =
      target.kind === 'demo'
        ? 'Start one with "barista demo", or say where it is with --dashboard-port, --data-dir or --config.'
        : 'Is "barista serve" running there?';
    const who = target.kind === 'demo' ? 'No demo answers' : `${target.id ?? 'The replica'} does not answer`;
    throw new CliError(`${who} on ${place(target)} (${code ?? message}). ${start}`, exitCodes.notRunning, {
      cause,
    });
  }
}

const place = ({ host, port }: AdminTarget): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** The members as the replica knows them, or as the demo's best informed one does. @throws CliError */
export async function fetchMembership(target: AdminTarget): Promise<MembershipStatus> {
  const { host, port, headers, tls } = target;
  const path = target.kind === 'demo' ? '/api/cluster' : '/api/status';
  const answer = await reach(target, () =>
    requestJson({ host, port, headers, tls, path, timeoutMs: statusMs }),
  );
  if (answer.status !== 200) throw refusal(target, answer.status, answer.body);
  const known = membershipsIn(answer.body).toSorted((a, b) => b.version - a.version)[0];
  if (known === undefined) throw refusal(target, answer.status, null);
  return known;
}

function membershipsIn(body: unknown): readonly MembershipStatus[] {
  const answer = body as Partial<ClusterStatus & ReplicaStatus> | null | undefined;
  const statuses = Array.isArray(answer?.replicas) ? answer.replicas.map(({ status }) => status) : [answer];
  return statuses.flatMap((status) =>
    Array.isArray(status?.membership?.members) ? [status.membership] : [],
  );
}
