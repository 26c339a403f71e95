import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { makeDatabase, ModelDirectory } from '../../payload/wal/testing/model-directory.ts';
import { ModelDisk } from '../../payload/wal/testing/model-disk.ts';
import { CopyError } from '../../ports/copy.ts';
import type { DirectoryRole, Loss } from '../../ports/database-directory.ts';
import { Random } from '../../ports/testing/random.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { positionNone } from '../../wal/position.ts';
import { RecoveryTracker } from './recovery-progress.ts';
import { replaceDatabase } from './replace-database.ts';

const r2 = 'r2' as ReplicaId;
const logger = pino({ level: 'silent' });
const position = positionNone;

describe('what a copy takes the place of', () => {
  let disk: ModelDisk;
  /** What is here, as it is when something happens. */
  let story: string[];
  let refuses: boolean;

  beforeEach(() => {
    disk = new ModelDisk();
    story = [];
    refuses = false;
  });

  function holds(role: DirectoryRole): void {
    makeDatabase(disk, 7n);
    disk.state = { role, position, configuration: null };
  }

  function tell(what: string): void {
    const here = disk.control === null ? 'nothing' : 'a database';
    const condemned = disk.condemned === null ? '' : `, condemned: ${disk.condemned.reason}`;
    story.push(`${what}: ${here}${condemned}`);
  }

  /** The first `failures` copies break off at their beginning. */
  async function replace(cause: Loss['cause'], failures = 0, rest: Partial<Loss> = {}): Promise<boolean> {
    const time = new SimulatedTime();
    const tracker = new RecoveryTracker({ nowMs: () => time.nowMs(), logger, onEvent: () => undefined });
    let attempts = 0;
    const done = replaceDatabase(
      {
        directory: new ModelDirectory(disk, time, new Random(1)),
        fetcher: {
          open: () => {
            tell('asked');
            if (refuses) return Promise.reject(new CopyError('sourceUnavailable', 'it has none'));
            return Promise.resolve(new PassThrough());
          },
        },
        receive: async (_channel, from, onProgress, _signal, clear) => {
          tell('agreed');
          await clear?.();
          tell('received');
          onProgress({ bytesCompared: 1, bytesToCompare: 2, bytesReceived: 1 });
          attempts += 1;
          if (attempts <= failures) return Promise.reject(new CopyError('transferFailed', 'it broke off'));
          const sizes = { bytesReceived: 1, bytesTotal: 2, blocksReceived: 3 };
          holds({ kind: 'standby' });
          return Promise.resolve({ from, position, configuration: null, ...sizes });
        },
        sources: () => [r2],
        tracker,
        logger,
        timers: time,
        onEvent: () => undefined,
      },
      { cause, reason: 'why', ...rest },
      new AbortController().signal,
    );
    const isReplaced = await time.until(done);
    tell(isReplaced ? 'in place' : 'not replaced');
    return isReplaced;
  }

  it('is condemned before anybody is asked, set aside once another has agreed to send, and acquitted when that is there', async () => {
    holds({ kind: 'standby' });
    await replace('databaseLost');
    expect(story).toEqual([
      'asked: a database, condemned: why',
      'agreed: a database, condemned: why',
      'received: nothing, condemned: why',
      'in place: a database',
    ]);
    expect(disk.setAside).toBe(1);
  });

  it('is condemned until a copy has come whole', async () => {
    holds({ kind: 'standby' });
    await replace('databaseLost', 1);
    expect(story.slice(2, -1)).toEqual(Array(4).fill(expect.stringContaining('nothing, condemned: why')));
    expect(story.at(-1)).toBe('in place: a database');
    expect(disk.setAside).toBe(1);
  });

  it('is kept as it is, and not condemned, while it is only presumed to be damaged and nobody can help', async () => {
    holds({ kind: 'standby' });
    refuses = true;
    expect(await replace('databaseLost', 0, { isPresumed: true })).toBe(false);
    expect(story).toEqual(['asked: a database', 'not replaced: a database']);
    expect(disk.setAside).toBe(0);
  });

  it('is condemned and set aside though it is only presumed to be damaged, once another has agreed to send', async () => {
    holds({ kind: 'standby' });
    expect(await replace('databaseLost', 1, { isPresumed: true })).toBe(true);
    expect(story.slice(0, 3)).toEqual([
      'asked: a database',
      'agreed: a database',
      'received: nothing, condemned: why',
    ]);
    expect(story.at(-1)).toBe('in place: a database');
    expect(disk.setAside).toBe(1);
  });

  it.each(['parted', 'logPurged'] as const)('stays where it stands, and is made equal: %s', async (cause) => {
    holds({ kind: 'standby' });
    await replace(cause);
    expect(story).toEqual([
      'asked: a database',
      'agreed: a database',
      'received: a database',
      'in place: a database',
    ]);
    expect(disk.setAside).toBe(0);
  });

  it('is gone on with if it is half a copy', async () => {
    holds({ kind: 'copying', from: r2 });
    await replace('databaseLost');
    expect(story).toEqual([
      'asked: a database',
      'agreed: a database',
      'received: a database',
      'in place: a database',
    ]);
  });

  it('is not condemned where there is nothing', async () => {
    await replace('databaseLost');
    expect(story).toEqual(['asked: nothing', 'agreed: nothing', 'received: nothing', 'in place: a database']);
  });
});
