/**
 * `npm run drill -- NAME`: what an operator fears, done to a group of real processes that is made for it, with a verdict.
 *
 * Exit codes: 0 all went as it must; 1 something did not; 2 wrong option; 3 it cannot be done on this machine.
 */
import { parseArgs } from 'node:util';
import { orUsage, wholeNumber } from '../command-line.ts';
import { CannotRun, type Drill, type DrillContext } from './drill.ts';
import { fullDisk } from './full-disk.ts';
import { minorUpgrade } from './minor-upgrade.ts';
import { pointInTime } from './point-in-time.ts';
import { powerLoss } from './power-loss.ts';
import { machineSleeps } from './sleep.ts';

const drills: Readonly<Record<string, Drill>> = {
  'power-loss': powerLoss,
  'full-disk': fullDisk,
  'point-in-time': pointInTime,
  sleep: machineSleeps,
  'minor-upgrade': minorUpgrade,
};

const usage = `npm run drill -- NAME [options]

  power-loss      all processes of all replicas are killed at once, under load; the replicas are started again
  full-disk       the disk of a follower, of the leader, and of all runs full (Linux, as root: it mounts small file systems)
  point-in-time   a table is dropped; a new group is restored to just before that, from a backup and the archive
  sleep           the machine of the leader sleeps for longer than its lease, and wakes up
  minor-upgrade   a minor version of PostgreSQL is replaced, replica by replica; needs --older

Options:
  --seconds N     how long load goes on (default: 8)
  --older DIR     programs of an older minor version of PostgreSQL
  --keep          keep the files of the group
  --help

Exit codes: 0 all went as it must, 1 something did not, 2 wrong option, 3 it cannot be done here.`;

interface Wish {
  readonly name: string;
  readonly drill: Drill;
  readonly context: DrillContext;
}

function read(): Wish | null {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: 'string', default: '8' },
      older: { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const [name = ''] = positionals;
  const drill = drills[name];
  if (drill === undefined || positionals.length > 1)
    throw new Error(`There are the drills ${Object.keys(drills).join(', ')}; name one.`);
  const beganMs = performance.now();
  const context: DrillContext = {
    seconds: wholeNumber('seconds', values.seconds),
    keep: values.keep,
    older: values.older ?? null,
    say: (line) => console.log(`${((performance.now() - beganMs) / 1000).toFixed(1).padStart(6)} s  ${line}`),
  };
  return { name, drill, context };
}

async function main(): Promise<number> {
  const wish = orUsage(usage, read);
  if (wish === null) {
    console.log(usage);
    return 0;
  }
  try {
    const faults = await wish.drill(wish.context);
    for (const fault of faults) console.log(`WRONG: ${fault}`);
    console.log(faults.length === 0 ? `VERDICT: ${wish.name} went well` : 'VERDICT: FAILED');
    return faults.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    console.log(`NOT DONE: ${error.message}`);
    return 3;
  }
}

// Clients of a drill that ended early would go on for ever.
process.exit(await main());
