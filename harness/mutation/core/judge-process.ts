/**
 * The process in which mutants are judged, one after the other, so that one that never ends can be ended.
 *
 * Responsible for: one Vitest for all mutants, which keeps every module but the altered one. The altered text is given to it in place of the
 * file's: no file is ever written. Tests share their modules within a mutant, which is safe since the core is pure.
 */
import { createVitest, type TestSpecification, type Vitest } from 'vitest/node';
import type { JudgeName, JudgeOrder, JudgeWord, Noticed } from './judging.ts';

const root = new URL('../../../', import.meta.url).pathname;
const core = `${root}server/src/multipaxos/`;

const filesOfJudge: Readonly<Record<JudgeName, string>> = {
  unit: 'server/src/multipaxos/',
  simulator: 'harness/mutation/core/judges/simulator.judge.ts',
  replay: 'harness/mutation/core/judges/replay.judge.ts',
};

let altered: { readonly path: string; readonly text: string } | null = null;

async function begin(behavioursFile: string): Promise<Vitest> {
  const vitest = await createVitest(
    'test',
    {
      config: false,
      root,
      watch: false,
      include: ['server/src/multipaxos/**/*.test.ts', 'harness/mutation/core/judges/*.judge.ts'],
      pool: 'threads',
      isolate: false,
      maxWorkers: 1,
      bail: 1,
      testTimeout: 600_000,
      reporters: [{}],
      provide: { behavioursFile },
    },
    {
      plugins: [
        {
          name: 'mutant',
          enforce: 'pre',
          load: (id) => (altered !== null && id.split('?')[0] === altered.path ? altered.text : undefined),
        },
      ],
    },
  );
  await vitest.standalone();
  return vitest;
}

/** The first test that failed, or null. */
async function failedTest(
  vitest: Vitest,
  specifications: readonly TestSpecification[],
): Promise<string | null> {
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([...specifications], false);
  if (testModules.length === 0) throw new Error('a judge without tests');
  const failed = testModules.find((module) => !module.ok());
  if (failed !== undefined) {
    for (const test of failed.children.allTests('failed'))
      return `${failed.relativeModuleId}: ${test.fullName}`;
    return `${failed.relativeModuleId}: ${failed.errors()[0]?.message ?? 'did not end'}`;
  }
  return unhandledErrors.length > 0 ? String(unhandledErrors[0]) : null;
}

function tell(word: JudgeWord): void {
  process.send!(word);
}

async function judge(vitest: Vitest, { file, text, judges }: JudgeOrder): Promise<Noticed | null> {
  const path = `${core}${file}`;
  altered = { path, text };
  vitest.invalidateFile(path);
  try {
    for (const name of judges) {
      tell({ kind: 'began', judge: name });
      const test = await failedTest(vitest, await vitest.globTestSpecifications([filesOfJudge[name]]));
      if (test !== null) return { judge: name, test };
    }
    return null;
  } finally {
    altered = null;
    vitest.invalidateFile(path);
  }
}

const vitest = await begin(process.argv[2]!);
process.on('message', (order: JudgeOrder) => {
  judge(vitest, order).then(
    (noticed) => tell({ kind: 'judged', noticed }),
    (error: unknown) => tell({ kind: 'failed', message: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
tell({ kind: 'ready' });
