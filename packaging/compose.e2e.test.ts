/**
 * The compose file without Docker: what its services would run is run as processes, from the package as it would be installed, with its configurations, and with ports and paths of this machine in the place of the containers'.
 *
 * It needs `npm run build`. A container that is killed is a process that is killed with its PostgreSQL.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { freePorts } from '../server/src/adapters/testing/ports.ts';
import type { ReplicaStatus } from '../server/src/api/status.ts';
import { bearer } from '../server/src/main/admin-token.ts';
import { readExposition } from '../server/src/gateways/http/testing/exposition.ts';
import { composeDir, configFileOf, mountsOf, portsOf, readCompose, type Service } from './testing/compose.ts';
import { readDockerfile, wordsOf } from './testing/dockerfile.ts';
import { root, textOf } from './testing/places.ts';

const compose = readCompose();
const image = readDockerfile(textOf(`${composeDir}/Dockerfile`)).at(-1)!;
const names = Object.keys(compose.services);
const startMs = 120_000;
const poll = { timeout: startMs, interval: 200 };

interface Container {
  readonly service: Service;
  /** Its paths, in place of the container's. */
  readonly path: (inside: string) => string;
  /** Of this machine, by the container's port. */
  readonly port: (inside: number) => number;
  process: ChildProcess | null;
  output: string;
}

let directory = '';
let bin = '';
const containers = new Map<string, Container>();

/** As `npm install` would unpack it. */
function unpack(): string {
  const words = ['pack', '--ignore-scripts', '--silent', '--pack-destination', directory];
  const archive = execFileSync('npm', words, { cwd: root, encoding: 'utf8' }).trim();
  execFileSync('tar', ['-xzf', join(directory, archive), '-C', directory]);
  symlinkSync(join(root, 'node_modules'), join(directory, 'package', 'node_modules'));
  const manifest = JSON.parse(readFileSync(join(directory, 'package', 'package.json'), 'utf8')) as {
    readonly bin: { readonly barista: string };
  };
  return join(directory, 'package', manifest.bin.barista);
}

function makeContainer(name: string, base: number): Container {
  const service = compose.services[name]!;
  const home = join(directory, name);
  const config = join(home, 'barista.yaml');
  const secret = join(directory, 'cluster-secret');
  const places = [
    ['/etc/barista/barista.yaml', config],
    ['/run/secrets/cluster-secret', secret],
    ...mountsOf(service)
      .filter(({ isVolume }) => isVolume)
      .map(({ target }) => [target, join(home, 'volume')] as const),
  ] as const;
  const path = (inside: string): string => {
    const found = places.find(([from]) => inside === from || inside.startsWith(`${from}/`));
    if (found === undefined) throw new Error(`${inside} is not in a volume of ${name}`);
    return `${found[1]}${inside.slice(found[0].length)}`;
  };
  const offsets = new Map([
    [7432, 0],
    [7532, 1],
    [8081, 2],
  ]);
  const port = (inside: number): number => base + 3 * names.indexOf(name) + offsets.get(inside)!;
  mkdirSync(join(home, 'volume'), { recursive: true });
  return { service, path, port, process: null, output: '' };
}

/** What is mounted, with the addresses of this machine. */
function writeConfig({ service, path, port }: Container): void {
  const document = parse(textOf(configFileOf(service))) as {
    dataDir: string;
    clusterSecretFile: string;
    readonly peers: {
      readonly id: string;
      host: string;
      port: number;
      pgwire: { host: string; port: number };
    }[];
    readonly peerListen: { host: string; port: number };
    readonly pgwire: { host: string; port: number };
    readonly http: { host: string; port: number };
  };
  document.dataDir = path(document.dataDir);
  document.clusterSecretFile = path(document.clusterSecretFile);
  const here = '127.0.0.1';
  for (const peer of document.peers) {
    const other = containers.get(peer.host)!;
    Object.assign(peer, { host: here, port: other.port(peer.port) });
    Object.assign(peer.pgwire, { host: here, port: other.port(peer.pgwire.port) });
  }
  for (const listen of [document.peerListen, document.pgwire, document.http])
    Object.assign(listen, { host: here, port: port(listen.port) });
  // Fewer processes of PostgreSQL: few cores run three replicas here.
  writeFileSync(path('/etc/barista/barista.yaml'), stringify({ ...document, bounds: { clientsMax: 20 } }));
}

/** What the container would run, without its init. */
function commandOf(container: Container, command: readonly string[]): readonly string[] {
  const [init, separator, program] = wordsOf(image, 'ENTRYPOINT');
  expect([init, separator, program]).toEqual(['tini', '--', 'barista']);
  return [bin, ...command.map((word) => (word.startsWith('/') ? container.path(word) : word))];
}

function up(name: string): void {
  const container = containers.get(name)!;
  const command = container.service.command ?? wordsOf(image, 'CMD');
  const child = spawn(process.execPath, commandOf(container, command), {
    env: { ...process.env, ...container.service.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const keep = (chunk: Buffer): void => {
    container.output = `${container.output}${chunk.toString()}`.slice(-20_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  container.process = child;
}

/** As `docker compose run --rm NAME WORDS` does. */
function run(name: string, words: readonly string[]): string {
  return execFileSync(process.execPath, commandOf(containers.get(name)!, words), { encoding: 'utf8' });
}

function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => child.once('exit', (code) => resolve(code)));
}

/** All processes of a container end with it. */
async function kill(name: string): Promise<void> {
  const container = containers.get(name)!;
  const { postgres } = await statusOf(name);
  const child = container.process!;
  child.kill('SIGKILL');
  if (postgres.pid !== null) process.kill(postgres.pid, 'SIGKILL');
  await ended(child);
  container.process = null;
}

async function stop(name: string): Promise<number | null> {
  const container = containers.get(name)!;
  const child = container.process;
  if (child === null) return null;
  child.kill('SIGTERM');
  const code = await ended(child);
  container.process = null;
  return code;
}

function get(name: string, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${containers.get(name)!.port(8081)}${path}`, { headers });
}

async function statusOf(name: string): Promise<ReplicaStatus> {
  const secret = readFileSync(containers.get(name)!.path('/run/secrets/cluster-secret'), 'utf8').trim();
  return (await (await get(name, '/api/status', bearer(secret))).json()) as ReplicaStatus;
}

async function stateOf(name: string): Promise<string> {
  return statusOf(name).then(
    ({ state }) => state,
    () => 'down',
  );
}

async function areReady(...who: readonly string[]): Promise<boolean> {
  const ready = await Promise.all(
    who.map((name) =>
      get(name, '/readyz').then(
        ({ status }) => status === 200,
        () => false,
      ),
    ),
  );
  return ready.every(Boolean);
}

/** At the port that the compose file publishes for this replica, as the role that its configuration founds. */
async function sql(name: string, text: string): Promise<unknown[][]> {
  const { service, port } = containers.get(name)!;
  const published = portsOf(service).find(({ container }) => container === 7432)!;
  const { bootstrap } = parse(textOf(configFileOf(service))) as {
    readonly bootstrap: { readonly user: string; readonly password: string; readonly database: string };
  };
  const client = new pg.Client({ host: '127.0.0.1', port: port(published.container), ...bootstrap });
  client.on('error', () => {});
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' });
    return rows;
  } finally {
    await client.end();
  }
}

async function leader(): Promise<string> {
  let found: string | undefined;
  await expect
    .poll(async () => {
      for (const name of names) {
        const status = await statusOf(name).catch(() => null);
        if (status?.role === 'leader' && status.state === 'serving') found = name;
      }
      return found;
    }, poll)
    .toBeDefined();
  return found!;
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'barista-compose-'));
  bin = unpack();
  writeFileSync(join(directory, 'cluster-secret'), 'a secret of this cluster\n');
  const base = await freePorts(3 * names.length);
  for (const name of names) containers.set(name, makeContainer(name, base));
  for (const container of containers.values()) writeConfig(container);
});
afterAll(async () => {
  await Promise.all(names.map((name) => stop(name)));
  rmSync(directory, { recursive: true, force: true });
});

describe('the package', () => {
  it('has the command, its help and the dashboard, and no tests', () => {
    const help = execFileSync(process.execPath, [bin, '--help'], { encoding: 'utf8' });
    expect(help).toContain('barista demo');
    const files = execFileSync('tar', ['-tzf', join(directory, 'barista-0.1.0.tgz')], {
      encoding: 'utf8',
    }).split('\n');
    for (const file of [
      'dashboard/dist/index.html',
      'server/dist/commit',
      'packaging/systemd/barista.service',
    ])
      expect(files).toContain(`package/${file}`);
    expect(
      files.filter((file) => /\.test\.|\/testing\/|tsbuildinfo|\.map$|cluster-secret$/.test(file)),
    ).toEqual([]);
  });
});

describe('the compose file', () => {
  it('has replicas that wait for the founder, however long it takes, and then join', async () => {
    up('r2');
    up('r3');
    await expect.poll(() => stateOf('r2'), poll).toBe('joining');
    expect((await get('r2', '/healthz')).status).toBe(200);
    expect(await areReady('r2')).toBe(false);
    // A scrape finds all that there is, though there is no log and no database yet.
    const early = readExposition(await (await get('r2', '/metrics')).text());
    expect(early.find(({ name }) => name === 'barista_state')!.samples).toContainEqual(
      expect.objectContaining({ labels: { state: 'joining' }, value: 1 }),
    );
    expect(run('r1', ['init', '--config', '/etc/barista/barista.yaml'])).toContain('is founded on r1');
    up('r1');
    await expect.poll(() => areReady(...names), poll).toBe(true);
    expect(() => run('r1', ['init', '--config', '/etc/barista/barista.yaml'])).toThrow('has a log');
  });

  it('serves at each published port, and again when a container was killed, and that one comes back', async () => {
    await sql('r2', 'CREATE TABLE cups (id int PRIMARY KEY)');
    await sql('r3', 'INSERT INTO cups VALUES (1)');
    const isWhole = async (): Promise<boolean> =>
      (await statusOf('r1')).membership.members.filter(({ role }) => role === 'voter').length ===
      names.length;
    await expect.poll(isWhole, poll).toBe(true);
    const killed = await leader();
    const other = names.find((name) => name !== killed)!;
    await kill(killed);
    const insert = (): Promise<boolean> =>
      sql(other, 'INSERT INTO cups VALUES (2) ON CONFLICT DO NOTHING').then(
        () => true,
        () => false,
      );
    await expect.poll(insert, poll).toBe(true);
    up(killed);
    await expect.poll(() => areReady(...names), poll).toBe(true);
    expect(await sql(killed, 'SELECT id FROM cups ORDER BY id')).toEqual([[1], [2]]);
    const [first] = readExposition(await (await get(killed, '/metrics')).text()).find(
      ({ name }) => name === 'barista_build_info',
    )!.samples;
    expect(first!.labels).toMatchObject({ version: '0.1.0' });
    expect(first!.labels['postgres']).toMatch(/^\d+\.\d+/);
  });

  it('stops in the time that it is given, though a hand-over is under way, and in order', async () => {
    const first = await leader();
    const graceMs = Number.parseInt(compose.services[first]!.stop_grace_period, 10) * 1000;
    const container = containers.get(first)!;
    const transfer = spawn(
      process.execPath,
      commandOf(container, ['leader', 'transfer', '--config', '/etc/barista/barista.yaml']),
      { stdio: 'ignore' },
    );
    await new Promise((resolve) => setTimeout(resolve, 150));
    const beganMs = performance.now();
    expect(await stop(first)).toBe(0);
    expect(performance.now() - beganMs).toBeLessThan(graceMs);
    await ended(transfer);
    const others = names.filter((name) => name !== first);
    await expect.poll(() => areReady(...others), poll).toBe(true);
    expect(await sql(others[0]!, 'SELECT count(*)::int FROM cups')).toEqual([[2]]);
  });
});
