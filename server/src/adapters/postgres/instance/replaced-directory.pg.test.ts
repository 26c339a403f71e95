import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { connectAlone, makeData, openTestInstance } from '../testing/test-instance.ts';

it('starts on a directory that has taken the place of the one that it was opened for', async () => {
  const root = await mkdtemp(join(tmpdir(), 'barista-pg-'));
  const directory = join(root, 'postgres');
  await makeData(directory);
  const instance = await openTestInstance(directory);
  try {
    await instance.start({ kind: 'primary' });
    await instance.stop('fast');
    await rename(directory, `${directory}.lost`);
    await makeData(directory);
    await instance.start({ kind: 'primary' });
    const client = await connectAlone(instance);
    expect((await client.query<{ one: number }>('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();
    expect(await readFile(join(directory, 'postgres.log'), 'utf8')).toContain('ready to accept connections');
  } finally {
    await instance.close();
    await rm(root, { recursive: true });
  }
});
