/**
 * Bugs planted into copies of the server, each of which the nemesis and its checkers must find: a harness that cannot fail shows nothing.
 *
 * Each is strained by the faults that it is weak against, for half a minute or so. Invariant: finding means that a checker named one of the expected anomalies; a run that
 * merely failed to start or to end is no finding.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildMutant, type Mutation } from './mutate.ts';
import type { PlantedBug } from './planted-bug.ts';
import { ofReads } from './planted-reads.ts';
import { describeFindings } from './report.ts';
import { runOnce, type RunResult } from './run.ts';
import type { PlannedFault } from './schedule.ts';

const attemptsMax = 3;
const durationMs = 30_000;

/** No bug: standbys are fed what was chosen a while ago, so that a leader that dies leaves them behind. */
const feedsLate: readonly Mutation[] = [
  {
    file: 'payload/wal/life/context.js',
    find: 'return this.held ?? wal.position.end;',
    replace: `const now = performance.now();
        (wal.past ??= []).push([now, wal.position.end]);
        while (wal.past.length > 1 && wal.past[1][0] < now - 1500) wal.past.shift();
        return this.held ?? wal.past[0][1];`,
  },
  {
    file: 'payload/wal/life/context.js',
    find: 'this.signal = new Signal(options.timers);',
    replace: 'this.signal = new Signal(options.timers);\n        setInterval(() => this.feed?.more(), 100);',
  },
];

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'skipLeaseCheck',
    sentence: 'a leader answers reads for as long as it believes to lead',
    mutations: [
      {
        file: 'multipaxos/lease.js',
        find: 'return leadership !== null && leadership.serving && nowMs < leadership.leaseUntilMs;',
        replace: 'return leadership !== null && leadership.serving;',
      },
      // No bug, but more time between the end of a lease and that of a leadership.
      {
        file: 'config/config-schema.js',
        find: 'electionTimeoutMaxMs: ms.default(2000)',
        replace: 'electionTimeoutMaxMs: ms.default(5000)',
      },
    ],
    workloads: ['register'],
    strain: { kind: 'isolate', wish: 'leader', everyMs: 11_000, forMs: 7000 },
    expected: ['nonlinearizable'],
  },
  {
    name: 'releasedWhenProposed',
    sentence: 'PostgreSQL is told that WAL is safe when it is proposed',
    mutations: [
      {
        file: 'payload/wal/shipper.js',
        find: 'this.options.onShipped(result.label, start, chunks);',
        replace:
          'this.options.onShipped(result.label, start, chunks);\n            this.released = this.next;\n            this.report();',
      },
    ],
    workloads: ['set', 'bank'],
    strain: { kind: 'isolate', wish: 'leader', everyMs: 9000, forMs: 6000 },
    expected: ['lost-element', 'lost-transfer', 'wrong-total'],
  },
  {
    name: 'promotedBeforeReplay',
    sentence: 'a new leader begins its timeline where its standby happens to be',
    mutations: [
      {
        file: 'payload/wal/life/standby-phase.js',
        find: 'if (progress.hasAll && seen !== null && seen.replayed === expected) {',
        replace: 'if (seen !== null) {',
      },
      {
        file: 'payload/wal/life/standby-phase.js',
        find: 'return { fork: expected,',
        replace: 'return { fork: seen.replayed,',
      },
      ...feedsLate,
    ],
    workloads: ['set', 'bank'],
    strain: { kind: 'kill', wish: 'leader', everyMs: 9000, forMs: 2000 },
    expected: ['lost-element', 'lost-transfer', 'wrong-total'],
  },
  {
    name: 'rejoinsUnjudged',
    sentence: 'a leader that was deposed becomes a standby with whatever it had written',
    mutations: [
      {
        file: 'payload/wal/judge-directory.js',
        find: "return ownEnd <= left ? { kind: 'prefix' } : { kind: 'parted', at: left };",
        replace: "return { kind: 'prefix' };",
      },
    ],
    workloads: ['set', 'bank'],
    strain: { kind: 'isolate', wish: 'leader', everyMs: 9000, forMs: 6000 },
    expected: ['replicas-differ', 'lost-element', 'lost-transfer', 'wrong-total', 'diverged', 'not-settled'],
  },
  {
    name: 'votesNotWritten',
    sentence: 'a vote is told before it is in the log',
    mutations: [
      {
        file: 'replica/consensus/record-log.js',
        find: "if (!(await this.untilDone('append', () => this.options.log.append(records))))\n                break;",
        replace:
          "void new Promise((later) => setTimeout(later, 1000)).then(() => this.untilDone('append', () => this.options.log.append(records)));",
      },
    ],
    workloads: ['set', 'bank'],
    strain: { kind: 'powerCut', wish: 'anyone', everyMs: 12_000, forMs: 1500 },
    expected: ['lost-element', 'lost-transfer', 'wrong-total', 'not-settled'],
  },
  {
    name: 'endedWaitsUnnoticed',
    sentence: 'an answer leaves although PostgreSQL has ended the wait of a commit that it shows',
    mutations: [
      {
        file: 'replica/serving/answer-gate.js',
        find: 'return this.distrusted.size === 0 && server.endedWaits() === this.cleared;',
        replace: 'return this.distrusted.size === 0;',
      },
      {
        file: 'replica/serving/answer-gate.js',
        find: 'if (this.distrusted.size > 0 || seen !== this.cleared) {',
        replace: 'if (this.distrusted.size > 0) {',
      },
    ],
    workloads: ['register', 'set'],
    strain: { kind: 'endWaits', wish: 'leader', everyMs: 8000, forMs: 5000 },
    expected: ['nonlinearizable', 'lost-element'],
  },
  {
    name: 'forgetRequestIds',
    sentence: 'a transaction that is repeated under its request id is done again',
    mutations: [
      {
        file: 'adapters/postgres/requests/request-schema.js',
        find: 'VALUES (own, request, ',
        replace: "VALUES (own, request || ' ' || pg_current_xact_id()::text, ",
      },
    ],
    workloads: ['bank'],
    strain: { kind: 'kill', wish: 'leader', everyMs: 7000, forMs: 1500 },
    expected: ['doubled-transfer'],
    requestIds: true,
  },
  ...ofReads,
];

/** Exit code: 0 if every bug was found. @throws RangeError for a name that is not known */
export async function runPlanted(
  names: readonly string[],
  say: (line: string) => void,
  from?: string,
): Promise<number> {
  const unknown = names.find((name) => !plantedBugs.some((bug) => bug.name === name));
  if (unknown !== undefined)
    throw new RangeError(`no bug ${unknown}; there are ${plantedBugs.map(({ name }) => name).join(', ')}`);
  let missed = 0;
  for (const bug of plantedBugs) {
    if (names.length > 0 && !names.includes(bug.name)) continue;
    if (!(await findBug(bug, say, from))) missed++;
  }
  say(
    missed === 0
      ? 'VERDICT: every planted bug was found'
      : `VERDICT: FAILED, ${missed} planted bugs were missed`,
  );
  return missed === 0 ? 0 : 1;
}

async function findBug(bug: PlantedBug, say: (line: string) => void, from?: string): Promise<boolean> {
  say(`\n${bug.name}: ${bug.sentence}`);
  const mutant = await buildMutant(bug.mutations, from);
  try {
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const startedMs = performance.now();
      const found = await strain(bug, attempt, mutant.bin, say);
      const took = `${((performance.now() - startedMs) / 1000).toFixed(0)} s`;
      say(
        found === null
          ? `  not found in attempt ${attempt} (${took})`
          : `  found as ${found} (attempt ${attempt}, ${took})`,
      );
      if (found !== null) return true;
    }
    return false;
  } finally {
    await mutant.remove();
  }
}

/** The anomaly that gave it away. */
async function strain(
  bug: PlantedBug,
  seed: number,
  bin: string,
  say: (line: string) => void,
): Promise<string | null> {
  const directory = await mkdtemp(join(tmpdir(), `barista-planted-${bug.name}-`));
  try {
    const result = await runOnce({
      seed,
      durationMs,
      bin,
      directory,
      replicas: 3,
      workloads: bug.workloads,
      schedule: scheduleOf(bug),
      logStore: 'segment',
      requestIds: bug.requestIds ?? false,
      readModes: bug.readModes ?? [],
      settleMs: 60_000,
      pace: 2,
      say: () => {},
    });
    const kinds = [...result.anomalies, ...result.checked.flatMap(({ anomalies }) => anomalies)].map(
      ({ kind }) => kind,
    );
    const found = bug.expected.find((kind) => kinds.includes(kind)) ?? null;
    if (found !== null) for (const line of firstFinding(result, found)) say(`    ${line}`);
    else if (kinds.length > 0) say(`  (only ${[...new Set(kinds)].join(', ')})`);
    return found;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function firstFinding({ checked, anomalies }: RunResult, kind: string): readonly string[] {
  const isIt = (each: { readonly kind: string }): boolean => each.kind === kind;
  const cluster = anomalies.filter(isIt).slice(0, 1);
  const workload = checked.find((each) => each.anomalies.some(isIt));
  if (workload === undefined || cluster.length > 0) return describeFindings([], cluster);
  return describeFindings(
    [{ ...workload, gaveUp: null, anomalies: workload.anomalies.filter(isIt).slice(0, 1) }],
    [],
  );
}

function scheduleOf({ strain: { kind, wish, everyMs, forMs } }: PlantedBug): readonly PlannedFault[] {
  const count = Math.floor((durationMs - 3000) / everyMs);
  return Array.from({ length: count }, (_, index) => ({
    number: index + 1,
    kind,
    wish,
    atMs: 3000 + index * everyMs,
    durationMs: forMs,
    choice: 0,
  }));
}
