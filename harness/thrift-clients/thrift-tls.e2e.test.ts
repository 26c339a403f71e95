/** The sample clients over TLS, against three real replicas: they go on at the next one when the first is frozen ahead of its handshake, and give up at once on a certificate that is not to be believed. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type CertificateMaker,
  makeCertificates,
} from '../../server/src/gateways/pgwire/testing/certificates.ts';
import { ServedGroup } from '../cluster/served-group.ts';
import { signalAll } from '../nemesis/processes.ts';
import { runSample, startSample } from './run-sample.ts';
import type { SampleClient } from './sample-client.ts';
import { sampleClients } from './sample-client.ts';
import { BuiltSamples, isSkipped } from './sample-clusters.ts';

let group: ServedGroup;
let believed: CertificateMaker;
let stranger: CertificateMaker;
const samples = new BuiltSamples();
/** Less than a client tries again for. */
const atOnceSeconds = 30;

beforeAll(async () => {
  believed = makeCertificates();
  stranger = makeCertificates();
  const own = believed.make('replica', 'replica');
  const misnamed = believed.make('misnamed', 'misnamed', 'DNS:elsewhere.invalid');
  group = await ServedGroup.create({
    settings: { isThriftServed: true },
    each: (id) => ({ isThriftServed: true, clientTls: id === 'r3' ? misnamed : own }),
  });
});
afterAll(async () => {
  await group?.stop();
  await samples.remove();
  for (const each of [believed, stranger]) each?.remove();
});

/** As the sample takes it: PEM, or for Java a trust store. */
function trustIn({ authority, dir }: CertificateMaker, { name }: SampleClient): string {
  if (name !== 'java') return authority;
  const store = join(dir, 'ca.p12');
  const plain = ['certProtectionAlgorithm', 'macAlgorithm'].map((key) => `-J-Dkeystore.pkcs12.${key}=NONE`);
  const options = ['-storetype', 'PKCS12', '-storepass', 'of no use', ...plain];
  execFileSync('keytool', ['-importcert', '-noprompt', '-file', authority, '-keystore', store, ...options], {
    stdio: 'pipe',
  });
  return store;
}

const placeOf = (id: string): string => `127.0.0.1:${group.thriftPort(id)}`;

it.for(sampleClients)('$name', async (client, { skip }) => {
  skip(isSkipped(client), client.how);
  const { signal } = new AbortController();
  const built = await samples.of(client, signal);
  const trust = trustIn(believed, client);
  const refused = async (place: string, ca: string): Promise<string> => {
    const settings = { BARISTA_REPLICAS: place, BARISTA_TABLE: 'refused', BARISTA_CA: ca };
    const { code, lines, seconds } = await startSample(client, built, settings, signal);
    expect(code).not.toBe(0);
    expect(seconds).toBeLessThan(atOnceSeconds);
    return lines.join('\n');
  };
  expect(await refused(placeOf('r1'), trustIn(stranger, client))).toMatch(/certificate|PKIX/i);
  expect(await refused(placeOf('r3'), trust)).toMatch(/certificate|altname|alternative|authorize/i);

  const frozen = group.processOf('r3')!;
  signalAll([frozen], 'SIGSTOP');
  try {
    const account = { host: '127.0.0.1', user: 'barista', password: 'barista', database: 'barista' };
    const cluster = {
      places: ['r3', 'r1', 'r2'].map(placeOf),
      sql: { ...account, port: group.pgwirePort('r1') },
      strike: null,
    };
    const report = await runSample(client, built, cluster, signal, { BARISTA_CA: trust });
    console.log(`${client.name}, TLS: ${report.retries} retries, ${report.seconds.toFixed(1)} s`);
    expect(report.complaints.join('\n')).toBe('');
    expect(report.retries).toBeGreaterThan(0);
  } finally {
    signalAll([frozen], 'SIGCONT');
  }
});
