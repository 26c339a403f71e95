/** A replica's or a demo's HTTP side, for tests of what operators ask: says what it is told to and keeps what it was asked. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { MembershipStatus } from '../../api/status.ts';
import type { AdminTarget } from '../../cli/admin/admin-client.ts';
import { bearer } from '../admin-token.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

export type Reply = (asked: Asked, response: ServerResponse) => void;

export interface FakeAdmin {
  readonly target: AdminTarget;
  readonly asked: Asked[];
  close(): Promise<void>;
}

export const fakeSecret = 'a secret of the cluster';

export async function fakeAdmin(reply: Reply): Promise<FakeAdmin> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const { method = '', url = '', headers } = request;
      const one = { method, path: url, authorization: headers.authorization, body };
      asked.push(one);
      reply(one, response);
    });
  });
  const port = await listening(server);
  const headers = bearer(fakeSecret);
  return {
    target: { kind: 'replica', id: null, host: '127.0.0.1', port, headers, tls: null, verifyMinutes: 1 },
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? null : (JSON.parse(text) as unknown);
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** `roles` such as `{ r1: 'voter', r4: 'expected' }`. */
export function membership(
  roles: Readonly<Record<string, 'voter' | 'learner' | 'expected'>>,
  version = 1,
): MembershipStatus {
  const endpoint = { host: 'db', port: 7532, pgwire: { host: 'db', port: 7432 } };
  const members = Object.entries(roles).map(([replica, role]) => ({
    replica,
    incarnation: role === 'expected' ? 0 : replica === 'r2' ? 2 : 1,
    role: role === 'expected' ? 'learner' : role,
    address: endpoint,
  }));
  return { version, members } as unknown as MembershipStatus;
}
