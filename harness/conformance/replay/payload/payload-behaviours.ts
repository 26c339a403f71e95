/** Many behaviours of ReplayOrderedApply, at random and by stories that chance seldom makes up: made, and the payload led through them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { behaviourTexts, type BehaviourOptions } from '../behaviours.ts';
import { nextActions } from '../../../../scripts/specs/parity.ts';
import { SPECS_DIR } from '../../../../scripts/specs/tlc.ts';
import { tellReplay, type ReplayReport } from '../replay-command.ts';
import { asSequence, asText } from '../spec-view.ts';
import { parseBehaviour } from '../tla-value.ts';
import { replayPayload } from './replay-payload.ts';

/** Of OrderedApply; what cannot be replayed, and why. */
const notReplayed: Readonly<Record<string, string>> = {
  WriteSwitch: 'the model of PostgreSQL writes no switch of segments',
  MarkPrimary: 'what the payload does of its own accord is taken at once: it marks in the step that opens',
  LoseClient: 'the model of PostgreSQL has no transaction that is open: each is written as it is committed',
  CommitUnheard: 'the same',
  UndoUnheard: 'the same',
  SendCopy: 'the copy that stands in here is sent and installed in one step',
};

const extended = ['MCOrderedApply', 'OrderedApply'] as const;
const random = { module: 'ReplayOrderedApply', extended } as const;

/** Of GuidedOrderedApply. */
const stories = ['staleRange', 'gap', 'leftHalf', 'leftBehind'] as const;
/** Enough that TLC, which draws one each time, tells all of them, and longer than any. */
const told = { behaviours: 60, depth: 100, seed: 1 } as const;

/** At random. @throws Error if TLC fails */
export function makePayloadBehaviours(options: BehaviourOptions): Promise<string[]> {
  return behaviourTexts(random, options);
}

/** One behaviour of each story. `cfg`: which there are. @throws Error if TLC fails, or a story is none of the specification's */
export async function tellStories(
  names: readonly string[] = stories,
  cfg = 'GuidedOrderedApply.cfg',
): Promise<string[]> {
  const guided = { module: 'GuidedOrderedApply', cfg, beside: random.module, extended };
  const found = new Map<string, string>();
  for (const text of await behaviourTexts(guided, told)) {
    const { story, left } = parseBehaviour(text).at(-1)!;
    const [next] = asSequence(left);
    if (next !== undefined)
      throw new Error(`${asText(story)} goes on with no step of the specification: ${JSON.stringify(next)}`);
    found.set(asText(story), text);
  }
  return names.map((name) => {
    const text = found.get(name);
    if (text === undefined) throw new Error(`nobody has told ${name}`);
    return text;
  });
}

/** The actions of OrderedApply that must occur. */
export async function replayedActions(): Promise<string[]> {
  const spec = await readFile(join(SPECS_DIR, 'OrderedApply.tla'), 'utf8');
  return nextActions(spec).filter((name) => notReplayed[name] === undefined);
}

/** @returns the exit code */
export async function runPayloadReplay(options: BehaviourOptions): Promise<number> {
  const report = await replayPayloads([...(await makePayloadBehaviours(options)), ...(await tellStories())]);
  return tellReplay(report, { who: 'the payload', seed: options.seed, expected: await replayedActions() });
}

export async function replayPayloads(
  behaviours: readonly string[],
  replay: typeof replayPayload = replayPayload,
): Promise<ReplayReport> {
  const actions = new Map<string, number>();
  let steps = 0;
  for (const [index, text] of behaviours.entries()) {
    const outcome = await replay(parseBehaviour(text));
    steps += outcome.steps;
    for (const [name, count] of outcome.actions) actions.set(name, (actions.get(name) ?? 0) + count);
    const { divergence } = outcome;
    if (divergence !== null)
      return { behaviours: index + 1, steps, actions, failed: { behaviour: index, divergence } };
  }
  return { behaviours: behaviours.length, steps, actions, failed: null };
}
