/**
 * `npm run check` and `npm test`: everything that a change must pass, step by step, with the time that each took.
 *
 * Responsible for: the order of the steps, running two light ones at a time, and a summary. Knows nothing about what they do.
 * Exit code 0 only if every step passed. All steps run even when one fails, so that one run tells everything.
 */
import { spawn, spawnSync } from 'node:child_process';

interface Step {
  readonly name: string;
  readonly command: string;
  /** Steps of one stage may run side by side. */
  readonly stage: number;
}

const STATIC: readonly Step[] = [
  { name: 'types', command: 'npm run --silent typecheck', stage: 0 },
  { name: 'lint', command: 'npm run --silent lint', stage: 0 },
  { name: 'format', command: 'npm run --silent format:check', stage: 0 },
  { name: 'unused code', command: 'npm run --silent unused', stage: 0 },
];

const PLANS: Readonly<Record<string, readonly Step[]>> = {
  check: [
    ...STATIC,
    { name: 'unit tests', command: 'npx vitest run --project unit', stage: 1 },
    {
      name: 'simulation, 50 seeds',
      command: 'npm run --silent sim -- --seed 1 --seeds 50 --steps 5000',
      stage: 2,
    },
    { name: 'models, tiny', command: 'npm run --silent specs -- --size tiny', stage: 2 },
  ],
  test: [
    ...STATIC,
    { name: 'build', command: 'npm run --silent build', stage: 1 },
    { name: 'unit tests', command: 'npx vitest run --project unit', stage: 2 },
    { name: 'PostgreSQL tests', command: 'npx vitest run --project pg', stage: 3 },
    { name: 'ZooKeeper tests', command: 'npx vitest run --project zk', stage: 3 },
    { name: 'cluster and browser tests', command: 'npx vitest run --project e2e', stage: 4 },
    {
      name: 'cluster, browser on ZooKeeper',
      command:
        'BARISTA_LOG_STORE=zookeeper BARISTA_LOAD_SECONDS=5 npx vitest run --project e2e harness/e2e/cluster.e2e.test.ts harness/e2e/dashboard.e2e.test.ts',
      stage: 5,
    },
    { name: 'nemesis, 3 minutes', command: 'npm run --silent nemesis -- --seed 12 --minutes 3', stage: 6 },
    { name: 'models, all but nightly', command: 'npm run --silent specs', stage: 6 },
    {
      name: 'simulation, 1,000 seeds',
      command: 'npm run --silent sim -- --seed 1 --seeds 1000 --steps 5000',
      stage: 7,
    },
    { name: 'conformance', command: 'npx vitest run --project tlc', stage: 7 },
  ],
};

interface Result {
  readonly step: Step;
  readonly passed: boolean;
  readonly seconds: number;
}

function run(step: Step): Promise<Result> {
  const started = Date.now();
  console.log(`▸ ${step.name}: ${step.command}`);
  return new Promise((resolve) => {
    const child = spawn(step.command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    child.on('close', (code) => {
      const seconds = (Date.now() - started) / 1000;
      const passed = code === 0;
      const text = Buffer.concat(output).toString();
      console.log(passed ? tail(text, 12) : text);
      console.log(`${passed ? '✓' : '✗'} ${step.name} (${seconds.toFixed(1)} s)\n`);
      resolve({ step, passed, seconds });
    });
  });
}

function tail(text: string, lines: number): string {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/** What the models need, said at once rather than after minutes of other tests. */
function missingTools(): string[] {
  const missing: string[] = [];
  const java = spawnSync('java', ['-version'], { encoding: 'utf8' });
  const version = /version "(\d+)/.exec(`${java.stderr}${java.stdout}`)?.[1];
  if (java.error !== undefined || version === undefined || Number(version) < 11) {
    missing.push(
      'Java 11 or later (for TLC): Debian/Ubuntu `apt-get install default-jre-headless`, macOS `brew install openjdk`',
    );
  }
  if (spawnSync('mvn', ['-v']).error !== undefined) {
    missing.push('Maven (fetches TLC): Debian/Ubuntu `apt-get install maven`, macOS `brew install maven`');
  }
  return missing;
}

async function main(planName: string): Promise<number> {
  const plan = PLANS[planName];
  if (plan === undefined) throw new Error(`unknown plan ${planName}: ${Object.keys(PLANS).join(' or ')}`);
  const missing = missingTools();
  if (missing.length > 0) {
    console.error(`The specs cannot be checked here. Please install:\n  ${missing.join('\n  ')}`);
    return 1;
  }
  const results: Result[] = [];
  for (let stage = 0; stage <= 9; stage++) {
    results.push(...(await Promise.all(plan.filter((step) => step.stage === stage).map(run))));
  }
  for (const { step, passed, seconds } of results) {
    console.log(`${passed ? '✓' : '✗'} ${step.name.padEnd(30)} ${seconds.toFixed(1).padStart(7)} s`);
  }
  const failed = results.filter((result) => !result.passed).length;
  console.log(`\n${results.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv[2] ?? 'check');
