/** Sessions with names whose client goes away in the middle, or speaks during a COPY, and a lock that somebody else holds. */
import { beforeEach, expect, it } from 'vitest';
import * as send from '../../pgwire/frontend-messages.ts';
import { frame } from './testing/frames.ts';
import { ask, fatal, keys, lastWords, q, run, sleep } from './testing/helpers.ts';
import { client, gateway, insert, name, pg, recorded, useNamedTransactions } from './testing/named.ts';
import { connectWire, type WireClient } from './testing/wire-client.ts';

useNamedTransactions();

let wire: WireClient;
beforeEach(async () => {
  wire = await connectWire(gateway.connection);
  await ask(wire, q("SET barista.request_id = 'x'"));
});

const data = frame('d', '1\tx\n');
const copyDone = frame('c');

async function sessions(): Promise<number> {
  const { rowCount } = await pg.superuser.query(
    "SELECT FROM pg_stat_activity WHERE usename = 'barista' AND pid <> $1",
    [(client as unknown as { processID: number }).processID],
  );
  return rowCount ?? 0;
}

it.each([
  ['in a COPY', [q('COPY t FROM STDIN'), data]],
  ['in a COPY of the extended protocol', [run('COPY t FROM STDIN'), send.sync, data]],
  ['within a message of a COPY', [q('COPY t FROM STDIN'), data.subarray(0, 7)]],
  ['behind a Bind', [run(insert), send.flush]],
  ['within a message', [q('LOCK t'), q('SELECT 1').subarray(0, 7)]],
])('a client that goes away %s leaves no lock behind', async (_, messages) => {
  await ask(wire, q('BEGIN'));
  await ask(wire, q('LOCK t'));
  // It only closes its side: the connection stays.
  wire.socket.end(Buffer.concat(messages));
  await expect.poll(sessions).toBe(0);
  expect(await keys(pg)).toEqual([]);
});

it.each([
  ['a COPY', [q('COPY t FROM STDIN'), data]],
  ['a batch', [run(insert)]],
])('a Terminate in the middle of %s ends the session', async (_, messages) => {
  await ask(wire, q('BEGIN'));
  wire.send(...messages, send.terminate);
  await wire.untilClosed();
  await expect.poll(sessions).toBe(0);
});

it.each([
  ['Flush', send.flush],
  ['Sync', send.sync],
])('a %s during a COPY is ignored, in either protocol', async (_, message) => {
  for (const [n, copy] of [[q('COPY t FROM STDIN')], [run('COPY t FROM STDIN'), send.sync]].entries()) {
    await ask(wire, q(`SET barista.request_id = 'copy ${n}'`));
    wire.send(...copy);
    await wire.until('G');
    const end = copy.length > 1 ? [send.sync] : [];
    const answer = await ask(wire, message, frame('d', `${n}\tx\n`), message, copyDone, ...end);
    expect(answer).toEqual(['C COPY 1\\0', 'Z I']);
    expect((await ask(wire, q('SELECT 7'))).at(-1)).toBe('Z I');
  }
  expect(await keys(pg)).toEqual([0, 1]);
  expect(await recorded()).toEqual(['barista copy 0', 'barista copy 1']);
  wire.close();
});

it('a Sync behind the data of a COPY that was sent at once is answered', async () => {
  wire.send(q('COPY t FROM STDIN'), data, copyDone, send.sync, q('SELECT 7'));
  const types = (await wire.until('Z', 3)).map(({ type }) => type).join('');
  expect(types).toBe('GCZZTDCZ');
  expect(await recorded()).toEqual(['barista x']);
  wire.close();
});

it.each([[[send.sync]], [[]]])('a COPY that fails is over with the next Sync (%#)', async (early) => {
  wire.send(run('COPY t FROM STDIN'), ...(early.length > 0 ? early : [send.flush]));
  await wire.until('G');
  wire.send(frame('d', 'wrong\tx\n'), ...Array.from({ length: 4 }, () => frame('d', 'x'.repeat(10_000))));
  wire.send(frame('d', '\n'));
  await wire.until('E');
  expect(await ask(wire, send.sync)).toEqual(['Z I']);
  await ask(wire, q(insert));
  expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  wire.close();
});

it.each(['outside of a block', 'in a block'])(
  'a Sync sent while a COPY fails ends its batch %s',
  async (where) => {
    await pg.superuser.query(
      `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_sleep(0.3); RAISE EXCEPTION 'refused'; END $$;
     CREATE TRIGGER refusing BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );
    if (where === 'in a block') await ask(wire, q('BEGIN'));
    wire.send(run('COPY t FROM STDIN'), send.flush);
    await wire.until('G');
    wire.send(data, send.sync);
    expect((await wire.until('Z')).map(({ type }) => type).join('')).toBe('EZ');
    await pg.superuser.query('DROP FUNCTION refuse CASCADE');
    await ask(wire, q('ROLLBACK'));
    await ask(wire, q(insert));
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
    wire.close();
  },
);

it.each([
  ['', [q('COPY t FROM STDIN')], [data, copyDone]],
  [
    ' of the extended protocol',
    [run('COPY t FROM STDIN'), send.sync],
    [data, send.sync, copyDone, send.sync],
  ],
])('a name that comes in one piece with the end of the data of a COPY%s is taken', async (_, copy, end) => {
  const fresh = await connectWire(gateway.connection);
  fresh.send(...copy);
  await fresh.until('G');
  fresh.send(...end, q("SET barista.request_id = 'y'"), q("INSERT INTO t VALUES (2, 'x')"));
  await fresh.until('Z', 3);
  expect(await recorded()).toEqual(['barista y INSERT 0 1']);
  expect(await keys(pg)).toEqual([1, 2]);
  fresh.close();
});

it('a name behind a COPY that was sent without waiting is taken', async () => {
  const fresh = await connectWire(gateway.connection);
  await ask(fresh, q('SELECT 1'));
  fresh.send(q('SELECT pg_sleep(0.3)'), run('COPY t FROM STDIN'), send.sync, data, copyDone, send.sync);
  await sleep(100);
  fresh.send(q("SET barista.request_id = 'y'"), q("INSERT INTO t VALUES (2, 'x')"));
  await fresh.until('Z', 4);
  expect(await recorded()).toEqual(['barista y INSERT 0 1']);
  fresh.close();
});

it.each([true, false])('a name amid the data of a COPY ends the session (waited: %s)', async (waits) => {
  const fresh = await connectWire(gateway.connection);
  fresh.send(q('SELECT pg_sleep(0.2)'), q('COPY t FROM STDIN'), data);
  if (waits) await fresh.until('G');
  fresh.send(data, q("SET barista.request_id = 'y'"));
  expect((await lastWords(fresh)).at(-1)).toBe(fatal('08P01'));
  fresh.close();
});

it('no lock that a client can take keeps names from being given', async () => {
  wire.close();
  await pg.superuser.query('DROP SCHEMA pg_barista CASCADE');
  const hostile = await gateway.client();
  await hostile.query('SELECT pg_advisory_lock(7432, 0), pg_advisory_lock(7432)');
  await hostile.query('BEGIN; LOCK TABLE pg_catalog.pg_replication_origin IN ACCESS SHARE MODE');
  gateway.service.setService({ kind: 'here', generation: 2 });
  const again = await gateway.client();
  await name('x', again);
  await again.query(insert);
  expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  await Promise.all([again.end(), hostile.end()]);
});
