import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadReplicaConfig } from '../config/replica-config.ts';
import {
  type DemoDir,
  noteFounded,
  openDemoDir,
  readDemoSecret,
  readRunning,
  writeReplicaConfigs,
  writeRunning,
} from './data-dir.ts';
import { segmentStore } from './demo-store.ts';
import { planReplicas } from './layout.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'barista-demo-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** As a start whose ports are free leaves it. */
async function kept(...args: Parameters<typeof openDemoDir>): Promise<DemoDir> {
  const demo = await openDemoDir(...args);
  await demo.keep();
  mkdirSync(join(dir, 'r1'), { recursive: true });
  return demo;
}

describe('the data directory of a demo', () => {
  it('remembers the number of replicas and the secret', async () => {
    const first = await kept(dir, 5);
    await first.release();
    const second = await openDemoDir(dir, null);
    expect(second.cluster).toEqual(first.cluster);
    expect(second.cluster.replicas).toBe(5);
    await second.release();
  });

  it('remembers whether its group was founded', async () => {
    const first = await openDemoDir(dir, 3);
    expect(first.cluster.founded).toBe(false);
    await noteFounded(dir, first.cluster);
    await first.release();
    const second = await openDemoDir(dir, null);
    expect(second.cluster).toEqual({ ...first.cluster, founded: true });
    await second.release();
  });

  it('refuses another number of replicas, naming both, and stays usable', async () => {
    await (await kept(dir, null)).release();
    await expect(openDemoDir(dir, 5)).rejects.toThrow(/holds a cluster of 3 replicas, and --replicas is 5/);
    await (await openDemoDir(dir, 3)).release();
  });

  it('is read if it was written before logs could be anywhere but in files', async () => {
    const first = await kept(dir, 3);
    await first.release();
    const { cluster } = first;
    const { logStore, ...earlier } = cluster;
    expect(logStore).toEqual(segmentStore);
    writeFileSync(join(dir, 'demo.json'), JSON.stringify(earlier));
    const demo = await openDemoDir(dir, null);
    expect(demo.cluster).toEqual(cluster);
    await demo.release();
  });

  it('is for one demo at a time', async () => {
    const first = await openDemoDir(dir, null);
    await expect(openDemoDir(dir, null)).rejects.toThrow(/Another demo is running here.*--data-dir/);
    await first.release();
    await (await openDemoDir(dir, null)).release();
  });

  it('is not taken over from something else', async () => {
    writeFileSync(join(dir, 'demo.json'), '{"version": 9}');
    await expect(openDemoDir(dir, null)).rejects.toThrow(/not what a demo wrote/);
    writeFileSync(join(dir, 'demo.json'), '{"version": 1, "replicas": 3}');
    await expect(openDemoDir(dir, null)).rejects.toThrow(/of an earlier version of Barista/);
    writeFileSync(join(dir, 'file'), '');
    await expect(openDemoDir(join(dir, 'file'), null)).rejects.toThrow(/Cannot use .*--data-dir/);
  });

  it('of which a file cannot be read is refused in a sentence, and can be used when it can', async () => {
    await (await kept(dir, null)).release();
    mkdirSync(join(dir, 'running.json'));
    await expect(openDemoDir(dir, null)).rejects.toThrow(/^Cannot use .*EISDIR.*--data-dir/);
    rmdirSync(join(dir, 'running.json'));
    await (await openDemoDir(dir, null)).release();
  });

  it('is not one that holds other things: nothing is written there', async () => {
    writeFileSync(join(dir, 'notes.txt'), 'mine');
    for (const name of ['a', 'b', 'c']) mkdirSync(join(dir, name));
    const refused = openDemoDir(dir, null);
    await expect(refused).rejects.toThrow(
      /is not empty, and no demo has made it: it holds a, b, c and 1 more.*Use a new/,
    );
    await expect(refused).rejects.toMatchObject({ exitCode: 2 });
    expect(readdirSync(dir)).toEqual(['a', 'b', 'c', 'notes.txt']);
  });

  it('may hold what a demo left that ended before it wrote demo.json, and other things beside that one', async () => {
    writeFileSync(join(dir, 'lock.99999999.1.0123456789ab'), '');
    writeFileSync(join(dir, 'demo.json.new'), '{"ver');
    mkdirSync(join(dir, 'lost+found'));
    await (await kept(dir, 3)).release();
    writeFileSync(join(dir, 'notes.txt'), 'mine');
    const again = await openDemoDir(dir, null);
    expect(again.cluster.replicas).toBe(3);
    await again.release();
  });

  it('is created if it is not there', async () => {
    const demo = await openDemoDir(join(dir, 'new', 'one'), null);
    await demo.keep();
    await demo.release();
    expect(readdirSync(join(dir, 'new', 'one'))).toEqual(['demo.json']);
  });

  it('keeps its ports, by which its replicas know each other', async () => {
    const first = await kept(dir, 3, null, 9432);
    await first.release();
    const second = await openDemoDir(dir, null);
    expect(second.cluster.port).toBe(9432);
    await second.release();
    await expect(openDemoDir(dir, null, null, 7432)).rejects.toThrow(
      /ports from 9432 on, and --port is 7432/,
    );
    await (await openDemoDir(dir, null, null, 9432)).release();
    expect(await readDemoSecret(dir)).toBe(first.cluster.clusterSecret);
    expect(await readDemoSecret(join(dir, 'nothing'))).toBeNull();
  });

  it('keeps nothing of a start that was refused before its replicas were made', async () => {
    const refused = await openDemoDir(dir, 3, null, 9432);
    expect(refused.isSettled).toBe(false);
    await refused.release();
    expect(readdirSync(dir)).toEqual([]);
    // An earlier version did.
    const earlier = await openDemoDir(dir, 3, null, 9432);
    await earlier.keep();
    await earlier.release();
    const demo = await openDemoDir(dir, 5, null, 7442, { payload: 'statements', protocol: 'paxos' });
    expect(demo.cluster).toMatchObject({ replicas: 5, port: 7442, payload: 'statements', protocol: 'paxos' });
    await demo.release();
  });

  it('is settled once there is a directory of a replica', async () => {
    await (await kept(dir, 3, null, 9432)).release();
    const demo = await openDemoDir(dir, null);
    expect(demo.isSettled).toBe(true);
    await demo.release();
  });

  it('that cannot be made is refused in a sentence', async () => {
    // Node's own recursive mkdir never comes back from there.
    if (process.platform !== 'linux') return;
    await expect(openDemoDir('/proc/x/y', null)).rejects.toThrow(/^Cannot use \/proc\/x\/y: .*--data-dir/);
  });

  it('takes over a directory of before they were kept with those that it is given', async () => {
    const file = join(dir, 'demo.json');
    await (await kept(dir, 3)).release();
    const { port: _port, ...before } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    writeFileSync(file, JSON.stringify(before));
    const demo = await openDemoDir(dir, null, null, 9432);
    expect(demo.cluster.port).toBe(9432);
    await demo.release();
  });

  it('holds configurations that a replica can load, for the owner only', async () => {
    const demo = await openDemoDir(dir, 3);
    const layout = { dataDir: dir, replicas: 3, port: 7432, dashboardPort: 8080, pgBin: null };
    const options = {
      ...layout,
      autoRestart: false,
      trace: true,
      check: false,
      logBytesMax: 2 ** 20,
      clientsMax: null,
      electionTimeoutMs: null,
      logStore: segmentStore,
      payload: 'wal' as const,
      protocol: 'multi-paxos' as const,
    };
    const plans = planReplicas(options);
    await writeReplicaConfigs(plans, options, demo.cluster, (id) =>
      id === 'r2' ? { logLevel: 'debug' as const } : {},
    );
    expect(plans.map((plan) => loadReplicaConfig(plan.configFile).logLevel)).toEqual([
      'info',
      'debug',
      'info',
    ]);
    for (const plan of plans) {
      expect(loadReplicaConfig(plan.configFile).clusterSecret).toBe(demo.cluster.clusterSecret);
      expect(loadReplicaConfig(plan.configFile).bounds.logBytesMax).toBe(2 ** 20);
      expect(statSync(plan.configFile).mode & 0o077).toBe(0);
      expect(readFileSync(plan.configFile, 'utf8')).toContain('file: true');
    }
    await demo.release();
  });

  it('tells the next supervisor what the last one left, and nothing if the note is torn', async () => {
    await (await kept(dir, null)).release();
    const running = { pid: 1, dashboardPort: 8080, replicas: [{ pid: 2, began: 'x' }] };
    await writeRunning(dir, running);
    const demo = await openDemoDir(dir, null);
    expect(demo.before).toEqual(running);
    await demo.release();
    writeFileSync(join(dir, 'running.json'), '{"pid": 1, "da');
    expect(await readRunning(dir)).toBeNull();
  });
});
