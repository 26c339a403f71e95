/** A real replica that is its whole group, and whose log is whole: what its PostgreSQL loses is in the log, and nobody else can be asked. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { foundReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';

let root = '';
let group: RealGroup;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-lone-'));
  group = await RealGroup.in(root, ['r1']);
  await foundReplica(group.configOf('r1'));
  await group.start('r1');
  await group.sql('CREATE TABLE drinks (id serial PRIMARY KEY, name text)');
  await group.sql("INSERT INTO drinks (name) SELECT 'espresso' FROM generate_series(1, 500)");
}, 120_000);
afterAll(async () => {
  await group.stopAll();
  rmSync(root, { recursive: true, force: true });
});

const postgres = (): string => join(root, 'r1', 'postgres');
async function zeroControlFile(): Promise<void> {
  const path = join(postgres(), 'data', 'global', 'pg_control');
  await writeFile(path, Buffer.alloc((await readFile(path)).length));
}

it.each([
  { what: 'is damaged', lose: zeroControlFile, setAside: 1 },
  { what: 'is gone', lose: () => rm(postgres(), { recursive: true }), setAside: 1 },
])(
  'makes its database anew from its log when it $what',
  async ({ what, lose, setAside }) => {
    await group.sql(`INSERT INTO drinks (name) VALUES ('before it ${what}')`);
    const [before] = await group.contentsOf('drinks');
    await group.stop('r1');
    await lose();
    await group.start('r1');
    await group.healthy();
    expect(await group.contentsOf('drinks')).toEqual([before]);
    await group.sql("INSERT INTO drinks (name) VALUES ('afterwards')");
    const names = readdirSync(join(root, 'r1'));
    expect(names.filter((name) => name.startsWith('postgres.lost-'))).toHaveLength(setAside);
    expect(names).not.toContain('postgres.condemned.json');
  },
  120_000,
);
