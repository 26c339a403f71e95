/** Who may judge what was recorded, by name. */
import type { Judge } from './recorded-model.ts';
import { judgeByTlc } from './tlc-judge.ts';
import { judgeByTypescript } from './typescript-judge.ts';

export type JudgeName = 'tlc' | 'typescript';

export const judges: Readonly<Record<JudgeName, Judge>> = { tlc: judgeByTlc, typescript: judgeByTypescript };

export function isJudgeName(name: string): name is JudgeName {
  return Object.hasOwn(judges, name);
}

/** Where none is named: the two agree (judges.tlc.test.ts), and TLC costs several times as much. */
export const defaultJudge: JudgeName = 'typescript';
