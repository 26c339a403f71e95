import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { folders, stageOfFrame } from './stages.ts';

it('names folders and files that are there', () => {
  const source = fileURLToPath(new URL('../../../server/src/', import.meta.url));
  const isThere = (prefix: string): boolean =>
    existsSync(`${source}${prefix}${prefix.endsWith('/') ? '' : '.ts'}`);
  expect(folders.map(([prefix]) => prefix).filter((prefix) => !isThere(prefix))).toEqual([]);
});

it('takes the first that fits, from source and from what is built of it', () => {
  expect(stageOfFrame('file:///a/server/dist/adapters/postgres/replication/standby-feed.js', 'feed')).toBe(
    'feed',
  );
  expect(stageOfFrame('/a/server/src/adapters/postgres/replication/wal-source.ts', 'read')).toBe('wal');
  expect(stageOfFrame('file:///a/server/dist/config/replica-config.js', 'f')).toBe('other');
  expect(stageOfFrame('file:///a/node_modules/ws/lib/sender.js', 'sendFrame')).toBeNull();
  expect(stageOfFrame('', '(garbage collector)')).toBe('garbage');
});
