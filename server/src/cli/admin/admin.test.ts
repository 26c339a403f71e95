import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { VerifyResult } from '../../api/status.ts';
import type { MemberAddress } from '../../multipaxos/types/members.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { CliError } from '../../main/errors.ts';
import {
  type FakeAdmin,
  fakeAdmin,
  fakeSecret,
  membership,
  type Reply,
  sendJson,
} from '../../main/testing/fake-admin.ts';
import { fetchMembership, resolveTarget } from './admin-client.ts';
import { adminToken } from '../../main/admin-token.ts';
import { runBackup } from './backup-command.ts';
import { runMembers } from './members-command.ts';
import { createProgressLine } from './progress-line.ts';
import { runVerify } from './verify-command.ts';
import { smallPosition } from '../../adapters/postgres/backup/testing/small-backup.ts';
import { encodeDirectoryState } from '../../adapters/postgres/directory-state.ts';

let admin: FakeAdmin | null = null;
let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'barista-admin-'));
});
afterEach(async () => {
  await admin?.close();
  admin = null;
  rmSync(dir, { recursive: true });
});

async function replica(reply: Reply): Promise<FakeAdmin> {
  admin = await fakeAdmin(reply);
  return admin;
}

/** The exit code and the message that a command ends with. */
async function failure(work: Promise<unknown>): Promise<readonly [number, string]> {
  try {
    await work;
  } catch (error) {
    if (error instanceof CliError) return [error.exitCode, error.message];
    throw error;
  }
  return [0, ''];
}

const [r3, r4] = ['r3', 'r4'] as ReplicaId[] as [ReplicaId, ReplicaId];
const address: MemberAddress = { host: 'db4', port: 7532, pgwire: { host: 'db4', port: 7432 } };
const refused =
  (code: string, leader?: string | null): Reply =>
  (_asked, response) =>
    sendJson(response, 409, {
      error: { code, message: 'it cannot be.', ...(leader === undefined ? {} : { leader }) },
    });

describe('an operator', () => {
  it('is known by a code of the secret, which is not the secret', async () => {
    expect(adminToken(fakeSecret)).toBe('5f886d3c4e6b265934bbf8349185e4b998dcaf5cbfa38e509c940bb8af335aef');
    const { target, asked } = await replica((_asked, response) =>
      sendJson(response, 200, { ok: true, membership: membership({ r1: 'voter' }) }),
    );
    await runMembers(target, { action: 'remove', replica: r3 }, () => {});
    expect(asked).toEqual([
      {
        method: 'POST',
        path: '/api/members',
        authorization: `Bearer ${adminToken(fakeSecret)}`,
        body: { action: 'remove', replica: 'r3' },
      },
    ]);
  });

  it('is told whom to ask instead, that nobody leads, or why not', async () => {
    const remove = async (reply: Reply) => {
      const { target } = await replica(reply);
      const told = await failure(runMembers(target, { action: 'remove', replica: r3 }, () => {}));
      await admin?.close();
      return told;
    };
    expect(await remove(refused('notLeader', 'r2'))).toEqual([
      4,
      'Refused: only the leader can do this. Run the command with the configuration of r2.',
    ]);
    expect(await remove(refused('notLeader', null))).toEqual([
      4,
      'Refused: it cannot be. Try again in a moment.',
    ]);
    expect(await remove(refused('wouldLoseQuorum'))).toEqual([4, 'Refused: it cannot be.']);
    expect(await remove(refused('timedOut'))).toEqual([1, 'Failed: it cannot be.']);
    expect(await remove((_asked, response) => response.writeHead(404).end('<html>'))).toEqual([
      3,
      expect.stringMatching(/is not a replica \(HTTP 404\)/),
    ]);
    admin = null;
  });

  it('is told that the replica does not run, and where it was looked for', async () => {
    const { target } = await replica(() => {});
    await admin?.close();
    admin = null;
    expect(await failure(fetchMembership({ ...target, id: r3 }))).toEqual([
      3,
      `r3 does not answer on 127.0.0.1:${target.port} (ECONNREFUSED). Is "barista serve" running there?`,
    ]);
  });

  it('reaches the replica of a configuration on this machine, also if that listens on all addresses', async () => {
    const file = join(dir, 'r1.yaml');
    const endpoint = '{ host: db1, port: 7532, pgwire: { host: db1, port: 7432 } }';
    writeFileSync(
      file,
      [
        'group: main',
        'id: r1',
        'dataDir: data',
        `peers: [{ id: r1, ${endpoint.slice(1)}]`,
        'peerListen: { port: 7532 }',
        `clusterSecret: ${fakeSecret}`,
        'pgwire: { port: 7432 }',
        'http: { host: 0.0.0.0, port: 8181 }',
        'verify: { timeoutMinutes: 7 }',
      ].join('\n'),
    );
    expect(await resolveTarget({ kind: 'replica', configFile: file })).toEqual({
      kind: 'replica',
      id: 'r1',
      host: '127.0.0.1',
      port: 8181,
      headers: { authorization: `Bearer ${adminToken(fakeSecret)}` },
      tls: null,
      verifyMinutes: 7,
    });
    const demo = await resolveTarget({ kind: 'demo', target: { dashboardPort: 9090, dataDir: dir } });
    expect(demo).toMatchObject({ kind: 'demo', port: 9090, headers: {} });
  });
});

describe('an operator with a token', () => {
  const at = (text: string, token: string | null = 'token') => {
    if (token !== null) writeFileSync(join(dir, 'token'), `${token}\n`);
    return resolveTarget({ kind: 'url', url: new URL(text), tokenFile: join(dir, 'token'), authority: null });
  };

  it('is sent to the place that was given, with what the file holds', async () => {
    expect(await at('https://db1.example:8081')).toEqual({
      kind: 'url',
      id: null,
      host: 'db1.example',
      port: 8081,
      headers: { authorization: 'Bearer token' },
      tls: {},
      verifyMinutes: 30,
    });
    expect(await at('http://[::1]:8081')).toMatchObject({ host: '::1', tls: null });
    expect(await at('https://db1.example')).toMatchObject({ port: 443 });
  });

  it('does not send it to another machine without TLS, nor without having one', async () => {
    const told = [await failure(at('http://db1.example:8081')), await failure(at('https://db1:8081', ' '))];
    expect(told).toEqual([
      [2, 'A token that is sent to db1.example:8081 without TLS can be overheard: use https.'],
      [2, 'There is no token: give --token-file, or set BARISTA_TOKEN.'],
    ]);
    rmSync(join(dir, 'token'));
    expect(await failure(at('https://db1:8081', null))).toEqual([
      2,
      `Cannot read ${join(dir, 'token')} (ENOENT).`,
    ]);
  });
});

describe('the members', () => {
  it('are listed, the expected ones and the incarnations told', async () => {
    const { target } = await replica((_asked, response) =>
      sendJson(response, 200, { membership: membership({ r1: 'voter', r2: 'learner', r4: 'expected' }, 7) }),
    );
    const lines: string[] = [];
    await runMembers(target, { action: 'list', json: false }, (line) => lines.push(line));
    expect(lines.join('\n').split('\n')).toEqual([
      'version 7',
      'replica  role      incarnation  peers    pgwire',
      'r1       voter     r1           db:7532  db:7432',
      'r2       learner   r2.2         db:7532  db:7432',
      'r4       expected  -            db:7532  db:7432',
    ]);
  });

  it('of a demo are those that its best informed replica knows', async () => {
    const { target } = await replica((_asked, response) =>
      sendJson(response, 200, {
        replicas: [
          { status: null },
          { status: { membership: membership({ r1: 'voter' }, 3) } },
          { status: { membership: membership({ r1: 'voter', r2: 'voter' }, 4) } },
        ],
      }),
    );
    expect((await fetchMembership({ ...target, kind: 'demo' })).version).toBe(4);
  });

  const replacement = { action: 'replace', old: r3, replica: r4, address, waitMinutes: 1 } as const;
  /** A group that lets r4 in after two looks. */
  function group(members: Parameters<typeof membership>[0]) {
    let roles: Record<string, 'voter' | 'learner' | 'expected'> = { ...members };
    let looks = 0;
    const reply: Reply = ({ path, body }, response) => {
      const change = body as { action?: string; replica?: string } | null;
      if (path === '/api/members' && change?.action === 'add') roles = { ...roles, r4: 'expected' };
      if (path === '/api/members' && change?.action === 'remove') {
        const { [change.replica ?? '']: _gone, ...rest } = roles;
        roles = rest;
      }
      if (path === '/api/status' && roles['r4'] === 'expected' && ++looks > 1)
        roles = { ...roles, r4: 'voter' };
      sendJson(response, 200, { ok: true, membership: membership(roles) });
    };
    return reply;
  }

  it('are replaced in order: the old one goes only when the new one votes', async () => {
    const { target, asked } = await replica(group({ r1: 'voter', r2: 'voter', r3: 'voter' }));
    const lines: string[] = [];
    await runMembers(target, replacement, (line) => lines.push(line));
    expect(asked.map(({ path, body }) => (body as { action?: string } | null)?.action ?? path)).toEqual([
      '/api/status',
      'add',
      '/api/status',
      '/api/status',
      'remove',
    ]);
    expect(lines).toEqual([
      'r4 is expected. Start it now ("barista serve").',
      'Waiting for r4 to join...',
      'r4 votes, and r3 is no member any more. Stop r3, if it runs.',
    ]);
  });

  it('a replacement that was interrupted goes on from there, and is not done twice', async () => {
    const first = await replica(group({ r1: 'voter', r3: 'voter', r4: 'voter' }));
    await runMembers(first.target, replacement, () => {});
    expect(first.asked.map(({ path }) => path)).toEqual(['/api/status', '/api/status', '/api/members']);
    await runMembers(first.target, replacement, () => {});
    expect(first.asked.length).toBe(4);
  });

  it('a replacement takes nobody away if the new one does not vote in time', async () => {
    const { target, asked } = await replica((_asked, response) =>
      sendJson(response, 200, { ok: true, membership: membership({ r3: 'voter', r4: 'learner' }) }),
    );
    const [code, message] = await failure(runMembers(target, { ...replacement, waitMinutes: 0 }, () => {}));
    expect([code, message]).toEqual([1, expect.stringContaining('r3 was not removed')]);
    expect(asked.every(({ path }) => path === '/api/status')).toBe(true);
  });

  it('a replica cannot replace itself, nor one that is no member', async () => {
    const { target } = await replica((_asked, response) =>
      sendJson(response, 200, { membership: membership({ r1: 'voter' }) }),
    );
    expect((await failure(runMembers(target, { ...replacement, replica: r3 }, () => {})))[0]).toBe(2);
    expect(await failure(runMembers(target, replacement, () => {}))).toEqual([
      4,
      'Refused: r3 is no member.',
    ]);
  });
});

describe('a comparison', () => {
  const result = (...outcomes: readonly ('equal' | 'differs' | 'noReport')[]): VerifyResult =>
    ({
      slot: 12,
      replicas: outcomes.map((outcome, index) => ({
        replica: `r${index + 1}`,
        outcome,
        detail:
          outcome === 'differs'
            ? Array.from({ length: 11 }, (_, at) => `public.t${at}`)
            : outcome === 'noReport'
              ? ['no answer in time']
              : [],
      })),
      leftOut: 0,
      advice: outcomes.includes('differs') ? ['r2 takes a copy.'] : [],
    }) as unknown as VerifyResult;
  const run = async (answer: VerifyResult, repair = false) => {
    const { target, asked } = await replica((_asked, response) => sendJson(response, 200, answer));
    const lines: string[] = [];
    const code = await runVerify(target, { repair, json: false }, (line) => lines.push(line));
    await admin?.close();
    admin = null;
    return { code, text: lines.join('\n'), body: asked[0]?.body };
  };

  it('says which replicas differ and in what, and scripts see it by the exit code', async () => {
    expect(await run(result('equal', 'equal'))).toEqual({
      code: 0,
      text: 'Compared as of slot 12:\n  r1  equal\n  r2  equal\nAll are equal.',
      body: { repair: false },
    });
    const differs = await run(result('equal', 'differs', 'noReport'), true);
    expect(differs.code).toBe(5);
    expect(differs.body).toEqual({ repair: true });
    expect(differs.text).toContain('r2  differs: public.t0, public.t1, public.t2');
    expect(differs.text).toContain('public.t7 and 3 more');
    expect(differs.text).toMatch(/and 3 more\n.*\nr2 takes a copy\.$/);
    const partly = await run({
      ...result('equal', 'equal'),
      leftOut: 1,
      advice: ['Not compared by all: t (why).'],
    });
    expect([partly.code, partly.text]).toEqual([
      1,
      expect.stringMatching(/but not everything was compared\.\nNot/),
    ]);
    const hostile = await run({
      ...result('equal', 'equal'),
      leftOut: 1,
      advice: ['Not compared by all: database e\x1b]0;x\x07\nAll are equal. (it lets nobody in).'],
    });
    expect(hostile.text.split('\n').at(-1)).toBe(
      String.raw`Not compared by all: database e\x1b]0;x\x07\x0aAll are equal. (it lets nobody in).`,
    );
    const silent = await run(result('equal', 'noReport'));
    expect([silent.code, silent.text]).toEqual([1, expect.stringContaining('no report: no answer in time')]);
  });
});

describe('a backup', () => {
  const names = {
    group: 'main',
    cluster: 'c0ffee',
    postgresVersion: '18.4',
    takenAt: '2026-11-20T12:00:00Z',
  };
  const header = { ...names, ...smallPosition };
  const state: unknown = JSON.parse(encodeDirectoryState({ role: { kind: 'standby' }, ...smallPosition }));
  const firstLine = JSON.stringify({ format: 'barista-backup-2', ...names, state });
  const body = Buffer.concat([Buffer.from(`${firstLine}\n`), Buffer.alloc(300_000, 7)]);
  const sha256 = createHash('sha256').update(body).digest('hex');
  const whole = Buffer.concat([body, Buffer.from(`${`\nsha256 ${sha256}`.padEnd(95)}\n`)]);
  const silent = createProgressLine({ what: '', write: () => {}, terminal: false, nowMs: () => 0 });
  const ended = new AbortController();
  const take = async (reply: Reply, replace = false, to = join(dir, 'b'), { signal } = ended) => {
    const { target } = await replica(reply);
    try {
      return await runBackup(target, to, replace, silent, signal);
    } finally {
      await admin?.close();
      admin = null;
    }
  };
  const send =
    (bytes: Buffer): Reply =>
    (_asked, response) =>
      void response.writeHead(200).end(bytes);
  const files = () => [existsSync(join(dir, 'b')), existsSync(join(dir, 'b.part'))];

  it('has its name when all of it is there', async () => {
    expect(await take(send(whole))).toEqual({ bytes: whole.length, header });
    expect(readFileSync(join(dir, 'b')).equals(whole)).toBe(true);
    expect(files()).toEqual([true, false]);
  });

  it('that was cut off or altered is no backup, and leaves nothing', async () => {
    const altered = Buffer.from(whole);
    altered[1000] = 8;
    expect(await failure(take(send(altered)))).toEqual([1, expect.stringMatching(/its checksum is wrong/)]);
    expect(await failure(take(send(whole.subarray(0, 200_000))))).toEqual([
      1,
      expect.stringMatching(/cut off: its last line is missing/),
    ]);
    const torn: Reply = (_asked, response) => {
      response.writeHead(200, { 'content-length': whole.length });
      response.write(whole.subarray(0, 100_000), () => response.destroy());
    };
    expect(await failure(take(torn))).toEqual([
      1,
      expect.stringMatching(/ended the transfer after \d+ bytes/),
    ]);
    expect(files()).toEqual([false, false]);
  });

  it('does not take the place of a file unless told to, nor when it fails', async () => {
    writeFileSync(join(dir, 'b'), 'precious');
    expect((await failure(take(send(whole))))[0]).toBe(2);
    expect((await failure(take(send(whole.subarray(9)), true)))[0]).toBe(1);
    expect((await failure(take(refused('unavailable'), true)))[0]).toBe(4);
    expect(readFileSync(join(dir, 'b'), 'utf8')).toBe('precious');
    await take(send(whole), true);
    expect(readFileSync(join(dir, 'b')).equals(whole)).toBe(true);
  });

  it('is not written where another one is, nor into what is no file, nor into a directory of PostgreSQL', async () => {
    writeFileSync(join(dir, 'b.part'), 'of another');
    expect(await failure(take(send(whole)))).toEqual([2, expect.stringMatching(/another backup/)]);
    expect(readFileSync(join(dir, 'b.part'), 'utf8')).toBe('of another');
    rmSync(join(dir, 'b.part'));
    expect(await failure(take(send(whole), true, dir))).toEqual([
      2,
      expect.stringMatching(/is not a regular file/),
    ]);
    mkdirSync(join(dir, 'data', 'base'), { recursive: true });
    writeFileSync(join(dir, 'data', 'PG_VERSION'), '18');
    expect(await failure(take(send(whole), false, join(dir, 'data', 'base', 'b')))).toEqual([
      2,
      expect.stringMatching(/inside PostgreSQL's directory .*data/),
    ]);
    symlinkSync(join(dir, 'data', 'base'), join(dir, 'link'));
    expect((await failure(take(send(whole), false, join(dir, 'link', 'b'))))[0]).toBe(2);
  });

  it('that is ended by its operator says so, and leaves nothing', async () => {
    const control = new AbortController();
    const slow: Reply = (_asked, response) => {
      response.writeHead(200, { 'content-length': whole.length });
      response.write(whole.subarray(0, 100_000), () => control.abort(new Error('ended by SIGINT')));
    };
    const to = join(dir, 'b');
    expect(await failure(take(slow, false, to, control))).toEqual([
      1,
      expect.stringMatching(/ended by SIGINT/),
    ]);
    expect(files()).toEqual([false, false]);
  });
});

describe('the line of progress', () => {
  it('is rewritten on a terminal, and elsewhere told every ten seconds', () => {
    const told = (terminal: boolean): string[] => {
      const texts: string[] = [];
      let now = 0;
      const line = createProgressLine({
        what: 'Received',
        write: (text) => texts.push(text),
        terminal,
        nowMs: () => now,
      });
      for (now = 50; now <= 20_000; now += 50) line.update(now * 100_000, terminal ? 1e9 : null);
      line.clear();
      return texts;
    };
    const onTerminal = told(true);
    expect(onTerminal.length).toBe(201);
    expect(onTerminal[100]).toBe('\r\u001B[KReceived 1.0 GB of about 1.0 GB (99 %), 100 MB/s');
    expect(onTerminal.at(-1)).toBe('\r\u001B[K');
    expect(told(false)).toEqual(['Received 1.0 GB, 100 MB/s\n', 'Received 2.0 GB, 100 MB/s\n']);
  });
});
