/** TLS between replicas, and those who are not who they say they are. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { connect } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { eventually } from '../../ports/testing/eventually.ts';
import { freePort } from '../testing/ports.ts';
import { type CertificatePaths, readCertificates } from '../tls-files/read-certificates.ts';
import { CertificateFolder, testAuthority, validFor } from '../tls-files/testing/certificate-folder.ts';
import { openTlsFiles, type TlsFiles } from '../tls-files/tls-files.ts';
import { answerChallenge, readChallenge } from './handshake.ts';
import { encodeMessage } from './message-codec.ts';
import { diallerOptions, isNamed, listenerOptions, type PeerTls } from './peer-tls.ts';
import { stranger, sendRaw } from './testing/stranger.ts';
import {
  accept,
  connectedPair,
  endAll,
  group,
  heartbeat,
  onEnd,
  pair,
  points,
  r1,
  r2,
  r3,
  secret,
  start,
  type TestTransport,
} from './testing/transports.ts';
import { ownVersions } from './versions.ts';

afterEach(endAll);

async function folder(): Promise<CertificateFolder> {
  const made = await CertificateFolder.make();
  onEnd(() => made.remove());
  return made;
}

const log = { info() {}, warn() {}, error() {} };

/** Certificates, as a transport is given them. */
async function tlsOf(
  paths: CertificatePaths,
  required = true,
): Promise<PeerTls & { readonly certificates: TlsFiles }> {
  const certificates = await filesOf(paths);
  return { certificates, required };
}

async function filesOf(paths: CertificatePaths): Promise<TlsFiles> {
  const files = await openTlsFiles({ name: 'peerTls', paths, log, everyMs: 3_600_000 });
  onEnd(() => files.close());
  return files;
}

/** r1 with TLS, and nobody else there. */
async function alone(): Promise<{
  readonly one: TestTransport;
  readonly certificates: CertificateFolder;
  readonly refused: string[];
}> {
  const certificates = await folder();
  const refused: string[] = [];
  const tls = await tlsOf(await certificates.write('r1'));
  const one = await start(
    r1,
    { r1: await freePort(), r2: 0 },
    { tls, onRefused: (_from, why) => refused.push(why) },
  );
  return { one, certificates, refused };
}

/** Says that it is r2, knows the secret, and shows these certificates. Why it was sent away, or `let in`. */
async function come(port: number, paths: CertificatePaths | null, id: ReplicaId = r2): Promise<string> {
  const shown = paths === null ? null : await readCertificates(paths);
  const socket = new WebSocket(`wss://127.0.0.1:${port}/peer`, {
    rejectUnauthorized: false,
    ...(shown === null ? {} : { cert: shown.certificate, key: shown.key }),
  });
  onEnd(() => socket.terminate());
  let trouble = '';
  socket.on('error', (error) => (trouble = error.message));
  let answered = false;
  return new Promise((resolve) => {
    socket.on('close', (_code, reason) => resolve(reason.toString() || trouble));
    socket.on('message', (data) => {
      if (answered) return resolve('let in');
      answered = true;
      const challenge = readChallenge((data as Buffer).toString())!;
      const identity = { group, id, secret, cluster: null, versions: ownVersions };
      const question = { to: r1, purpose: 'messages' } as const;
      socket.send(JSON.stringify(answerChallenge(identity, question, challenge, ownVersions.newest)));
    });
  });
}

describe('replicas with certificates of one authority', () => {
  it('speak with each other over TLS 1.3, small messages and large ones', async () => {
    const certificates = await folder();
    const [tls1, tls2] = [
      await tlsOf(await certificates.write('r1')),
      await tlsOf(await certificates.write('r2')),
    ];
    const { one, two } = await connectedPair({ tls: tls1 }, { tls: tls2 });
    one.send(r2, accept(new Uint8Array(3_000_000).fill(7)));
    one.send(r2, heartbeat(2));
    two.send(r1, heartbeat(1));
    await eventually(() => expect([points(one.received), points(two.received)]).toEqual([[1], [-1, 2]]));
  });

  it('copy over it', async () => {
    const certificates = await folder();
    const [tls1, tls2] = [
      await tlsOf(await certificates.write('r1')),
      await tlsOf(await certificates.write('r2')),
    ];
    const { one, two } = await connectedPair({ tls: tls1 }, { tls: tls2 });
    one.offerCopies({
      serve: async (channel) => {
        channel.end(Buffer.alloc(700_000, 5));
        await once(channel, 'close');
      },
    });
    const channel = await two.open(r1, new AbortController().signal);
    let bytes = 0;
    channel.on('data', (chunk: Buffer) => (bytes += chunk.length));
    channel.end();
    await once(channel, 'end');
    expect(bytes).toBe(700_000);
  });

  it('use new certificates, of a new authority too, from the next connection on, and let nobody stay who is of none that they believe', async () => {
    const certificates = await folder();
    const paths = [await certificates.write('r1'), await certificates.write('r2')] as const;
    const [tls1, tls2] = [await tlsOf(paths[0]), await tlsOf(paths[1])];
    const changes: string[] = [];
    const { one, two } = await connectedPair(
      { tls: tls1, onPeerChange: (_peer, up, why) => changes.push(`${up} ${why}`) },
      { tls: tls2 },
    );
    // One after the other, as an operator would: first all believe both, then each has its own of the new one.
    const both = `${(await testAuthority('ours')).certificate}${(await testAuthority('next')).certificate}`;
    for (const [index, { certificates: files }] of [tls1, tls2].entries()) {
      await writeFile(paths[index]!.authority, both);
      await files.look();
    }
    await eventually(() => expect([one.connected(), two.connected()]).toEqual([[r2], [r1]]));
    expect(changes).toContain('false another authority is believed');
    await certificates.write('r1', { authority: 'next' });
    await certificates.write('r2', { authority: 'next' });
    for (const { certificates: files } of [tls1, tls2]) await files.look();
    expect(tls1.certificates.status().problem).toBeNull();
    // r2 goes on with its certificate of the old authority, which r1 believes no more.
    await writeFile(paths[0].authority, (await testAuthority('next')).certificate);
    await tls1.certificates.look();
    await eventually(() => expect(one.connected()).toEqual([r2]));
    one.send(r2, heartbeat(9));
    await eventually(() => expect(points(two.received)).toEqual([9]));
  });
});

describe('somebody who knows the secret is not let in', () => {
  it('with a certificate of another authority', async () => {
    const { one, certificates } = await alone();
    const theirs = await certificates.write('r2', { authority: 'theirs' });
    expect(await come(one.port, theirs)).toMatch(/unknown ca|ECONNRESET|socket hang up|alert/i);
  });

  it("with another member's certificate, or one that names it in any other way than letter by letter", async () => {
    const { one, certificates, refused } = await alone();
    for (const names of [['r3'], ['R2'], ['*'], ['r2.example.net', 'xr2', '10.0.0.2']]) {
      const paths = await certificates.write('other', { names });
      expect([names, await come(one.port, paths)]).toEqual([
        names,
        'shows a certificate that does not name "r2"',
      ]);
    }
    expect(refused).toHaveLength(4);
    // It may name hosts besides.
    const right = await certificates.write('r2', { names: ['db2.example.net', '10.0.0.2', 'r2'] });
    expect(await come(one.port, right)).toBe('let in');
  });

  it('though its subject names it', async () => {
    const { one, certificates } = await alone();
    const paths = await certificates.write('r2', { names: ['db2.example.net'] });
    expect(await come(one.port, paths)).toBe('shows a certificate that does not name "r2"');
  });

  it('with one that has expired, or is not valid yet', async () => {
    const { one, certificates, refused } = await alone();
    expect(await come(one.port, await certificates.write('r2', { validity: validFor(-9, -1) }))).not.toBe(
      'let in',
    );
    expect(await come(one.port, await certificates.write('r2', { validity: validFor(1, 9) }))).not.toBe(
      'let in',
    );
    await eventually(() => expect(refused).toHaveLength(2));
    expect(refused[0]).toMatch(/^TLS: /);
  });

  it('with none, nor without TLS, nor with an older one', async () => {
    const { one, certificates } = await alone();
    expect(await come(one.port, null)).not.toBe('let in');
    const plain = await stranger(one.port, (socket) =>
      sendRaw(socket, 'r2', 'r1', encodeMessage(heartbeat(1))),
    );
    expect(plain.texts).toEqual([]);
    const { certificate: cert, key } = await readCertificates(await certificates.write('r2'));
    const old = connect({
      port: one.port,
      host: '127.0.0.1',
      cert,
      key,
      rejectUnauthorized: false,
      maxVersion: 'TLSv1.2',
    });
    const [error] = (await once(old, 'error')) as [Error];
    expect(error.message).toMatch(/protocol version/i);
    expect(one.received).toEqual([]);
  });

  it('with the secret missing', async () => {
    const certificates = await folder();
    const [tls1, tls2] = [
      await tlsOf(await certificates.write('r1')),
      await tlsOf(await certificates.write('r2')),
    ];
    const reasons: string[] = [];
    await pair(
      { tls: tls1 },
      { tls: tls2, secret: 'another secret', onPeerChange: (_peer, _up, why) => reasons.push(why) },
    );
    await eventually(() => expect(reasons).toContain('refused: does not know the cluster secret'));
  });
});

describe('nothing is said to', () => {
  async function dialTo(
    paths: CertificatePaths,
  ): Promise<{ readonly reasons: string[]; readonly upgrades: () => number }> {
    const identity = await readCertificates(paths);
    const server = createServer({
      ...listenerOptions(identity),
      requestCert: false,
      rejectUnauthorized: false,
    });
    let upgrades = 0;
    server.on('upgrade', (_request, stream) => {
      upgrades += 1;
      stream.destroy();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onEnd(() => server.close());
    const certificates = await folder();
    const reasons: string[] = [];
    await start(
      r1,
      { r1: 0, r2: (server.address() as { port: number }).port },
      {
        tls: await tlsOf(await certificates.write('r1')),
        onPeerChange: (_peer, _up, why) => reasons.push(why),
      },
    );
    await eventually(() => expect(reasons.length).toBeGreaterThan(0));
    return { reasons, upgrades: () => upgrades };
  }

  it.each<[string, Parameters<CertificateFolder['write']>[1], string]>([
    [
      'a listener of another authority',
      { authority: 'theirs' },
      'shows a certificate that is not of the authority in peerTls',
    ],
    [
      "one with another member's certificate",
      { names: ['r3', '127.0.0.1'] },
      'shows a certificate that does not name "r2"',
    ],
    [
      'one whose certificate has expired',
      { validity: validFor(-9, -1) },
      'shows a certificate that has expired',
    ],
  ])('%s', async (_who, wishes, reason) => {
    const { reasons, upgrades } = await dialTo(await (await folder()).write('r2', wishes));
    expect(reasons[0]).toBe(reason);
    expect(upgrades()).toBe(0);
  });

  it('a listener without TLS', async () => {
    const certificates = await folder();
    const reasons: string[] = [];
    const tls = await tlsOf(await certificates.write('r1'));
    const { one, two } = await pair({ tls, onPeerChange: (_peer, _up, why) => reasons.push(why) }, {});
    await eventually(() =>
      expect(reasons).toContain('does not speak TLS (peerTls in its configuration), and this replica does'),
    );
    expect([one.connected(), two.connected()]).toEqual([[], []]);
  });
});

describe('while the members of a group are given certificates', () => {
  it('one that has them, and does not require them, speaks with one that has none, copies included', async () => {
    const certificates = await folder();
    const tls = await tlsOf(await certificates.write('r1'), false);
    const { one, two } = await connectedPair({ tls }, {});
    one.send(r2, heartbeat(1));
    two.send(r1, heartbeat(2));
    await eventually(() => expect([points(one.received), points(two.received)]).toEqual([[2], [1]]));
    for (const [source, target, id] of [
      [one, two, r1],
      [two, one, r2],
    ] as const) {
      source.offerCopies({ serve: async (channel) => void channel.end('all of it') });
      const channel = await target.open(id, new AbortController().signal);
      channel.end();
      const [first] = (await once(channel, 'data')) as [Buffer];
      expect(first.toString()).toBe('all of it');
    }
  });

  it('two that have them speak TLS with each other, whether they require it or not', async () => {
    for (const required of [true, false]) {
      const certificates = await folder();
      const tls1 = await tlsOf(await certificates.write('r1'), false);
      const tls2 = await tlsOf(await certificates.write('r2'), required);
      const reasons: string[] = [];
      const { one, two } = await connectedPair(
        { tls: tls1, onRefused: (_from, why) => reasons.push(why) },
        { tls: tls2 },
      );
      one.send(r2, heartbeat(1));
      await eventually(() => expect(points(two.received)).toEqual([1]));
      expect(reasons).toEqual([]);
      // With a certificate of another it is refused, as ever.
      const other = await certificates.write('other', { names: ['r3'] });
      expect(await come(one.port, other)).toBe('shows a certificate that does not name "r2"');
      await endAll();
    }
  });

  it('one that requires them speaks with nobody who has none', async () => {
    const certificates = await folder();
    const tls = await tlsOf(await certificates.write('r1'));
    const reasons: string[] = [];
    const { one, two } = await pair({ tls }, { onPeerChange: (_peer, _up, why) => reasons.push(why) });
    await eventually(() => expect(reasons.length).toBeGreaterThan(0));
    expect([one.connected(), two.connected()]).toEqual([[], []]);
  });

  it('a silent connection is ended', async () => {
    const certificates = await folder();
    const tls = await tlsOf(await certificates.write('r1'), false);
    const one = await start(r1, { r1: await freePort(), r2: 0 }, { tls, limits: { handshakeMs: 200 } });
    const silent = connectPlain(one.port, '127.0.0.1');
    const [hadError] = (await once(silent, 'close')) as [boolean];
    expect(hadError).toBe(false);
  });
});

it('a name is looked for among the alternative names of a certificate alone', async () => {
  const certificates = await folder();
  const { certificate } = await readCertificates(await certificates.write('r2', { names: ['r1', 'db1_a'] }));
  const parsed = new X509Certificate(certificate);
  const named = [r1, r2, r3, 'db1_a' as ReplicaId, 'db1' as ReplicaId].map((id) => isNamed(parsed, id));
  expect(named).toEqual([true, false, false, true, false]);
  expect(
    diallerOptions({ certificate, key: '', authority: null }, r1).checkServerIdentity('x', {
      raw: parsed.raw,
    } as never),
  ).toBeUndefined();
});

it('a certificate whose subject alone is a replica names nobody', async () => {
  const certificates = await folder();
  const { certificate } = await readCertificates(await certificates.write('r2', { names: [] }));
  const parsed = new X509Certificate(certificate);
  expect(parsed.subject).toContain('r2');
  expect(isNamed(parsed, r2)).toBe(false);
});
