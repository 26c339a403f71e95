/** Real processes, killed with SIGKILL in the middle of their appends. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSegmentLog, openSegmentLog } from './segment-log.ts';
import { group, newLog, voteOf } from './testing/records.ts';

const program = fileURLToPath(new URL('testing/append-forever.ts', import.meta.url));

interface Appender {
  readonly child: ChildProcess;
  readonly acknowledged: number[];
  readonly opened: Promise<void>;
}

function startAppender(directory: string, lanes: number): Appender {
  const child = spawn(process.execPath, ['--import', 'tsx', program, directory, String(lanes)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const acknowledged: number[] = [];
  let rest = '';
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  child.stdout.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === 'open') open();
      else acknowledged.push(Number(line));
    }
  });
  return { child, acknowledged, opened };
}

async function kill({ child }: Appender): Promise<void> {
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}

describe('a killed process', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'barista-crash-'));
    const store = await createSegmentLog({ directory, group, segmentBytes: 64 * 1024 }, newLog);
    await store.close();
  });
  afterEach(() => rm(directory, { recursive: true }));

  it.each([1, 32])(
    'leaves everything that it acknowledged, each record intact (%i at a time)',
    async (lanes) => {
      let last = 0;
      for (let life = 0; life < 3; life++) {
        const appender = startAppender(directory, lanes);
        await appender.opened;
        await expect
          .poll(() => appender.acknowledged.length, { interval: 5 })
          .toBeGreaterThan(400 + life * 137);
        await kill(appender);
        const store = await openSegmentLog({ directory, group });
        const { tail } = store.recovered;
        const highest = Math.max(last, ...appender.acknowledged);
        expect(tail.length).toBeGreaterThanOrEqual(highest);
        for (const [i, { slot, entry }] of tail.entries()) {
          if (entry.kind !== 'command') throw new Error(`slot ${slot} holds a ${entry.kind}`);
          expect([slot, entry.payload.length]).toEqual([i + 1, slot % 3000]);
          expect(entry.payload.every((byte) => byte === slot % 256)).toBe(true);
        }
        last = tail.length;
        await store.close();
      }
    },
  );

  it('keeps others out while it lives, and its lock is taken over at once when it is dead', async () => {
    const appender = startAppender(directory, 1);
    await appender.opened;
    const second = openSegmentLog({ directory, group });
    await expect(second).rejects.toMatchObject({ code: 'logLocked' });
    await expect(second).rejects.toThrow(`in use by process ${appender.child.pid}`);
    await kill(appender);
    const store = await openSegmentLog({ directory, group });
    await store.append([{ kind: 'promise', ballot: { round: 5, replica: '' as never } }]);
    await store.close();
    expect((await readdir(directory)).filter((name) => name.startsWith('lock'))).toEqual([]);
  });

  it.runIf(process.platform === 'linux')(
    'keeps others out who cannot see it among their processes, as from another container',
    async () => {
      const appender = startAppender(directory, 1);
      await appender.opened;
      const file = (await readdir(directory)).find((name) => name.startsWith('lock'));
      // So it looks from where its process id means another process, or none.
      await rename(
        join(directory, file!),
        join(directory, file!.replace(String(appender.child.pid), '99999999')),
      );
      const second = openSegmentLog({ directory, group });
      await expect(second).rejects.toMatchObject({ code: 'logLocked' });
      await expect(second).rejects.toThrow('in use by a process that cannot be seen from here');
      await kill(appender);
      const store = await openSegmentLog({ directory, group });
      await store.close();
      expect((await readdir(directory)).filter((name) => name.startsWith('lock'))).toEqual([]);
    },
  );

  it('leaves none or all of the log that it was creating', async () => {
    const fresh = join(directory, 'deep', 'log');
    const missing = openSegmentLog({ directory: fresh, group });
    await expect(missing).rejects.toMatchObject({ code: 'logMissing' });
    await expect(missing).rejects.toThrow(fresh);
    await mkdir(fresh, { recursive: true });
    await writeFile(join(fresh, 'next.tmp'), Buffer.alloc(5000));
    await expect(openSegmentLog({ directory: fresh, group })).rejects.toMatchObject({ code: 'logMissing' });
    const store = await createSegmentLog({ directory: fresh, group }, newLog);
    await store.close();
    expect(await readdir(fresh)).toEqual(['segment-0000000001.barista']);
  });

  it('whose pid another process has now does not keep its lock', async () => {
    await writeFile(join(directory, `lock.${process.pid}.an-earlier-boot-1.0123456789ab`), '');
    const store = await openSegmentLog({ directory, group });
    await store.append([voteOf(1)]);
    const locks = (await readdir(directory)).filter((name) => name.startsWith('lock'));
    expect(locks).toHaveLength(1);
    expect(locks[0]).not.toContain('earlier');
    await store.close();
  });
});
