/**
 * Development only: what a simulated group holds as its own time goes on, which is what the Worker of a page holds that shows one.
 *
 *   node --expose-gc --import tsx dashboard/dev/performance/simulated.ts [--replicas 5] [--clients 20] [--minutes 60] [--seed 1]
 *
 * Looked at behind a forced collection, at each minute of the group's own time. Its time passes as fast as it can: how fast says nothing of a page.
 */
import { parseArgs } from 'node:util';
import { World } from '../../sim/world.ts';

const { values } = parseArgs({
  options: {
    replicas: { type: 'string', default: '5' },
    clients: { type: 'string', default: '20' },
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
  },
});
const [replicas, clients, minutes, seed] = (['replicas', 'clients', 'minutes', 'seed'] as const).map(
  (name) => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 1)
      throw new Error(`--${name} is a whole number of at least 1, not "${values[name]}"`);
    return value;
  },
) as [number, number, number, number];
const { gc } = globalThis;
if (gc === undefined) throw new Error('there is no way to collect garbage: run it with "node --expose-gc"');
const collect = gc;
const minuteMs = 60_000;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const inMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

let looks = 0;

function look({ group }: World): void {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  const disks = group.members.map(({ postgres: { disk } }) => disk);
  const sum = (of: (disk: (typeof disks)[number]) => number): number =>
    disks.reduce((all, disk) => all + of(disk), 0);
  const rows = sum(({ pages }) => [...pages.values()].reduce((all, page) => all + page.rows.length, 0));
  const outcomes = sum((disk) => disk.outcomes.size);
  const wal = sum((disk) => disk.wal.bytes);
  say(
    `minute ${looks}: heap ${inMegabytes(heapUsed)}, outside of it ${inMegabytes(arrayBuffers)}; on all disks ${rows} rows, ${outcomes} outcomes, ${inMegabytes(wal)} of WAL`,
  );
}

const world = new World(
  { seed, replicas, clients, acts: [] },
  {
    onFrames: (_frames, atMs) => {
      if (world.beganMs === null || atMs - world.beganMs < (looks + 1) * minuteMs) return;
      looks += 1;
      look(world);
    },
    onTrouble: (text) => {
      throw new Error(text);
    },
  },
);
await world.live(() => looks >= minutes);
