import { describe, expect, it } from 'vitest';
import { parseReplicaConfig } from '../../replica/config.ts';
import { type DemoOptions, planReplicas, portsOf, replicaConfigOf } from './layout.ts';

const options: DemoOptions = {
  dataDir: '/data',
  replicas: 3,
  port: 7432,
  dashboardPort: 8080,
  pgBin: null,
  autoRestart: false,
  trace: false,
  logBytesMax: null,
};

describe('the layout of a demo', () => {
  it('has the ports that the manual promises', () => {
    expect(portsOf(options).map((use) => use.port)).toEqual([
      8080, 7432, 7532, 8081, 7433, 7533, 8082, 7434, 7534, 8083,
    ]);
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
});
