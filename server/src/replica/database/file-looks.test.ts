import { describe, expect, it } from 'vitest';
import type { FileFinding } from '../../ports/database-server.ts';
import { FileLooks } from './file-looks.ts';

const damaged = (reason: string): FileFinding => ({ code: 'damaged', reason });
const refused: FileFinding = { code: 'refused', reason: 'XX000' };

function setUp() {
  const world = { pid: 7 as number | null, nowMs: 0, looks: 0, finding: { code: 'whole' } as FileFinding };
  const told: string[] = [];
  let tick = (): void => {};
  const looks = new FileLooks({
    server: {
      lookAtFiles: () => {
        world.looks += 1;
        return Promise.resolve(world.finding);
      },
    },
    pid: () => world.pid,
    onDamage: ({ reason, isPresumed = false }) =>
      told.push(`${isPresumed ? 'presumed' : 'known'}: ${reason}`),
    onDoubt: (reason) => told.push(`doubt: ${reason}`),
    timers: {
      nowMs: () => world.nowMs,
      every: (_ms, work) => {
        tick = work;
        return () => {};
      },
    },
    everyMs: 5000,
    againMs: 1000,
    refusedMs: 30_000,
  });
  looks.start();
  const after = async (ms: number, finding: FileFinding): Promise<readonly string[]> => {
    for (let at = 0; at < ms; at += 1000) {
      world.nowMs += 1000;
      world.finding = finding;
      tick();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return told.splice(0);
  };
  return { looks, world, after };
}

describe('looks at the files of a database', () => {
  it('are made every 5 s, and a second later where something was found', async () => {
    const { world, after } = setUp();
    await after(20_000, { code: 'whole' });
    expect(world.looks).toBe(4);
    await after(5000, damaged('a'));
    expect(world.looks).toBe(5);
    expect(await after(1000, damaged('a'))).toEqual(['doubt: a', 'presumed: its files are damaged: a']);
  });

  it('tell nothing of what was dropped meanwhile', async () => {
    const { after } = setUp();
    expect(await after(5000, damaged('a'))).toEqual([]);
    expect(await after(1000, damaged('b'))).toEqual([]);
    expect(await after(5000, { code: 'whole' })).toEqual(['doubt: null']);
  });

  it('tell damage once, and again of another database: the same ever more seldom', async () => {
    const { world, after } = setUp();
    await after(10_000, damaged('a'));
    expect(await after(20_000, damaged('a'))).toEqual([]);
    const toldOf = async (name: string, ms: number): Promise<boolean> => {
      world.pid = (world.pid ?? 0) + 1;
      return (await after(ms, damaged(name))).includes(`presumed: its files are damaged: ${name}`);
    };
    expect(await toldOf('a', 10_000)).toBe(false);
    expect(await toldOf('a', 60_000)).toBe(true);
    expect(await toldOf('a', 60_000)).toBe(false);
    expect(await toldOf('b', 10_000)).toBe(true);
  });

  it('doubt a database that refuses sessions, and presume that it is damaged after 30 s', async () => {
    const { after } = setUp();
    expect(await after(20_000, refused)).toContain('doubt: XX000');
    expect(await after(5000, { code: 'whole' })).toEqual(['doubt: null']);
    expect((await after(40_000, refused)).at(-1)).toBe('presumed: its files are damaged: XX000');
  });

  it('are not made while PostgreSQL is away', async () => {
    const { world, after } = setUp();
    world.pid = null;
    await after(20_000, damaged('a'));
    expect(world.looks).toBe(0);
  });
});
