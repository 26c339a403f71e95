/**
 * YCSB's core workloads A to F, as scripts of pgbench: one table, records of ten fields of 100 characters, operations drawn by their shares.
 *
 * Responsible for: the scripts and the table. Keys are drawn as there, the popular ones spread over the table, with an exponent of 1.001 where YCSB has 0.99: pgbench knows none below. What is
 * newest in D is each client's own: pgbench's clients do not know of each other.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { querySql } from '../../sql.ts';
import type { System } from '../systems/system.ts';

export type Operation = 'read' | 'update' | 'insert' | 'scan' | 'readLatest' | 'readModifyWrite';

export type YcsbName = 'ycsb-a' | 'ycsb-b' | 'ycsb-c' | 'ycsb-d' | 'ycsb-e' | 'ycsb-f';

/** In hundredths. */
const shares: Readonly<Record<YcsbName, readonly (readonly [Operation, number])[]>> = {
  'ycsb-a': [
    ['read', 50],
    ['update', 50],
  ],
  'ycsb-b': [
    ['read', 95],
    ['update', 5],
  ],
  'ycsb-c': [['read', 100]],
  'ycsb-d': [
    ['readLatest', 95],
    ['insert', 5],
  ],
  'ycsb-e': [
    ['scan', 95],
    ['insert', 5],
  ],
  'ycsb-f': [
    ['read', 50],
    ['readModifyWrite', 50],
  ],
};

export function isYcsb(name: string): name is YcsbName {
  return name in shares;
}

const fields = 10;
const recordsForScale = 5000;

const drawKey = String.raw`\set rank random_zipfian(1, :records, 1.001)
\set number permute(:rank, :records)
`;
/** As wide as any number, so that a scan meets keys in their order. */
const key = "'user' || lpad(:number::text, 18, '0')";
const value = 'left(repeat(md5(random()::text), 4), 100)';
const values = Array.from({ length: fields }, () => value).join(', ');
const drawField = String.raw`\set field random(0, 9)
`;
const select = `SELECT * FROM usertable WHERE ycsb_key = ${key};
`;
const update = `UPDATE usertable SET field:field = ${value} WHERE ycsb_key = ${key};
`;

const scripts: Readonly<Record<Operation, string>> = {
  read: `${drawKey}${select}`,
  update: `${drawKey}${drawField}${update}`,
  readModifyWrite: `${drawKey}${drawField}${select}${update}`,
  insert: String.raw`\set inserted :inserted + 1
\set number :newest + 1000000 * :client_id + :inserted
INSERT INTO usertable VALUES (${key}, ${values});
`,
  scan: String.raw`${drawKey}\set length random(1, 100)
SELECT * FROM usertable WHERE ycsb_key >= ${key} ORDER BY ycsb_key LIMIT :length;
`,
  readLatest: String.raw`\set back random_zipfian(1, :records, 1.001)
\if :back <= :inserted
\set number :newest + 1000000 * :client_id + :inserted + 1 - :back
\else
\set number :records - (:back - :inserted)
\endif
${select}`,
};

function fileOf(directory: string, operation: Operation): string {
  return join(directory, `ycsb-${operation}.sql`);
}

export async function writeYcsbScripts(directory: string): Promise<void> {
  for (const [operation, text] of Object.entries(scripts))
    await writeFile(fileOf(directory, operation as Operation), text);
}

export async function loadYcsb(system: Pick<System, 'client'>, scale: number): Promise<void> {
  const columns = Array.from({ length: fields }, (_, index) => `field${index} text`).join(', ');
  await querySql(
    await system.client(),
    'DROP TABLE IF EXISTS usertable',
    `CREATE TABLE usertable (ycsb_key varchar(64) PRIMARY KEY, ${columns})`,
    `INSERT INTO usertable SELECT 'user' || lpad(number::text, 18, '0'), ${values} FROM generate_series(0, ${recordsForScale * scale - 1}) AS number`,
    'VACUUM ANALYZE usertable',
  );
}

let runs = 0;

/** pgbench's arguments but for how many clients, how long and where. Each run inserts keys of its own. */
export function ycsbArgs(name: YcsbName, directory: string, scale: number): readonly string[] {
  return ycsbMixArgs(shares[name], directory, scale);
}

/** Of any mix, in hundredths. */
export function ycsbMixArgs(
  mix: readonly (readonly [Operation, number])[],
  directory: string,
  scale: number,
): readonly string[] {
  runs += 1;
  return [
    ...mix.map(([operation, share]) => `--file=${fileOf(directory, operation)}@${share}`),
    `--define=records=${recordsForScale * scale}`,
    `--define=newest=${runs * 1_000_000_000}`,
    '--define=inserted=0',
  ];
}
