import { describe, expect, it } from 'vitest';
import { parseReplicaConfig, type ReplicaConfig } from '../config/replica-config.ts';
import { type DemoStore, segmentStore } from './demo-store.ts';
import { type DemoOptions, planReplicas, portsOf, replicaConfigOf } from './layout.ts';

const options: DemoOptions = {
  dataDir: '/data',
  replicas: 3,
  port: 7432,
  dashboardPort: 8080,
  pgBin: null,
  autoRestart: false,
  trace: false,
  check: false,
  logBytesMax: null,
  clientsMax: null,
  electionTimeoutMs: null,
  logStore: segmentStore,
  payload: 'wal',
  protocol: 'multi-paxos',
};

describe('the layout of a demo', () => {
  it('has the ports that the manual promises', () => {
    expect(portsOf(options).map((use) => use.port)).toEqual([
      8080, 7432, 7532, 8081, 7433, 7533, 8082, 7434, 7534, 8083,
    ]);
  });

  it('has ports for Thrift clients where they are asked for', () => {
    const withThrift = { ...options, thriftPort: 9000 };
    expect(portsOf(withThrift).map((use) => use.port)).toEqual(expect.arrayContaining([9000, 9001, 9002]));
    const plans = planReplicas(withThrift);
    const config = replicaConfigOf(plans[1]!, plans, withThrift, 'x'.repeat(32));
    expect(parseReplicaConfig(config, '/elsewhere').thrift).toMatchObject({ host: '127.0.0.1', port: 9001 });
    expect(() => portsOf({ ...options, thriftPort: 8080 })).toThrow(/Port 8080 .*--thrift-port/);
  });

  it('never uses a port twice', () => {
    expect(() => portsOf({ ...options, port: 8080 })).toThrow(
      /Port 8080 .*the dashboard.*--dashboard-port or --port/,
    );
    expect(() => portsOf({ ...options, port: 7980, dashboardPort: 8079 })).toThrow(/Port 8080 /);
    expect(() => portsOf({ ...options, dashboardPort: 65_534 })).toThrow(/above 65535.*--dashboard-port/);
  });

  it('gives every replica a configuration that is valid, knows all members, and allows faults', () => {
    const plans = planReplicas(options);
    for (const plan of plans) {
      const config = parseReplicaConfig(replicaConfigOf(plan, plans, options, 'x'.repeat(32)), '/elsewhere');
      expect(config).toMatchObject({ id: plan.id, dataDir: `/data/${plan.id}`, faults: true });
      expect(config.peers.map((peer) => [peer.id, peer.port, peer.pgwire.port])).toEqual([
        ['r1', 7532, 7432],
        ['r2', 7533, 7433],
        ['r3', 7534, 7434],
      ]);
      expect([config.peerListen.host, config.pgwire.host, config.http.host]).toEqual(
        Array(3).fill('127.0.0.1'),
      );
    }
  });

  it('gives replicas in ZooKeeper a short session and a short log, unless told otherwise', () => {
    const logStore: DemoStore = { kind: 'zookeeper', servers: ['zk1:2181'], root: '/barista-1' };
    const configOf = (more: Partial<DemoOptions>): ReplicaConfig => {
      const plans = planReplicas(options);
      const input = replicaConfigOf(plans[0]!, plans, { ...options, ...more }, 'x'.repeat(32));
      return parseReplicaConfig(input, '/elsewhere');
    };
    expect(configOf({}).logStore).toEqual({ kind: 'segment' });
    const config = configOf({ logStore });
    expect(config.logStore).toEqual({ ...logStore, sessionTimeoutMs: 2000 });
    expect(config.bounds.logBytesMax).toBe(64 * 2 ** 20);
    expect(configOf({ logStore, logBytesMax: 2 ** 20 }).bounds.logBytesMax).toBe(2 ** 20);
    expect(configOf({ logBytesMax: 2 ** 20 }).bounds.logBytesMax).toBe(2 ** 20);
    expect(configOf({ logStore, clientsMax: 300 }).bounds).toMatchObject({
      clientsMax: 300,
      logBytesMax: 64 * 2 ** 20,
    });
    expect(configOf({}).bounds.clientsMax).toBe(150);
  });

  it('counts statements without a query identifier in what EXPLAIN shows', () => {
    const plans = planReplicas(options);
    const input = replicaConfigOf(plans[0]!, plans, options, 'x'.repeat(32));
    expect(input.postgres?.settings).toEqual({
      shared_preload_libraries: 'pg_stat_statements',
      compute_query_id: 'regress',
    });
  });

  it.each([200, 300, 1200, 60_000])(
    'gives replicas an election time-out of %i ms that they take',
    (electionTimeoutMs) => {
      const plans = planReplicas(options);
      const input = replicaConfigOf(plans[0]!, plans, { ...options, electionTimeoutMs }, 'x'.repeat(32));
      const { timings } = parseReplicaConfig(input, '/elsewhere');
      expect(timings.electionTimeoutMinMs).toBe(electionTimeoutMs);
      expect(timings.electionTimeoutMaxMs).toBeCloseTo((electionTimeoutMs * 5) / 3, -1);
      if (electionTimeoutMs !== 1200) return;
      const own = parseReplicaConfig(
        replicaConfigOf(plans[0]!, plans, options, 'x'.repeat(32)),
        '/elsewhere',
      );
      expect(timings).toEqual(own.timings);
    },
  );
});
