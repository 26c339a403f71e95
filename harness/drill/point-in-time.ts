/**
 * Somebody drops a table. The group is restored to just before that, from a backup that was made by itself and the WAL that was archived since, as a new group beside the old one, and compared. The leader changes before and after.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { psql } from '../cluster/pg-tools.ts';
import { ServedGroup } from '../cluster/served-group.ts';
import { parseLsn } from '../../server/src/wal/lsn.ts';
import type { Drill } from './drill.ts';
import { describeLedger, judgeMoment, judgeReplicas, startGroupLedger } from './group-ledger.ts';

const waitMsMax = 120_000;
const settings = { verify: { everyMinutes: 0 }, bounds: { clientsMax: 40 } };

export const pointInTime: Drill = async ({ seconds, keep, say }) => {
  const old = await ServedGroup.create({
    settings,
    each: (id, root) => ({
      ...settings,
      archive: { directory: join(root, `${id}-wal`) },
      backup: { directory: join(root, 'backups'), everyMinutes: 5, keep: 2 },
    }),
  });
  say(`Three replicas serve, in ${old.root}, with an archive each and a directory for their backups.`);
  let young: ServedGroup | null = null;
  const faults: string[] = [];
  try {
    const ledger = await startGroupLedger(old);
    const made = await until('a backup', async () => (await old.status('r1'))?.backup?.newest?.name ?? null);
    say(`A backup was made by itself: ${made}.`);
    await run(
      old,
      'CREATE TABLE orders AS SELECT i AS id, md5(i::text) AS what FROM generate_series(1, 50000) i;',
    );
    await sleep(seconds * 250);
    await handOver(old, say);
    await sleep(seconds * 250);
    const digest = await digestOf(old);
    const before = ledger.acknowledged();
    const time = await run(old, 'SELECT clock_timestamp();');
    const after = ledger.acknowledged();
    say(`It is ${time}, and ${before} rows are acknowledged. The load goes on.`);
    await sleep(50);
    await run(
      old,
      'DROP TABLE orders; UPDATE ledger SET worker = -1; INSERT INTO ledger (id, worker) VALUES (-1, -1);',
    );
    say('Somebody drops the table orders, and changes each row of another.');
    await handOver(old, say);
    await sleep(seconds * 250);
    const result = await ledger.stop();
    say(`${describeLedger(result)}.`);
    await archived(old, 'r2');
    const restored = [
      'restore',
      join(old.root, 'backups'),
      '--archive',
      join(old.root, 'r2-wal'),
      '--time',
      time,
    ];
    young = await ServedGroup.create({ settings, founding: restored });
    say(
      `barista ${restored.slice(0, 2).join(' ')} --archive ... --time '${time}': a new group of three serves, in ${young.root}.`,
    );
    faults.push(...(await judgeMoment(young, result, { before, after })), ...(await judgeReplicas(young)));
    if ((await digestOf(young)) !== digest)
      faults.push('The table orders has other rows than before it was dropped.');
    const changed = await run(young, 'SELECT count(*) FROM ledger WHERE worker < 0;');
    if (changed !== '0') faults.push(`${changed} rows have what was written after the time.`);
    if (faults.length === 0)
      say('All that was acknowledged before is there, and nothing that came after; the replicas are equal.');
    const test = await old.barista('r2', ['backup', 'verify']);
    say(test.output.split('\n').at(-1) ?? '');
    if (test.code !== 0) faults.push(`"barista backup verify" ended with ${test.code}: ${test.output}`);
  } catch (error) {
    faults.push((error as Error).message);
  } finally {
    for (const group of [young, old]) await group?.stop(keep || faults.length > 0);
  }
  return faults;
};

/** @throws Error with what psql says */
async function run(group: ServedGroup, sql: string): Promise<string> {
  const { code, stdout, stderr } = await psql(group.pgwirePort(await group.leader()), sql);
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}

/** A leadership is a timeline, so there is one more between the backup and the time, and one behind it. */
async function handOver(group: ServedGroup, say: (line: string) => void): Promise<void> {
  const { code, output } = await group.barista(await group.leader(), ['leader', 'transfer']);
  if (code !== 0) throw new Error(output);
  say(output);
}

async function digestOf(group: ServedGroup): Promise<string> {
  const rows = await run(group, 'SELECT id, what FROM orders ORDER BY id;');
  return createHash('sha256').update(rows).digest('hex');
}

/** All that is chosen now is in the archive of this member. */
async function archived(group: ServedGroup, id: string): Promise<void> {
  const { wal } = (await group.status(await group.leader()))!;
  const wanted = parseLsn(wal?.chosen ?? '0/0');
  await until('the archive', async () => {
    const end = (await group.status(id))?.archive?.end ?? null;
    return end !== null && parseLsn(end) >= wanted ? end : null;
  });
}

async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const untilMs = performance.now() + waitMsMax;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > untilMs) throw new Error(`waited ${waitMsMax / 1000} s for ${what}`);
    await sleep(100);
  }
}
