/**
 * A process of its own that stands between pgbench and a PostgreSQL, so that its CPU time can be told from everybody else's: `gateway-door.ts gateway|pipe SOCKET`.
 *
 * `gateway`: the SQL gateway, around a replica in memory that always leads. `pipe`: bytes pass, and nobody looks at them. Says its port, then answers each message with its CPU time.
 */
import { connect, createServer } from 'node:net';
import { dirname } from 'node:path';
import { createLeftLook } from '../../server/src/adapters/postgres/left-processes.ts';
import { createLoginFinder } from '../../server/src/adapters/postgres/find-login.ts';
import { createPgwireListener } from '../../server/src/gateways/pgwire/listener.ts';
import { defaultAccess } from '../../server/src/gateways/pgwire/login/access-rules.ts';
import { createMemoryClientService } from '../../server/src/gateways/pgwire/testing/memory-client-service.ts';

const [kind, socketPath = ''] = process.argv.slice(2);
const host = '127.0.0.1';

async function openGateway(): Promise<number> {
  const postgres = { socketDir: dirname(socketPath) };
  const service = createMemoryClientService({
    socketPath,
    reservedUsers: [],
    findLogin: createLoginFinder(postgres),
    lookAtLeft: createLeftLook(postgres),
  });
  const logger = { info: () => {}, warn: console.error };
  const access = defaultAccess(false);
  const listener = await createPgwireListener({
    host,
    port: 0,
    service,
    clusterSecret: 'bench',
    access,
    logger,
  });
  return listener.port;
}

function openPipe(): Promise<number> {
  const server = createServer({ noDelay: true }, (client) => {
    const backend = connect(socketPath);
    client.on('error', () => backend.destroy());
    backend.on('error', () => client.destroy());
    client.pipe(backend).pipe(client);
  });
  return new Promise((resolve) => {
    server.listen(0, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

const port = await (kind === 'pipe' ? openPipe() : openGateway());
process.on('message', () => process.send?.({ cpu: process.cpuUsage() }));
process.on('disconnect', () => process.exit(0));
process.send?.({ port });
