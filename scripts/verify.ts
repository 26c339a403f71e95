/**
 * `npm run check`, `npm test` and `npm run test:all`: everything that a change must pass, step by step, with the time that each took.
 *
 * Responsible for: the order of the steps, what runs side by side, and a summary that names what failed. Knows nothing about what they do.
 * What passed with all that it rests on is not run again (scripts/proofs), but by `npm run test:all`.
 * Exit code 0 only if every step passed. All steps run even when one fails, so that one run tells everything.
 */
import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { makeMemoryDirectory } from './memory-directory.ts';
import { loadProven, note } from './proofs/proven.ts';
import { digestOf, forget, type Place } from './proofs/rests-on.ts';
import { expensiveTests, testOutcomes } from './proofs/test-reports.ts';
import { missingTools, type ToolId } from './tools.ts';

interface Step {
  readonly name: string;
  readonly command: string;
  /** What it writes goes to the disk, even where there is room in memory. */
  readonly onDisk?: true;
  /** It computes and waits for nobody: it takes what the others leave of the processors. */
  readonly isPatient?: true;
  /** It is spared when it passed with all of this. */
  readonly restsOn?: Place;
  /** It is not tried without them. */
  readonly needs?: readonly ToolId[];
}

/** One after another; whoever is through takes the last ones of the lane that has most left. */
type Lane = readonly Step[];
/** Side by side. */
type Stage = readonly Lane[];

const STATIC: Stage = [
  [
    { name: 'types', command: 'npm run --silent typecheck' },
    { name: 'format', command: 'npm run --silent format:check' },
  ],
  [
    { name: 'lint', command: 'npm run --silent lint' },
    { name: 'unused code', command: 'npm run --silent unused' },
  ],
];

/** `npm run test:all`. */
const trustsNothing = process.argv[2] === 'all';
const all = trustsNothing ? ' --all' : '';
const tests = (project: string): string => `npx tsx scripts/proofs/tests.ts --project ${project}${all}`;

const UNIT: Step = { name: 'unit tests', command: tests('unit'), isPatient: true };

/** In parts, so that a lane that is through early takes some of them. */
const MODEL_PARTS = trustsNothing ? 3 : 1;
const MODELS: Lane = Array.from({ length: MODEL_PARTS }, (_, index) => ({
  name: `models, part ${index + 1} of ${MODEL_PARTS}`,
  command: `npm run --silent specs -- ${trustsNothing ? '' : '--changed '}--note --workers 1 --part ${index + 1}/${MODEL_PARTS}`,
  isPatient: true,
  needs: ['java', 'maven'],
}));

/** In halves, so that a lane that is through early takes one of them. */
const CLUSTERS: Lane = [1, 2].map((half) => ({
  name: `cluster and browser tests, half ${half}`,
  command: `${tests('e2e')} --part ${half}/2`,
  needs: ['psql', 'chromium'],
}));

/** A real cluster under faults. */
const nemesis: Place = { entries: ['harness/nemesis/main.ts'], folders: ['server/src', 'bin', 'specs'] };
const simulation: Place = { entries: ['harness/groups/main.ts'] };

const FULL: readonly Stage[] = [
  STATIC,
  [[{ name: 'build', command: 'npm run --silent build' }]],
  // Clusters wait for much, and models for nothing: side by side they take little more than all of the processors' time.
  [
    [
      { name: 'PostgreSQL tests', command: tests('pg') },
      ...CLUSTERS,
      {
        name: 'cluster on ZooKeeper',
        command:
          'BARISTA_LOG_STORE=zookeeper BARISTA_LOAD_SECONDS=5 npx vitest run --project e2e harness/e2e/cluster.e2e.test.ts',
        restsOn: { entries: ['harness/e2e/cluster.e2e.test.ts'], folders: ['server/src', 'bin'] },
        needs: ['java', 'maven', 'psql'],
      },
      {
        name: 'nemesis, 2 minutes',
        command: 'npm run --silent nemesis -- --seed 12 --minutes 2',
        onDisk: true,
        restsOn: nemesis,
      },
      {
        name: 'nemesis, judged by the specs',
        command: 'npm run --silent nemesis -- --seed 18 --minutes 1 --pace 0.05 --trace',
        onDisk: true,
        restsOn: nemesis,
        needs: ['java', 'maven'],
      },
    ],
    MODELS,
    [
      UNIT,
      { name: 'conformance', command: tests('tlc'), isPatient: true, needs: ['java', 'maven'] },
      { name: 'ZooKeeper tests', command: tests('zk'), needs: ['java', 'maven'] },
      {
        name: 'simulation, 12 seeds',
        command:
          'npm run --silent groups -- --seed 100 --seeds 7 --rounds 1 && npm run --silent groups -- --seed 200 --seeds 5 --rounds 1 --mix losses',
        isPatient: true,
        restsOn: simulation,
      },
    ],
  ],
];

const PLANS: Readonly<Record<string, readonly Stage[]>> = {
  check: [
    STATIC,
    [[UNIT]],
    [
      [
        {
          name: 'simulation, 2 seeds',
          command: 'npm run --silent groups -- --seed 100 --seeds 2 --rounds 1',
          restsOn: simulation,
        },
      ],
      [
        {
          name: 'models, tiny',
          command: 'npm run --silent specs -- --changed --size tiny --note',
          needs: ['java', 'maven'],
        },
      ],
    ],
  ],
  test: FULL,
  all: FULL,
};

interface Result {
  readonly step: Step;
  readonly passed: boolean;
  readonly seconds: number;
  /** Of processors, by the step and all that it has waited for; null: the shell did not live to tell. */
  readonly cpuSeconds: number | null;
  /** Of a step that failed: what the tests say of each that did. */
  readonly failures: readonly string[];
}

/** The names of all runs that may be noted. */
const runs = new Set(
  Object.values(PLANS)
    .flat(3)
    .filter(({ restsOn }) => restsOn !== undefined)
    .map((step) => `run ${step.name}`),
);

const memoryDirectory = makeMemoryDirectory();

const missing = missingTools();

function missingFor({ needs = [] }: Step): readonly string[] {
  return missing.filter(({ id }) => needs.includes(id)).map(({ name }) => name);
}

/** The longest step takes some 20 minutes on two idle cores, and twice as long on busy ones. One that hangs is stopped and named, so that the others are still told of. */
const STEP_LIMIT_MINUTES = 60;
/** The leaders of the process groups of steps under way. */
const underWay = new Set<number>();

function kill(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    underWay.forEach(kill);
    process.exit(1);
  });
}

/** What runs the same and rests on the same gives the same. */
function digestOfStep({ restsOn, command }: Step): string | null {
  return restsOn === undefined ? null : digestOf(restsOn, command);
}

async function runUnlessProven(step: Step): Promise<Result> {
  const digest = digestOfStep(step);
  if (digest === null) return run(step);
  if (!trustsNothing && loadProven().get(`run ${step.name}`) === digest) {
    console.log(`✓ ${step.name}: passed before with all that it rests on\n`);
    return { step, passed: true, seconds: 0, cpuSeconds: 0, failures: [] };
  }
  const result = await run(step);
  // A file that was altered meanwhile is not what was tested.
  forget();
  const isSame = digestOfStep(step) === digest;
  note(new Map([[`run ${step.name}`, result.passed && isSame ? digest : null]]), 'run ', (name) =>
    runs.has(name),
  );
  return result;
}

function run(step: Step): Promise<Result> {
  const started = Date.now();
  console.log(`▸ ${step.name}: ${step.command}`);
  return new Promise((resolve) => {
    // The shell tells at the end what its children have taken, to a place of its own, which nobody else keeps open.
    const command = `(${step.command}) 3>&-\nstatus=$?\ntimes >&3\nexit $status`;
    const env =
      memoryDirectory === null || step.onDisk ? process.env : { ...process.env, TMPDIR: memoryDirectory };
    const [program = 'sh', ...args] = step.isPatient ? ['nice', '-n', '10', 'sh'] : ['sh'];
    const child = spawn(program, [...args, '-c', command], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env,
      detached: true,
    });
    const leader = child.pid ?? 0;
    underWay.add(leader);
    const output: Buffer[] = [];
    const limit = setTimeout(() => {
      output.push(Buffer.from(`\nFAIL ${step.name}: stopped after ${STEP_LIMIT_MINUTES} minutes\n`));
      kill(leader);
      // Programs that it has left behind may hold the other ends.
      child.stdio.forEach((stream) => stream?.destroy());
    }, STEP_LIMIT_MINUTES * 60_000);
    const times: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => output.push(chunk));
    child.stdio[3]?.on('data', (chunk: Buffer) => times.push(chunk));
    child.on('close', (code) => {
      clearTimeout(limit);
      underWay.delete(leader);
      const seconds = (Date.now() - started) / 1000;
      const cpuSeconds = cpuSecondsIn(Buffer.concat(times).toString());
      const passed = code === 0;
      const text = Buffer.concat(output).toString();
      console.log(passed ? tail(text, 12) : text);
      console.log(`${passed ? '✓' : '✗'} ${step.name} (${seconds.toFixed(1)} s)\n`);
      resolve({ step, passed, seconds, cpuSeconds, failures: passed ? [] : failuresIn(text) });
    });
  });
}

/** Of what `times` prints: a line for the shell, and one for its children, user and system. */
function cpuSecondsIn(text: string): number | null {
  const [, children = ''] = text.split('\n');
  const parts = [...children.matchAll(/(\d+)m([\d.]+)s/g)];
  if (parts.length !== 2) return null;
  return parts.reduce((sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds), 0);
}

async function runStage(stage: Stage): Promise<readonly Result[]> {
  const left = stage.map((lane) => [...lane]);
  const results: Result[] = [];
  const runLane = async (own: Step[]): Promise<void> => {
    for (;;) {
      const busiest = left.reduce((a, b) => (b.length > a.length ? b : a));
      const step = own.shift() ?? busiest.pop();
      if (step === undefined) return;
      results.push(await runUnlessProven(step));
    }
  };
  await Promise.all(left.map(runLane));
  return results;
}

const FAILURES_MAX = 20;
const REASON_LINES = 12;
const REASON_LENGTH = 600;

/** Each test or check that failed, with the first lines of why; else how the output ends. Whoever sees only the end of a long output sees them too. */
function failuresIn(text: string): readonly string[] {
  const plain = stripVTControlCharacters(text);
  const lines = plain.split('\n').map((line) => line.trim());
  const failures: string[] = [];
  lines.forEach((line, i) => {
    if (!isFailure(line) || failures.includes(line)) return;
    failures.push(line);
    // Tests that failed in the same way are named together.
    for (const reason of lines.slice(i + 1, i + 1 + REASON_LINES)) {
      if (reason === '' || isFailure(reason)) break;
      failures.push(`  ${reason.slice(0, REASON_LENGTH)}`);
    }
  });
  return failures.length === 0
    ? tail(plain, REASON_LINES).split('\n')
    : failures.slice(0, REASON_LINES * FAILURES_MAX);
}

/** As vitest and the nemesis begin them. */
function isFailure(line: string): boolean {
  return line.startsWith('FAIL ') || line.startsWith('ANOMALY ');
}

function tail(text: string, lines: number): string {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

async function main(planName: string): Promise<number> {
  const plan = PLANS[planName];
  if (plan === undefined) throw new Error(`unknown plan ${planName}: ${Object.keys(PLANS).join(' or ')}`);
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join('; ');
    console.log(`Not on this machine: ${names}. What needs it is not tried. To install it: npm run setup\n`);
  }
  if (memoryDirectory !== null)
    console.log(`What tests write goes to memory, ${memoryDirectory}, the nemesis excepted\n`);
  const started = Date.now();
  const results: Result[] = [];
  const steps = plan.flat(2);
  const isTried = (step: Step): boolean => missingFor(step).length === 0;
  for (const stage of plan) {
    results.push(...(await runStage(stage.map((lane) => lane.filter(isTried)))));
  }
  console.log(`  ${''.padEnd(30)}  elapsed  processors`);
  for (const { step, passed, seconds, cpuSeconds, failures } of results) {
    const cpu = cpuSeconds === null ? '' : `${cpuSeconds.toFixed(1).padStart(9)} s`;
    console.log(`${passed ? '✓' : '✗'} ${step.name.padEnd(30)} ${seconds.toFixed(1).padStart(7)} s ${cpu}`);
    for (const failure of failures) console.log(`    ${failure}`);
  }
  const outcomes = testOutcomes(started);
  console.log('\nThe most expensive tests:');
  for (const line of expensiveTests(outcomes)) console.log(`  ${line}`);
  const notTried = [
    ...steps
      .filter((step) => !isTried(step))
      .map((step) => `${step.name}: needs ${missingFor(step).join('; ')}`),
    ...outcomes.filter(({ isSkipped }) => isSkipped).map(({ title }) => title),
  ];
  if (notTried.length > 0) console.log(`\nNot tried:`);
  for (const line of notTried) console.log(`  ${line}`);
  const failed = results.filter((result) => !result.passed).length;
  const minutes = ((Date.now() - started) / 60_000).toFixed(1);
  console.log(
    `\n${results.length - failed} passed, ${failed} failed, ${notTried.length} not tried, in ${minutes} minutes`,
  );
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv[2] ?? 'check');
