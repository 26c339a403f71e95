import { pino } from 'pino';
import { expect, it } from 'vitest';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { DiskRoom, floorOf } from './disk-room.ts';

const megabyte = 1024 * 1024;
const never = new AbortController().signal;

function setUp() {
  const time = new SimulatedTime();
  const disk = { freeBytes: 500 * megabyte, sizeBytes: 2_000 * megabyte, looks: 0 };
  const room = new DiskRoom({
    look: () => {
      disk.looks += 1;
      return Promise.resolve({ ...disk });
    },
    timers: time,
    logger: pino({ level: 'silent' }),
  });
  return { time, disk, room };
}

it('the floor is a part of the file system, within bounds', () => {
  const floors = [300, 2_000, 1_000_000].map((size) => floorOf({ freeBytes: 0, sizeBytes: size * megabyte }));
  expect(floors.map((bytes) => bytes / megabyte)).toEqual([64, 100, 256]);
});

it('a request that runs is given up as soon as a look finds no room', async () => {
  const { time, disk, room } = setUp();
  await room.awaited(never);
  const ran = room.within(new Promise(() => undefined));
  await time.pass(200);
  disk.freeBytes = 90 * megabyte;
  await expect(time.until(ran, 100)).rejects.toThrow('too little room');
  expect(room.trouble).toContain('has 90 MB free, and 100 MB are needed');
});

it('a request that ended while there was no room counts for nothing, though there is room again', async () => {
  const { time, disk, room } = setUp();
  await room.awaited(never);
  let end: () => void = () => undefined;
  const work = new Promise<void>((resolve) => {
    end = resolve;
  });
  const told = room.within(work).catch(String);
  disk.freeBytes = 0;
  await time.pass(60);
  disk.freeBytes = 500 * megabyte;
  await time.pass(60);
  end();
  expect(await told).toContain('too little room');
  await room.awaited(never);
  await expect(room.within(Promise.resolve('done'))).resolves.toBe('done');
});

it('nothing begins below the floor, and PostgreSQL is started with a part of it', async () => {
  const { time, disk, room } = setUp();
  disk.freeBytes = 20 * megabyte;
  const story: string[] = [];
  void room.awaitedToStart(never).then(() => story.push('starts'));
  void room.awaited(never)?.then(() => story.push('executes'));
  await time.pass(1_000);
  expect(story).toEqual([]);
  disk.freeBytes = 110 * megabyte;
  await time.pass(1_000);
  expect(story).toEqual(['starts']);
  disk.freeBytes = 130 * megabyte;
  await time.pass(100);
  expect(story).toEqual(['starts', 'executes']);
  expect(room.trouble).toBeNull();
});

it('whoever ends waits no longer', async () => {
  const { time, disk, room } = setUp();
  disk.freeBytes = 0;
  const ended = new AbortController();
  const waited = room.awaited(ended.signal);
  await time.pass(100);
  ended.abort(new Error('ended'));
  await expect(waited).rejects.toThrow('ended');
});

it('looks cost nothing for each request, and little while nothing runs', async () => {
  const { time, disk, room } = setUp();
  await room.awaited(never);
  for (let requests = 0; requests < 1_000; requests += 1) {
    expect(room.awaited(never)).toBeNull();
    await room.within(Promise.resolve());
    if (requests % 10 === 0) await time.pass(1);
  }
  expect(disk.looks).toBeLessThan(5);
  await time.pass(10_000);
  expect(disk.looks).toBeLessThan(20);
  disk.freeBytes = 0;
  await time.pass(2_000);
  expect(room.trouble).not.toBeNull();
});
