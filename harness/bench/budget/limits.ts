/**
 * What the stages would cost at the least on this machine: the same system calls, with nothing around them.
 *
 * Responsible for: a write that is flushed, a small message there and back over TCP, and a gateway that looks at nothing. CPU time of whoever makes the calls.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { runGatewayBench } from '../gateway-bench.ts';
import { runLogBench } from '../log-bench.ts';
import { spread } from '../summary.ts';

export interface Limits {
  /** One write of `bytes` and its fdatasync, on the system's temporary directory: CPU, and the time until it is done. */
  readonly flush: { readonly bytes: number; readonly cpuUs: number; readonly waitUs: number };
  /** One message received and one sent, by Node.js over TCP on this machine. */
  readonly exchange: { readonly cpuUs: number; readonly roundTripUs: number };
  /** A transaction through a pipe of two sockets that looks at no byte, with as many clients; null: not measured, for it was another workload. */
  readonly pipe: { readonly cpuUs: number } | null;
}

export interface LimitsOptions {
  readonly directory: string;
  readonly bytes: number;
  readonly clients: number;
  readonly seconds: number;
  /** pgbench's script of one UPDATE; null: that is not what was run. */
  readonly updateFile: string | null;
}

export async function measureLimits(options: LimitsOptions): Promise<Limits> {
  const { directory, bytes, seconds } = options;
  const [plain] = await runLogBench({ directory, seconds: 1, entryBytes: bytes, store: 'segment' }, () => {});
  if (plain === undefined) throw new Error('the loop of writes was not measured');
  return {
    flush: { bytes, cpuUs: plain.cpuUs, waitUs: plain.p50Ms * 1000 },
    exchange: await measureExchange(bytes, seconds),
    pipe: await measurePipe(options),
  };
}

async function measurePipe({ clients, seconds, updateFile }: LimitsOptions): Promise<Limits['pipe']> {
  if (updateFile === null) return null;
  const rows = await runGatewayBench(
    { seconds, rounds: 1, clients: [clients], workload: `--file=${updateFile}`, protocol: 'simple' },
    () => {},
  );
  const pipe = rows.find(({ system }) => system === 'pipe');
  return { cpuUs: spread(pipe?.cpuUs ?? []).median };
}

/** Both ends are in this process: each does half. */
async function measureExchange(bytes: number, seconds: number): Promise<Limits['exchange']> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('data', (chunk) => socket.write(chunk));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true });
  await once(client, 'connect');
  try {
    return await exchange(client, Buffer.alloc(bytes, 7), seconds);
  } finally {
    client.destroy();
    server.close();
  }
}

async function exchange(client: Socket, message: Buffer, seconds: number): Promise<Limits['exchange']> {
  let received = 0;
  let rounds = 0;
  const cpu = process.cpuUsage();
  const beganMs = performance.now();
  const endMs = beganMs + seconds * 1000;
  await new Promise<void>((resolve, reject) => {
    client.on('error', reject);
    client.on('data', (chunk) => {
      received += chunk.length;
      if (received < message.length) return;
      received = 0;
      rounds += 1;
      if (performance.now() >= endMs) resolve();
      else client.write(message);
    });
    client.write(message);
  });
  const { user, system } = process.cpuUsage(cpu);
  const tookUs = (performance.now() - beganMs) * 1000;
  return { cpuUs: (user + system) / rounds / 2, roundTripUs: tookUs / rounds };
}
