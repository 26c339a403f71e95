import { describe, expect, it } from 'vitest';
import { classOf, isCopiedPath, relationFilesToCopy } from './file-class.ts';
import { segmentPages } from './page.ts';

describe('a file', () => {
  it('of a main fork is judged by positions, and nothing else is', () => {
    expect(classOf('base/5/16384')).toEqual({ kind: 'relation', firstBlock: 0 });
    expect(classOf('base/5/16384.3')).toEqual({ kind: 'relation', firstBlock: 3 * segmentPages });
    expect(classOf('global/1262')).toEqual({ kind: 'relation', firstBlock: 0 });
    const others = words(
      'base/5/16384_vm base/5/16384_fsm.1 base/5/16384_init base/5/PG_VERSION base/5/pg_filenode.map base/5/t3_16384',
      'pg_xact/0000 pg_multixact/offsets/0000 global/pg_control PG_VERSION',
    );
    expect(others.filter((path) => classOf(path).kind !== 'bytes')).toEqual([]);
    expect(classOf('pg_wal/000000010000000000000001')).toEqual({ kind: 'wal' });
  });

  it('of a session, a cache, or an unlogged relation but for its init fork, does not belong to a copy', () => {
    const kept = '16384 16384.1 16384_fsm 16384_vm PG_VERSION pg_filenode.map';
    const unlogged = '16390 16390.1 16390_fsm 16390_vm';
    const passing = 't3_16400 t3_16400_fsm pgsql_tmp12.0 pg_internal.init pg_internal.init.12 pg_control';
    const names = words(kept, unlogged, '16390_init', passing);
    expect(relationFilesToCopy(names)).toEqual(words(kept, '16390_init'));
  });
});

describe('a path', () => {
  it('is written only within what belongs to a copy', () => {
    const good = words(
      'base/5/16384.1 base/5 pg_wal/archive_status PG_VERSION pg_logical/snapshots/0-1.snap',
    );
    expect(good.filter((path) => !isCopiedPath(path))).toEqual([]);
    const leadingOut = words(
      '. .. / base/.. base/../x ../base/1 /base/1 base//1 base/ ./base base/5/. base/5/..x/..',
    );
    const nobodys = words(
      'postgresql.conf pg_hba.conf standby.signal other/1 base/1/2/3/4 __proto__ constructor/x',
    );
    const odd = ['', 'base/5/a b', 'base/5/a\u0000b', 'base/5/a\\b', 'base/5/-rf', `base/${'x'.repeat(300)}`];
    expect([...leadingOut, ...nobodys, ...odd].filter((path) => isCopiedPath(path))).toEqual([]);
  });
});

function words(...texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split(' '));
}
