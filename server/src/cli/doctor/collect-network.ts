/** Looks for the replica and its members over the network, for the doctor. Never rejects. */
import { connect } from 'node:net';
import type { ReplicaStatus } from '../../api/status.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import { requestJson } from '../../demo/http-client.ts';
import { bearer } from '../../main/admin-token.ts';
import { trustOf } from '../admin/admin-client.ts';
import { known } from './collect-places.ts';
import type { Known, MemberFacts } from './facts.ts';

const waitMs = 3000;

/** Where something that listens on all addresses is reached from this machine. */
const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

export function statusFacts({
  id,
  group,
  http,
  clusterSecret,
}: ReplicaConfig): Promise<Known<ReplicaStatus>> {
  const host = reachable(http.host);
  const place = `${host}:${http.port}`;
  return known(async () => {
    const answer = await requestJson({
      host,
      port: http.port,
      path: '/api/status',
      headers: bearer(clusterSecret),
      tls: trustOf(http),
      timeoutMs: waitMs,
    }).catch((error: unknown) => {
      throw new Error(`nothing answers on ${place} (${codeOf(error)})`, { cause: error });
    });
    const status = answer.body as Partial<ReplicaStatus> | null | undefined;
    if (
      answer.status !== 200 ||
      typeof status?.state !== 'string' ||
      !Array.isArray(status.membership?.members)
    )
      throw new Error(`the server on ${place} is not a Barista replica (HTTP ${answer.status})`);
    if (status.id !== id || status.group !== group)
      throw new Error(
        `${place} is ${String(status.id)} of group ${String(status.group)}, not ${id} of ${group}`,
      );
    return status as ReplicaStatus;
  });
}

function codeOf(error: unknown): string {
  const { code, name, message } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError' || name === 'AbortError') return `within ${waitMs / 1000} s`;
  return typeof code === 'string' ? code : message;
}

/** The others of the group: as the replica knows them, or else as its configuration does. */
export function memberFacts(
  { id, peers }: ReplicaConfig,
  status: Known<ReplicaStatus>,
): Promise<readonly MemberFacts[]> {
  const members = status.ok ? status.value.membership.members : [];
  const places =
    members.length > 0
      ? members.map(({ replica, address: { host, port, pgwire } }) => ({ id: replica, host, port, pgwire }))
      : peers;
  return Promise.all(
    places
      .filter((place) => place.id !== id)
      .map(async ({ id: member, host, port, pgwire }) => {
        const [peer, sql] = await Promise.all([dial(host, port), dial(pgwire.host, pgwire.port)]);
        return { id: member, peer, pgwire: sql };
      }),
  );
}

/** Milliseconds until the connection was there. */
function dial(host: string, port: number): Promise<Known<number>> {
  const fromMs = performance.now();
  return known(
    () =>
      new Promise<number>((resolve, reject) => {
        const socket = connect({ host, port });
        const timer = setTimeout(
          () => socket.destroy(new Error(`no answer within ${waitMs / 1000} s`)),
          waitMs,
        );
        socket.once('connect', () => {
          resolve(performance.now() - fromMs);
          socket.destroy();
        });
        socket.once('error', (error) =>
          reject(new Error(`${host}:${port}, ${codeOf(error)}`, { cause: error })),
        );
        socket.once('close', () => clearTimeout(timer));
      }),
  );
}
