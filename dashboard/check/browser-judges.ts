/** In a browser: the judges of harness/conformance, of which there is one, with the specifications' texts as the build has them. It stands where judges.ts does (vite.config.ts). */
import { judgeOver } from '../../harness/conformance/judge/evaluator-judge.ts';
import type { Judge } from '../../harness/conformance/judge/recorded-model.ts';

const texts = import.meta.glob(
  '../../specs/{MultiPaxos,Consensus,OrderedApply,Lease,Paxos,PrimaryCopies,Trace*}.tla',
  {
    query: '?raw',
    import: 'default',
    eager: true,
  },
) as Readonly<Record<string, string>>;

const evaluator = judgeOver((spec) => {
  const text = texts[`../../specs/${spec}.tla`];
  if (text === undefined) throw new Error(`the page does not have the specification ${spec}`);
  return text;
});

export const judges: Readonly<Record<string, Judge>> = { typescript: evaluator };

export const defaultJudge = 'typescript';
