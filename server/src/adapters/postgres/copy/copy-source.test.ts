/** What a source says of a data directory, with the answers of a PostgreSQL that does not run; copies of a running one are copy.pg.test.ts. */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import { positionNone, type WalPosition } from '../../../wal/position.ts';
import { Conversation } from './conversation.ts';
import { createCopySource } from './copy-source.ts';
import { copyProtocol, type CopyMessage } from './messages.ts';
import { socketPair, testInstallation } from './testing/copying.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-copy-source-'));
  for (const path of ['global', 'pg_wal', 'pg_xact']) await mkdir(join(root, path));
  const control = gunzipSync(readFileSync(new URL('goldens/pg_control-18.gz', import.meta.url)));
  await writeFile(join(root, 'global', 'pg_control'), control);
  await writeFile(join(root, 'pg_xact', '0000'), Buffer.alloc(8192, 7));
  await writeFile(join(root, 'pg_wal', '000000030000000000000001'), Buffer.alloc(8192));
});
afterAll(() => rm(root, { recursive: true }));

const owner = { group: 'main', cluster: 'c1' };
const position: WalPosition = {
  ...positionNone,
  timeline: 3 as Timeline,
  end: 0x1000100 as Lsn,
  forks: [
    { timeline: 2 as Timeline, at: 0x800000 as Lsn },
    { timeline: 3 as Timeline, at: 0x1000080 as Lsn },
  ],
};
const label = 'START WAL LOCATION: 0/1000028 (file 000000020000000000000001)\nSTART TIMELINE: 2\n';

/** `standby`: what it says, one time after the other, to whether it is one. */
function answers(standby: readonly boolean[]): Client {
  const left = [...standby];
  const rows: readonly [RegExp, () => object][] = [
    [/pg_is_in_recovery/, () => ({ standby: left.shift() })],
    [/pg_backup_start/, () => ({ redo: '0/1000028' })],
    [/pg_backup_stop/, () => ({ lsn: '0/1000100', labelfile: label, spcmapfile: '' })],
    [/pg_database_size/, () => ({ bytes: '8192' })],
    [/wal_status/, () => ({ status: 'reserved' })],
  ];
  const client = {
    query: (text: string) =>
      Promise.resolve({ rows: rows.filter(([asked]) => asked.test(text)).map(([, row]) => row()) }),
    end: () => Promise.resolve(),
  };
  return client as unknown as Client;
}

/** What a target that has nothing hears, and how that ends. */
async function copyOf(standby: readonly boolean[]): Promise<{ heard: CopyMessage[]; end: unknown }> {
  const [near, far] = await socketPair(join(root, `socket-${Math.random()}`));
  const source = createCopySource({
    dataDir: root,
    connect: () => Promise.resolve(answers(standby)),
    owner,
    installation: testInstallation,
    position: () => ({ position, configuration: null }),
    awaitChosen: () => Promise.resolve(true),
    bytesPerSecondMax: () => null,
  });
  const served = source.serve(far);
  const target = new Conversation(near);
  const heard: CopyMessage[] = [];
  const listen = async (): Promise<void> => {
    await target.send({ kind: 'hello', protocol: copyProtocol, ...owner, installation: testInstallation });
    await target.expect('begin');
    await target.send({ kind: 'go' });
    for (let message = await target.receive(); message !== null; message = await target.receive()) {
      heard.push(message);
      if (message.kind === 'file')
        await target.send({ kind: 'have', file: message.file, last: true, evidence: [] });
    }
  };
  const end: unknown = await listen().catch((error: unknown) => error);
  target.close();
  await served;
  return { heard, end };
}

describe('a source', () => {
  it('tells of every timeline from that in which replay begins', async () => {
    const { heard, end } = await copyOf([true, true, true]);
    expect(end).toBeUndefined();
    expect(heard.filter(({ kind }) => kind === 'history')).toEqual([
      { kind: 'history', timeline: 2, text: '1\t0/800000\tanother leader\n' },
      { kind: 'history', timeline: 3, text: '1\t0/800000\tanother leader\n2\t0/1000080\tanother leader\n' },
    ]);
    expect(heard.at(-1)).toMatchObject({ kind: 'complete', files: 2 });
  });

  it('that was promoted meanwhile sends nothing of what it has read', async () => {
    const { heard, end } = await copyOf([true, false]);
    expect(end).toMatchObject({ name: 'CopyError', code: 'transferFailed' });
    expect(heard.map(({ kind }) => kind)).toContain('file');
    expect(heard.map(({ kind }) => kind)).not.toContain('blocks');
  });

  it('that leads is not asked whether it is a standby still', async () => {
    const { end } = await copyOf([false]);
    expect(end).toBeUndefined();
  });
});
