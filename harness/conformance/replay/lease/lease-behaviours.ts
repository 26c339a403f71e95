/** Many behaviours of ReplayLease: made, and the core led through them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SPECS_DIR } from '../../../../scripts/specs/tlc.ts';
import { actionsOf } from '../../../../scripts/specs/vacuity.ts';
import { behaviourTexts, type BehaviourOptions } from '../behaviours.ts';
import { replayAll, tellReplay } from '../replay-command.ts';
import { parseBehaviour, type TlaState } from '../tla-value.ts';
import { replayLease } from './replay-lease.ts';

/** Of Lease; what cannot be replayed, and why. */
const reads = 'what is read, and when it is answered, is the service’s and not the core’s';
const members = 'the core changes its members by its log: replayed with MultiPaxos';
const notReplayed: Readonly<Record<string, string>> = {
  Write: reads,
  AskRead: reads,
  RunRead: reads,
  AnswerRead: reads,
  Change: members,
  ChangeAgain: members,
  Learn: members,
};

const module = { module: 'ReplayLease', extended: ['Lease'] } as const;

/** @throws Error if TLC fails */
export async function makeLeaseBehaviours(options: BehaviourOptions): Promise<TlaState[][]> {
  return (await behaviourTexts(module, options)).map(parseBehaviour);
}

/** The actions of Lease that must occur. */
export async function replayedLeaseActions(): Promise<string[]> {
  const spec = await readFile(join(SPECS_DIR, 'Lease.tla'), 'utf8');
  return actionsOf(spec).filter((name) => notReplayed[name] === undefined);
}

/** @returns the exit code */
export async function runLeaseReplay(options: BehaviourOptions): Promise<number> {
  const report = replayAll(await makeLeaseBehaviours(options), replayLease);
  const expected = await replayedLeaseActions();
  return tellReplay(report, { who: 'the core', seed: options.seed, expected });
}
