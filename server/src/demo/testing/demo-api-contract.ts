/**
 * What the demo's API promises the dashboard and the command line, for whatever cluster is behind it: processes with PostgreSQL, or a group in simulated time.
 *
 * Assumes a healthy cluster of three, and leaves it so.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { z } from 'zod';
import type { ClusterReplica, ClusterStatus } from '../../api/status.ts';
import { eventually } from '../../ports/testing/eventually.ts';
import {
  clusterShape,
  frameShape,
  refusalShape,
  slotShape,
  sqlErrorShape,
  sqlShape,
  verifyShape,
} from './demo-api-shapes.ts';

export interface DemoApiFixture {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** A table with one text column. */
  readonly table: string;
}

export function describeDemoApi(name: string, fixture: () => DemoApiFixture): void {
  describe(`the demo's API over ${name}`, () => {
    const { get, post, cluster, replica } = createApi(() => fixture().url);
    let leader = '';
    let followers: readonly string[] = [];

    beforeAll(async () => {
      await eventually(async () => {
        const { replicas } = await cluster();
        expect(replicas.map(({ status }) => status?.state)).toEqual(['serving', 'serving', 'serving']);
        leader = replicas.find(({ status }) => status?.role === 'leader')?.id ?? '';
        expect(leader).not.toBe('');
        followers = replicas.flatMap(({ id }) => (id === leader ? [] : [id]));
      });
    });

    describe('a page', () => {
      it('of this server is served under a policy, and one of another site nothing', async () => {
        const { headers } = await fetch(`${fixture().url}/api/cluster`);
        expect(headers.get('content-security-policy')).toContain("default-src 'self'");
        const foreign = await fetch(`${fixture().url}/api/cluster`, {
          headers: { origin: 'http://elsewhere.example' },
        });
        expect(foreign.status).toBe(403);
      });

      it('that watches is greeted with the cluster, and hears of events and rates', async () => {
        const seen = new Map<string, number>();
        const socket = new WebSocket(`${fixture().url.replace('http', 'ws')}/api/stream`);
        const first = new Promise<string>((resolve) => {
          socket.on('message', (data: Buffer) => {
            const { type } = frameShape.parse(JSON.parse(data.toString()));
            seen.set(type, (seen.get(type) ?? 0) + 1);
            resolve(type);
          });
        });
        expect(await first).toBe('cluster');
        await eventually(() => expect([...seen.keys()].toSorted()).toEqual(['cluster', 'events', 'rates']));
        await eventually(() => expect(seen.get('cluster')).toBeGreaterThan(2));
        socket.close();
      });
    });

    describe('faults', () => {
      const fault = (body: object) => post('/api/fault', body);
      afterAll(async () => {
        await fault({ action: 'heal' });
      });

      it('that make no sense are refused, and say why', async () => {
        const refused = async (body: object): Promise<readonly [number, string]> => {
          const { status, body: answer } = await fault(body);
          return [status, refusalShape.parse(answer).error.code];
        };
        expect(await refused({ action: 'explode' })).toEqual([400, 'badRequest']);
        expect(await refused({ action: 'crash', replica: 'r9' })).toEqual([409, 'unknownReplica']);
        expect(await refused({ action: 'resume', replica: 'r1' })).toEqual([409, 'notPaused']);
        expect(await refused({ action: 'drop', from: 'r1', to: 'r2', amount: 7 })).toEqual([
          400,
          'badRequest',
        ]);
        expect(await refused({ action: 'delay', from: 'r1', to: 'r2' })).toEqual([400, 'badRequest']);
        expect(await refused({ action: 'cut', from: 'r1', to: 'r1' })).toEqual([409, 'badFault']);
      });

      it('of links are told by the replica that has them, and healed', async () => {
        const [from, to] = followers;
        const told = (what: string) => ({ ok: true, message: `link ${from} to ${to}: ${what}` });
        expect((await fault({ action: 'delay', from, to, amount: 120 })).body).toEqual(
          told('delayed by 120 ms'),
        );
        expect((await fault({ action: 'duplicate', from, to, amount: 0.5 })).body).toEqual(
          told('delayed by 120 ms, duplicates 50 %'),
        );
        const wanted = { from, to, cut: false, delayMs: 120, drop: 0, duplicate: 0.5 };
        await eventually(async () => expect((await replica(from!)).status?.faults).toEqual([wanted]));
        await fault({ action: 'heal' });
        await eventually(async () => expect((await replica(from!)).status?.faults).toEqual([]));
      });

      it('freeze a replica, whose status grows old until it goes on', async () => {
        const [id, other] = followers as readonly [string, string];
        await fault({ action: 'pause', replica: id });
        const tooMuch = await fault({ action: 'wipe', replica: other, what: 'both' });
        expect([tooMuch.status, refusalShape.parse(tooMuch.body).error.code]).toEqual([
          409,
          'beyondMinority',
        ]);
        await eventually(async () => {
          const { process, ageMs } = await replica(id);
          expect(process).toBe('paused');
          expect(ageMs).toBeGreaterThan(1_500);
        });
        await fault({ action: 'resume', replica: id });
        await eventually(async () => {
          expect(await replica(id)).toMatchObject({ process: 'running', status: { state: 'serving' } });
        });
      });

      it('crash a replica for good, until it is restarted', async () => {
        const [, id] = followers as readonly [string, string];
        const before = (await replica(id)).status?.pid;
        await fault({ action: 'crash', replica: id });
        expect((await replica(id)).process).toBe('stopped');
        expect((await fault({ action: 'crash', replica: id })).status).toBe(409);
        await fault({ action: 'restart', replica: id });
        await eventually(async () => {
          const { process, status } = await replica(id);
          expect({ process, state: status?.state }).toEqual({ process: 'running', state: 'serving' });
          expect(status?.pid).not.toBe(before);
        });
      });
    });

    describe('the log', () => {
      it('tells what a chosen slot holds, and why another cannot be told of', async () => {
        let commitPoint = 0;
        // Who is asked may not have heard yet that it is chosen; and once everybody has what is in it, it may be gone from all logs.
        await eventually(async () => {
          await post('/api/sql', {
            replica: leader,
            sql: `INSERT INTO ${fixture().table} VALUES ('chosen')`,
          });
          ({ commitPoint } = (await replica(leader)).status!);
          const { status, body } = await get(`/api/log/${commitPoint}`);
          expect([status, body]).toMatchObject([200, { slot: commitPoint }]);
          slotShape.parse(body);
        });
        const refused = async (slot: string): Promise<readonly [number, string]> => {
          const { status, body } = await get(`/api/log/${slot}`);
          return [status, refusalShape.parse(body).error.code];
        };
        expect(await refused('nonsense')).toEqual([400, 'badRequest']);
        expect(await refused(String(commitPoint + 1_000_000))).toEqual([404, 'notChosen']);
      });
    });

    describe('the SQL console', () => {
      const sql = (id: string, text: string) => post('/api/sql', { replica: id, sql: text });

      it('writes and reads through any replica', async () => {
        const { table } = fixture();
        const [follower] = followers as readonly [string];
        const written = await sql(follower, `INSERT INTO ${table} VALUES ('it''s there'), ('twice')`);
        expect(sqlShape.parse(written.body)).toMatchObject({ command: 'INSERT 0 2', rows: [] });
        const { body } = await sql(leader, `SELECT * FROM ${table};`);
        const { rows, columns } = sqlShape.parse(body);
        expect(rows.map((row) => row.at(-1))).toEqual(expect.arrayContaining(["it's there", 'twice']));
        expect(columns).toHaveLength(rows[0]!.length);
      });

      it('tells what is wrong, and where', async () => {
        const { body } = await sql(leader, 'SELECT *\nFROM nowhere');
        expect(sqlErrorShape.parse(body).error).toMatchObject({ code: '42P01', position: 15 });
        expect((await sql('r9', 'SELECT 1')).status).toBe(400);
      });
    });

    it('compares the data of all replicas', async () => {
      await eventually(async () => {
        const { body } = await post('/api/verify', { repair: false });
        const { replicas } = verifyShape.parse(body);
        expect(replicas.map(({ outcome }) => outcome)).toEqual(['equal', 'equal', 'equal']);
      });
    });

    it('says why replicas cannot change, or a PostgreSQL cannot be looked at', async () => {
      const refused = async ({ status, body }: Answer): Promise<readonly [number, string]> => [
        status,
        refusalShape.parse(body).error.code,
      ];
      expect(await refused(await post('/api/replicas', { action: 'explode' }))).toEqual([400, 'badRequest']);
      const [status] = await refused(await post('/api/replicas', { action: 'remove', replica: 'r9' }));
      expect(status).toBe(409);
      expect(await refused(await get('/api/activity/r9'))).toEqual([404, 'unknownReplica']);
    });

    it('knows nothing else', async () => {
      const { status, body } = await get('/api/nothing');
      expect(status).toBe(404);
      refusalShape.parse(body);
    });
  });
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

function createApi(url: () => string) {
  async function ask(path: string, init: RequestInit): Promise<Answer> {
    const response = await fetch(`${url()}${path}`, init);
    return { status: response.status, body: await response.json() };
  }
  const get = (path: string): Promise<Answer> => ask(path, {});
  const post = (path: string, body: object): Promise<Answer> =>
    ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const shaped = <T>(shape: z.ZodType<T>, { body }: Answer): T => shape.parse(body);
  const cluster = async (): Promise<ClusterStatus> => shaped(clusterShape, await get('/api/cluster'));
  const replica = async (id: string): Promise<ClusterReplica> =>
    (await cluster()).replicas.find((one) => one.id === id)!;
  return { get, post, cluster, replica };
}
