/** A target and what a source may say to it, over a real socket. */
import { readFileSync } from 'node:fs';
import { mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReplicaId, Slot } from '../../../multipaxos/types/names.ts';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import { positionNone } from '../../../wal/position.ts';
import type { CopiedDatabase } from '../../../ports/copy.ts';
import { mountSmallDisk } from '../../testing/small-disk.ts';
import { encodeDirectoryState, readDirectoryState } from '../directory-state.ts';
import { readControlFacts } from './control-file.ts';
import { Conversation } from './conversation.ts';
import type { CopyMessage, MessageOf } from './messages.ts';
import { receiveCopy, type ReceiveCopyOptions } from './receive-copy.ts';
import { socketPair, testInstallation } from './testing/copying.ts';

let root: string;
let directory: string;
let count = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-receive-'));
});
beforeEach(() => {
  count += 1;
  directory = join(root, `postgres-${count}`);
});
afterAll(() => rm(root, { recursive: true, force: true }));

const control = gunzipSync(readFileSync(new URL('goldens/pg_control-18.gz', import.meta.url)));
const position = { ...positionNone, slot: 9 as Slot, timeline: 1 as Timeline, end: 0x1800000 as Lsn };
const state = encodeDirectoryState({ role: { kind: 'standby' }, position, configuration: null });
const block = Buffer.alloc(8192, 7);

const begin: CopyMessage = {
  kind: 'begin',
  installation: testInstallation,
  control: readControlFacts(control),
  state,
};
const started: CopyMessage = { kind: 'started', database: 'standby', bytesToCompare: 10_000 };
const complete: MessageOf<'complete'> = {
  kind: 'complete',
  state,
  label: 'START WAL LOCATION: 0/1000028 (file 000000010000000000000001)\nSTART TIMELINE: 1\n',
  control: control.toString('base64'),
  files: 2,
  blocks: 2,
  bytesTotal: 16_391,
};

/** What a source says, and where it waits to be told what the target has. */
type Line = CopyMessage | 'have';

const story: readonly Line[] = [
  { kind: 'directory', path: '', directories: ['base', 'global'] },
  { kind: 'directoryEnd' },
  { kind: 'directory', path: 'global', directories: [] },
  { kind: 'file', file: 0, bytes: 16_384, name: '1262' },
  'have',
  { kind: 'blocks', file: 0, block: 0, data: Buffer.concat([block, Buffer.alloc(8185, 1)]) },
  { kind: 'fileEnd', file: 0, bytes: 16_377 },
  { kind: 'file', file: 1, bytes: 0, name: 'pg_filenode.map' },
  'have',
  { kind: 'fileEnd', file: 1, bytes: 0 },
  { kind: 'directoryEnd' },
  { kind: 'directory', path: 'pg_wal', directories: [] },
  { kind: 'directoryEnd' },
  { kind: 'history', timeline: 3, text: '1\t0/1000000\tx\n' },
  complete,
];

/** Plays a source to the end, or until the target has gone. */
async function play(socket: Socket, lines: readonly Line[], end: (socket: Socket) => void): Promise<void> {
  const source = new Conversation(socket);
  try {
    await source.expect('hello');
    await source.send(begin);
    await source.expect('go');
    await source.send(started);
    for (const line of lines) {
      if (line === 'have') await source.expect('have');
      else await source.send(line);
    }
  } catch {
    // The target has heard enough.
  }
  end(socket);
  source.end();
  await source.ended();
  source.close();
}

async function receive(
  lines: readonly Line[],
  {
    end = () => {},
    into = directory,
    isOfUse = () => true,
  }: { end?: (socket: Socket) => void; into?: string; isOfUse?: ReceiveCopyOptions['isOfUse'] } = {},
): Promise<CopiedDatabase> {
  const [near, far] = await socketPair(join(root, `socket-${count}-${Math.random()}`));
  const playing = play(far, lines, end);
  try {
    return await receiveCopy({
      channel: near,
      from: 'r1' as ReplicaId,
      directory: into,
      owner: { group: 'main', cluster: 'c1' },
      installation: testInstallation,
      isOfUse,
    });
  } finally {
    await playing;
  }
}

function withLine(at: number, ...lines: readonly Line[]): Line[] {
  return story.toSpliced(at, 1, ...lines);
}

describe('a target', () => {
  it('takes what it is told, and is a standby when all of it is there', async () => {
    const copied = await receive(story);
    expect(copied).toMatchObject({ position, blocksReceived: 2, bytesTotal: 16_391 });
    expect(await readDirectoryState(directory)).toEqual({
      role: { kind: 'standby' },
      position,
      configuration: null,
    });
    const file = await readFile(join(directory, 'data', 'global', '1262'));
    expect(file.equals(Buffer.concat([block, Buffer.alloc(8185, 1)]))).toBe(true);
    expect((await readdir(join(directory, 'data', 'global'))).sort()).toEqual([
      '1262',
      'pg_control',
      'pg_filenode.map',
    ]);
    expect(await readFile(join(directory, 'data', 'backup_label'), 'utf8')).toBe(complete.label);
    expect(await readdir(join(directory, 'data', 'pg_wal'))).toEqual(['00000003.history']);
  });

  it('goes on with what is there after any end of the channel, wherever it is', async () => {
    for (let lines = 0; lines < story.length; lines += 1) {
      await expect(receive(story.slice(0, lines))).rejects.toMatchObject({
        name: 'CopyError',
        code: 'transferFailed',
      });
      await expect(
        receive(story.slice(0, lines), { end: (socket) => socket.destroy() }),
      ).rejects.toMatchObject({ code: 'transferFailed' });
      expect((await readDirectoryState(directory))?.role.kind).toBe('copying');
    }
    // The blocks are here, so a source that compared would send none of them.
    const again = story.filter((line) => line === 'have' || line.kind !== 'blocks');
    expect(await receive([...again.slice(0, -1), { ...complete, blocks: 0 }])).toMatchObject({
      blocksReceived: 0,
    });
    expect((await readDirectoryState(directory))?.role.kind).toBe('standby');
  });

  it('makes every file durable before it is a standby, also those of which nothing came', async () => {
    await receive(story);
    const some = await open(join(root, 'some'), 'w');
    const handles = Object.getPrototypeOf(some) as typeof some;
    await some.close();
    const roles: (string | undefined)[] = [];
    const datasync = vi.spyOn(handles, 'datasync').mockImplementation(async () => {
      roles.push((await readDirectoryState(directory))?.role.kind);
    });
    const equal = story.filter((line) => line === 'have' || line.kind !== 'blocks');
    await receive([...equal.slice(0, -1), { ...complete, blocks: 0 }]);
    datasync.mockRestore();
    expect(roles).toEqual(['copying', 'copying']);
  });

  it.each([
    ['that got shorter while it was copied', 16_384],
    ['that is shorter', 8192],
  ])('keeps nothing of its own behind the end of a file %s', async (_file, bytes) => {
    await receive(story);
    const shorter: Line[] = [
      { kind: 'file', file: 0, bytes, name: '1262' },
      'have',
      { kind: 'fileEnd', file: 0, bytes: 8192 },
    ];
    await receive([...story.toSpliced(3, 4, ...shorter).slice(0, -1), { ...complete, blocks: 0 }]);
    expect((await readFile(join(directory, 'data', 'global', '1262'))).equals(block)).toBe(true);
  });

  it('is no standby of what its log does not go on from any more when all of it is there', async () => {
    let asked = 0;
    const isOfUse = (): boolean => (asked += 1) === 1;
    await expect(receive(story, { isOfUse })).rejects.toMatchObject({ name: 'CopyError', code: 'tooOld' });
    expect(asked).toBe(2);
    expect((await readDirectoryState(directory))?.role.kind).toBe('copying');
  });

  it('is no standby if the disk does not take a file', async () => {
    const some = await open(join(root, 'some'), 'w');
    const handles = Object.getPrototypeOf(some) as typeof some;
    await some.close();
    for (const call of ['datasync', 'sync'] as const) {
      const spy = vi
        .spyOn(handles, call)
        .mockRejectedValueOnce(Object.assign(new Error('the disk fails'), { code: 'EIO' }));
      await expect(receive(story)).rejects.toMatchObject({
        code: 'transferFailed',
        message: 'the disk fails',
      });
      spy.mockRestore();
      expect((await readDirectoryState(directory))?.role.kind).not.toBe('standby');
    }
  });

  it.each<[string, Line[]]>([
    ['a file out of order', withLine(3, { kind: 'file', file: 5, bytes: 16_384, name: '1262' })],
    ['a name that leads out', withLine(3, { kind: 'file', file: 0, bytes: 16_384, name: '../../x' })],
    ['a directory that is none of a copy', withLine(2, { kind: 'directory', path: 'etc', directories: [] })],
    ['a directory in a directory', withLine(4, { kind: 'directory', path: 'base', directories: [] })],
    [
      'blocks of a file that was not announced',
      withLine(5, { kind: 'blocks', file: 9, block: 0, data: block }),
    ],
    ['blocks beyond the end', withLine(5, { kind: 'blocks', file: 0, block: 2, data: block })],
    ['no blocks', withLine(5, { kind: 'blocks', file: 0, block: 0, data: Buffer.alloc(0) })],
    ['an end beyond what was announced', withLine(6, { kind: 'fileEnd', file: 0, bytes: 99_999 })],
    ['a message of the target', withLine(5, { kind: 'go' })],
    ['fewer files than it says', withLine(14, { ...complete, files: 3 })],
    ['fewer blocks than it says', withLine(14, { ...complete, blocks: 3 })],
    ['a file that is not complete', withLine(6)],
    ['a position that is none', withLine(14, { ...complete, state: '{}' })],
  ])('refuses %s, and stays half a copy', async (_what, lines) => {
    await expect(receive(lines)).rejects.toMatchObject({ name: 'CopyError', code: 'copyInvalid' });
    expect((await readDirectoryState(directory))?.role.kind).toBe('copying');
    expect(await readdir(root)).not.toContain('x');
  });

  it('refuses a control file that is damaged and a label that is none', async () => {
    const damaged = Buffer.from(control).fill(9, 30, 31);
    await expect(receive(withLine(14, { ...complete, control: damaged.toString('base64') }))).rejects.toThrow(
      /pg_control/,
    );
    await expect(receive(withLine(14, { ...complete, label: 'nothing' }))).rejects.toThrow(/label/);
    expect((await readDirectoryState(directory))?.role.kind).toBe('copying');
  });

  it('tells in its own words why a source has none', async () => {
    const failed: CopyMessage = { kind: 'failed', code: 'sourceDamaged', message: 'block 5 is damaged' };
    await expect(receive(withLine(5, failed))).rejects.toMatchObject({
      code: 'sourceDamaged',
      message: 'block 5 is damaged',
    });
  });
});

const disk = mountSmallDisk();
afterAll(disk.remove);

it.skipIf(!disk.isMounted)(
  'a target without space says so, at the beginning or when it runs out',
  async () => {
    const into = join(disk.path, 'postgres');
    const data = Buffer.alloc(64 * 8192, 3);
    const large = withLine(
      3,
      { kind: 'file', file: 0, bytes: 4 * data.length, name: '1262' },
      'have',
      ...[0, 1, 2, 3].map((n): Line => ({ kind: 'blocks', file: 0, block: 64 * n, data })),
    );
    await expect(receive(large, { into })).rejects.toMatchObject({
      code: 'noSpace',
      cause: { code: 'ENOSPC' },
    });
    expect((await readDirectoryState(into))?.role.kind).toBe('copying');
    await rm(into, { recursive: true });
    Object.assign(started, { bytesToCompare: 2_000_000 });
    await expect(receive(story, { into })).rejects.toMatchObject({
      code: 'noSpace',
      message: /about 2 MB are needed/,
    });
    Object.assign(started, { bytesToCompare: 10_000 });
    expect(await readDirectoryState(into)).toBeNull();
    await rm(into, { recursive: true });
  },
);
