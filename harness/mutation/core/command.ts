/**
 * `npm run mutate -- core`: how many alterations of `server/src/multipaxos` its tests notice.
 *
 *   --sample N   N mutants, chosen by the seed; without it all of them
 *   --only FILE  mutants of this module of the core alone
 *   --jobs N     N judging processes side by side; one if nothing is said
 *   --json FILE  where to write the score, with every mutant and the test that killed it
 *
 * Responsible for: the order of things. The core as it is must pass every judge before the first mutant and after the last one: else somebody has changed it
 * meanwhile, and the verdicts say nothing.
 */
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeScratch, removeScratch } from '../../../scripts/specs/scratch.ts';
import { makeBehaviours } from '../../conformance/replay/replay-command.ts';
import { sample } from '../sampling.ts';
import { explanations } from './explained.ts';
import { JudgeTimes } from './judge-times.ts';
import { MutantJudge, type JudgeName, type Verdict } from './judging.ts';
import { mutantsOf, type CoreMutant } from './mutants.ts';
import { scoreOf, tellScore, type CoreScore, type Judged } from './score.ts';

export interface CoreMutationOptions {
  readonly sample?: number;
  readonly json?: string;
  readonly seed?: number;
  readonly only?: string;
  readonly jobs?: number;
}

const folder = fileURLToPath(new URL('../../../server/src/multipaxos/', import.meta.url));
/** The cheapest first. */
const judges: readonly JudgeName[] = ['unit', 'replay', 'simulator'];
const toldEvery = 50;
const behaviours = { behaviours: 80, depth: 60, seed: 1 };

/** @throws Error if there is no verdict: the harness failed, or the core does not pass as it is */
export async function runCoreMutation(options: CoreMutationOptions): Promise<CoreScore> {
  const all = await allMutants(options.only);
  const chosen = options.sample === undefined ? all : sample(all, options.sample, options.seed ?? 1);
  if (chosen.length === 0) throw new Error('there is nothing to alter');
  const directory = await makeScratch('barista-mutants-');
  const behavioursFile = join(directory, 'behaviours.json');
  const times = new JudgeTimes();
  const hands = Array.from({ length: options.jobs ?? 1 }, () => new MutantJudge(behavioursFile, times));
  try {
    await writeFile(behavioursFile, JSON.stringify(await makeBehaviours(behaviours)));
    await passAsItIs(hands[0]!, 'before the first mutant');
    const judged = await judgeAll(chosen, hands);
    await passAsItIs(hands[0]!, 'after the last mutant');
    const whole = options.sample === undefined && options.only === undefined;
    const names = new Set((whole ? all : await allMutants()).map(({ name }) => name));
    const score = scoreOf(judged, explanations, names);
    for (const line of tellScore(score)) console.log(line);
    if (options.json !== undefined) await writeFile(options.json, toJson(score, judged));
    return score;
  } finally {
    for (const hand of hands) hand.stop();
    await removeScratch(directory);
  }
}

async function allMutants(only?: string): Promise<CoreMutant[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
  const wanted = files.filter((file) => only === undefined || file === only).sort();
  const mutants: CoreMutant[] = [];
  for (const file of wanted) mutants.push(...mutantsOf(file, await readFile(join(folder, file), 'utf8')));
  return mutants;
}

async function passAsItIs(judge: MutantJudge, when: string): Promise<void> {
  const file = 'step.ts';
  const text = await readFile(join(folder, file), 'utf8');
  const verdict = await judge.judge({ file, text, judges });
  if (verdict.kind === 'killed')
    throw new Error(
      `the core does not pass as it is ${when}: ${verdict.by}, ${verdict.how}, ${verdict.test}`,
    );
}

async function judgeAll(mutants: readonly CoreMutant[], hands: readonly MutantJudge[]): Promise<Judged[]> {
  const verdicts = new Map<CoreMutant, Verdict>();
  const waiting = mutants.values();
  let survived = 0;
  const work = async (judge: MutantJudge): Promise<void> => {
    for (const mutant of waiting) {
      const verdict = await judge.judge({ file: mutant.file, text: mutant.text, judges });
      verdicts.set(mutant, verdict);
      if (verdict.kind === 'survived') {
        survived += 1;
        console.log(`survives: ${mutant.name} (line ${mutant.line})`);
      }
      if (verdicts.size % toldEvery === 0)
        console.log(`${verdicts.size} of ${mutants.length} judged, ${survived} survived`);
    }
  };
  await Promise.all(hands.map(work));
  return mutants.map((mutant) => ({ mutant, verdict: verdicts.get(mutant)! }));
}

function toJson(score: CoreScore, judged: readonly Judged[]): string {
  const rows = judged.map(({ mutant: { name, file, line, what }, verdict }) => ({
    name,
    file,
    line,
    what,
    verdict,
  }));
  return `${JSON.stringify({ ...score, judged: rows }, null, 1)}\n`;
}
