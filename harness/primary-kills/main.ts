/**
 * `npm run primary-kills`: kill -9 of the primary under load, at each level of acknowledgement, and what of the acknowledged was lost.
 *
 * Exit code 1 if a level has not kept its promise, or replicas differ in the end; 2 for a command line that is not understood.
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type Level, levels } from '../../server/src/primary/types/effects.ts';
import { orUsage, wholeNumber } from '../command-line.ts';
import { type KillOptions, killAtLevel, type LevelResult } from './kill-primary.ts';
import { describeTotals, findingsOf, totalsOf } from './report.ts';

const usage = `npm run primary-kills -- [options]
  --level LIST    some of ${levels.join(',')} (default: all)
  --kills N       of each level (default 50)
  --replicas N    2 to 5 (default 3)
  --clients N     that insert rows, at all replicas (default 4)
  --pause MS      between two rows of one client (default 25)
  --delay MS      on each way between two replicas: what is on its way dies with its sender (default 5; 0: none)
  --group N       kills of one group, then another is founded (default 10)
  --json FILE     all figures, kill by kill`;

interface Wish extends Omit<KillOptions, 'level' | 'say'> {
  readonly levels: readonly Level[];
  readonly json: string | null;
}

function read(): Wish | null {
  const { values } = parseArgs({
    options: {
      level: { type: 'string', default: levels.join(',') },
      kills: { type: 'string', default: '50' },
      replicas: { type: 'string', default: '3' },
      clients: { type: 'string', default: '4' },
      pause: { type: 'string', default: '25' },
      delay: { type: 'string', default: '5' },
      group: { type: 'string', default: '10' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const replicas = wholeNumber('replicas', values.replicas);
  if (replicas < 2 || replicas > 5) throw new Error('--replicas must be 2 to 5');
  const orNone = (name: string, text: string): number => (text === '0' ? 0 : wholeNumber(name, text));
  return {
    levels: values.level.split(',').map(levelOf),
    kills: wholeNumber('kills', values.kills),
    replicas,
    clients: wholeNumber('clients', values.clients),
    pauseMs: orNone('pause', values.pause),
    delayMs: orNone('delay', values.delay),
    killsOfGroup: wholeNumber('group', values.group),
    json: values.json ?? null,
  };
}

function levelOf(text: string): Level {
  const found = levels.find((level) => level === text);
  if (found === undefined) throw new Error(`no level ${text}; there are ${levels.join(', ')}`);
  return found;
}

async function main(): Promise<number> {
  const wish = orUsage(usage, read);
  if (wish === null) {
    console.log(usage);
    return 0;
  }
  const { levels, json, ...options } = wish;
  const results: LevelResult[] = [];
  for (const level of levels) {
    results.push(await killAtLevel({ ...options, level, say: console.log }));
    if (json !== null) await writeFile(json, `${JSON.stringify({ options, results }, null, 1)}\n`);
  }
  for (const line of describeTotals(results.map(totalsOf))) console.log(line);
  const findings = results.flatMap(findingsOf);
  for (const finding of findings) console.log(`FOUND: ${finding}`);
  return findings.length === 0 ? 0 : 1;
}

process.exitCode = await main();
