/**
 * A replica under `payload: statements` that is killed while a transaction of another's client is open: it goes on from the copy that it keeps of its own database, and not from the beginning of the log.
 *
 * Real processes, real signals, a real driver; with each protocol.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { ReplicaClients } from './replica-clients.ts';

const keptWords = 'a copy of its own database is kept';
const goesOn = /the log is executed again from slot (\d+), on the copy that was kept/g;
/** Some tenths of a second, at each replica. */
const work = 'SELECT count(*) FROM generate_series(1, 2000000)';

let cluster: LocalCluster | null = null;
let clients: ReplicaClients | null = null;

afterEach(async () => {
  await clients?.end();
  await cluster?.stop();
});

const logOf = (id: string): Promise<string> => readFile(join(cluster!.dataDir, `${id}.log`), 'utf8');

describe.each(['multi-paxos', 'paxos', 'primary'])('with %s', (protocol) => {
  it('a replica that stops with an open transaction goes on from the copy that it keeps', async () => {
    cluster = await startCluster({
      args: ['--payload=statements', `--protocol=${protocol}`, '--no-dashboard'],
    });
    clients = new ReplicaClients(cluster);
    const leader = protocol === 'paxos' ? 'r1' : (await cluster.leader()).id;
    const killed = leader === 'r3' ? 'r2' : 'r3';
    const [here, other] = [await clients.connect(0), await clients.connect(0)];
    await here.query('CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)');
    await here.query('INSERT INTO account SELECT i, 100 FROM generate_series(1, 6) i');
    await here.query('CREATE TABLE history (n serial PRIMARY KEY, who text)');
    for (let n = 0; !(await logOf(killed)).includes(keptWords); n += 1) {
      if (n === 300) throw new Error('no copy is kept');
      await here.query(work);
      await here.query("INSERT INTO history (who) VALUES ('while a copy is made')");
    }
    await here.query('BEGIN');
    await here.query('UPDATE account SET balance = balance - 10 WHERE id = 1');
    await here.query("INSERT INTO history (who) VALUES ('in a transaction')");
    await other.query("INSERT INTO history (who) VALUES ('beside it')");
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await cluster.fault({ action: 'crash', replica: killed as never });
    await here.query('UPDATE account SET balance = balance + 10 WHERE id = 2');
    await here.query('COMMIT');
    await other.query("INSERT INTO history (who) VALUES ('while one is away')");
    await cluster.fault({ action: 'restart', replica: killed as never });
    await cluster.settled(120_000);
    const slots = [...(await logOf(killed)).matchAll(goesOn)].map(([, slot]) => Number(slot));
    expect(slots).toHaveLength(1);
    expect(slots[0]).toBeGreaterThan(10);
    expect(await clients.equalEverywhere('SELECT sum(balance)::int AS sum FROM account')).toEqual([
      { sum: 600 },
    ]);
    await clients.equalEverywhere('SELECT * FROM account ORDER BY id');
    await clients.equalEverywhere('SELECT * FROM history ORDER BY n');
    // Numbers that are drawn next are the same, too: each replica answers, and all of them are compared.
    await here.query("INSERT INTO history (who) VALUES ('behind all')");
    await cluster.settled(60_000);
    await clients.equalEverywhere('SELECT * FROM history ORDER BY n');
    await clients.equalEverywhere('SELECT last_value::int FROM history_n_seq');
  });
});
