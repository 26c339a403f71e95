/** Two transactions of one name at the same time, and a leader that goes away. */
import { describe, expect, it } from 'vitest';
import { startGateway } from './testing/gateway.ts';
import {
  ask,
  elsewhere,
  fatal,
  keys,
  lastWords,
  leaderAt,
  q,
  sleep,
  untilCommitsWait,
} from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import {
  connect,
  gateway,
  holdNamedCommits,
  insert,
  letCommitsGo,
  name,
  notices,
  pg,
  told,
  useNamedTransactions,
} from './testing/named.ts';
import { connectWire, type WireClient } from './testing/wire-client.ts';

useNamedTransactions();

describe('two at the same time', () => {
  it('the second waits for the first, and is then told that it had been committed', async () => {
    await holdNamedCommits();
    const [one, two] = [await connect(), await connect()];
    for (const [a, on] of [one, two].entries()) {
      await on.query(`BEGIN; SET LOCAL barista.request_id = 'x'; INSERT INTO t VALUES (${a}, 'x')`);
    }
    const first = one.query('COMMIT');
    await untilCommitsWait(pg, 1);
    const second = two.query('COMMIT');
    await sleep(100);
    await letCommitsGo?.();
    await Promise.all([first, second]);
    expect(await keys(pg)).toEqual([0]);
    expect(notices).toEqual([told]);
    await Promise.all([one.end(), two.end()]);
  });

  it('the second is committed if the first was not', async () => {
    const [one, two] = [await connect(), await connect()];
    for (const [a, on] of [one, two].entries()) {
      await on.query(`BEGIN; SET LOCAL barista.request_id = 'x'; INSERT INTO t VALUES (${a}, 'x')`);
    }
    // The first has claimed its name, and goes away before its COMMIT.
    await one.query("SELECT pg_barista.claim_name('')");
    const second = two.query('COMMIT');
    await sleep(100);
    await one.end();
    await second;
    expect(await keys(pg)).toEqual([1]);
    expect(notices).toEqual([]);
    await two.end();
  });

  it('a statement of its own waits before it is run', async () => {
    await holdNamedCommits();
    const [one, two] = [await connect(), await connect()];
    await name('x', one);
    await name('x', two);
    const first = one.query(insert);
    await untilCommitsWait(pg, 1);
    const second = two.query(insert);
    await sleep(100);
    await letCommitsGo?.();
    await first;
    expect((await second).rowCount).toBe(1);
    expect(notices).toEqual([told]);
    await Promise.all([one.end(), two.end()]);
  });
});

describe('when the leader goes away, a client that has named its transaction', () => {
  it.each([
    ['committed', 'INSERT 0 1', ['C INSERT 0 1\\0', 'Z I', fatal('57P01')]],
    ['committed', null, [fatal('RQ001')]],
    ['notCommitted', null, [fatal('40001')]],
    ['unknown', null, [fatal('08007')]],
  ] as const)(
    'and whose statement is %s (%s) hears so, from the leader and from its follower',
    async (code, tag, words) => {
      const outcome = code === 'committed' ? { code, tag } : { code };
      const behind = createMemoryClientService(null);
      behind.setService(leaderAt(gateway.connection.port));
      const follower = await startGateway(pg, { service: behind, limits: { tunnelGraceMs: 100 } });
      for (const service of [gateway.service, behind]) service.requestOutcome = outcome;
      await holdNamedCommits();
      const wires: WireClient[] = [];
      for (const [n, to] of [gateway, follower].entries()) {
        const wire = await connectWire(to.connection);
        wires.push(wire);
        await ask(wire, q(`SET barista.request_id = 'x${n}'`));
        wire.send(q(`INSERT INTO t VALUES (${n}, 'x')`));
      }
      await untilCommitsWait(pg, 2);
      behind.setService({ kind: 'here', generation: 1 });
      expect(await lastWords(wires[1]!)).toEqual(words);
      gateway.service.setService(elsewhere);
      expect(await lastWords(wires[0]!)).toEqual(words);
      const { rows } = await pg.superuser.query<{ owner: string }>(
        "SELECT 'barista'::regrole::oid || ':' || oid AS owner FROM pg_database WHERE datname = 'barista'",
      );
      const { owner } = rows[0]!;
      expect(behind.asked).toEqual([{ database: 'barista', owner, name: 'x1' }]);
      // That one's client may still be there, for all it knows.
      expect(gateway.service.asked).toContainEqual({ database: 'barista', owner, name: 'x0' });
      await letCommitsGo?.();
      await follower.listener.close();
    },
  );

  it('and has been answered is not told of that one', async () => {
    gateway.service.requestOutcome = { code: 'committed', tag: 'COMMIT' };
    const wire = await connectWire(gateway.connection);
    await ask(wire, q("SET barista.request_id = 'x'"));
    await ask(wire, q(insert));
    gateway.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual([fatal('57P01')]);
    expect(gateway.service.asked).toEqual([]);
  });
});
