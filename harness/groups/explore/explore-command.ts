/**
 * `npm run groups -- --explore MINUTES [--seed FIRST] [--blind]`: looks for runs that come through what others do not, and keeps the best of them as the corpus.
 *
 * Runs the corpus first, then what the explorer proposes; `--blind` takes new seeds only, for comparison, and keeps nothing. A run that breaks what must hold is told with its command, and ends with 1; the corpus stays as it was.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { Random } from '../../../server/src/ports/testing/random.ts';
import { bestOf, Explorer } from './explorer.ts';
import { commandOf, type Input, inputOf, runInput, type Run } from './run-input.ts';

export interface ExploreOptions {
  readonly minutes: number;
  readonly firstSeed: number;
  readonly blind: boolean;
}

const corpusFile = fileURLToPath(new URL('corpus.ndjson', import.meta.url));
const corpusMax = 48;
const tellEveryRuns = 25;

const inputSchema = z.object({
  seed: z.int(),
  replicas: z.int(),
  turns: z.array(z.object({ atMs: z.int(), salt: z.int() })),
});

/** The best first. */
export async function readCorpus(): Promise<readonly Input[]> {
  const lines = (await readFile(corpusFile, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => inputSchema.parse(JSON.parse(line)));
}

/** @returns the exit code. @throws Error if that is no time */
export async function explore({ minutes, firstSeed, blind }: ExploreOptions): Promise<number> {
  if (!(minutes > 0)) throw new Error('--explore asks for a number of minutes');
  const random = new Random(firstSeed);
  const explorer = new Explorer(firstSeed, random);
  const kept: Run[] = [];
  const known = blind ? [] : [...(await readCorpus())];
  const fromCorpus = known.length;
  const endMs = performance.now() + minutes * 60_000;
  let runs = 0;
  let lastSeed = firstSeed;
  while (known.length > 0 || performance.now() < endMs) {
    const input = known.shift() ?? (blind ? inputOf(lastSeed++) : explorer.next());
    const run = await runInput(input);
    runs += 1;
    if (run.faults.length > 0) {
      console.log(`FAILED: ${commandOf(input)}\n${run.faults.join('\n')}`);
      return 1;
    }
    if (explorer.take(run) > 0) kept.push(run);
    if (runs % tellEveryRuns === 0) console.log(`${runs} runs: ${explorer.met} pairs of action and state`);
  }
  console.log(`${runs} runs, ${fromCorpus} of the corpus: ${explorer.met} pairs of action and state`);
  if (blind) return 0;
  const best = bestOf(kept, corpusMax);
  const met = new Set(best.flatMap(({ pairs }) => [...pairs.keys()])).size;
  await writeFile(corpusFile, best.map(({ input }) => `${JSON.stringify(input)}\n`).join(''));
  console.log(`kept: ${best.length} runs, which meet ${met} of them`);
  return 0;
}

/** @returns the exit code */
export async function runCorpus(): Promise<number> {
  const inputs = await readCorpus();
  const met = new Set<string>();
  for (const input of inputs) {
    const { faults, pairs } = await runInput(input);
    for (const pair of pairs.keys()) met.add(pair);
    if (faults.length === 0) continue;
    console.log(`FAILED: ${commandOf(input)}\n${faults.join('\n')}`);
    return 1;
  }
  console.log(`${inputs.length} runs of the corpus: ${met.size} pairs of action and state`);
  return 0;
}
