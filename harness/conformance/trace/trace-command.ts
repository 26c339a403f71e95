/** `conformance trace`: prints the verdict on recorded runs. */
import { writeFileSync } from 'node:fs';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { JudgeName } from '../judge/judges.ts';
import { checkLease } from '../lease/lease-command.ts';
import type { ApplyEvent } from './apply-event.ts';
import { checkApplyTrace, type ApplyRejected } from './apply-trace.ts';
import { judgeProcesses } from '../processes/judge-processes.ts';
import { isProtocolTrace } from '../processes/lives.ts';
import { checkTrace, type Accepted, type Rejected } from './check-trace.ts';
import { isMutantKind, mutants } from './mutants.ts';
import { mutate } from './mutate.ts';
import { beginsTooLate, begunBefore, orderTrace } from './read-trace.ts';
import { readEvents } from './trace-files.ts';

/** What a trace under faults, and what is replayed, must contain to prove anything about the core. */
export const ACTIONS = [
  'StartElection',
  'HandlePrepare',
  'HandlePromise',
  'BecomeLeader',
  'Propose',
  'HandleAccept',
  'HandleAccepted',
  'AdvanceCommitPoint',
  'HandleHeartbeat',
  'HandleCatchUpReply',
  'HandleReject',
  'Serve',
  'StepDown',
  'Fsync',
  'Crash',
  'Restart',
  'Reconfigure',
  'LearnConfiguration',
  'Restored',
] as const;

/** What whole replicas under faults must tell of their databases. */
export const APPLY_EVENTS: readonly ApplyEvent['name'][] = [
  'DatabaseUp',
  'DatabaseDown',
  'ProposeLeadership',
  'BeginLeadership',
  'Promote',
  'Resume',
  'Open',
  'Depose',
  'Ship',
  'Release',
  'Feed',
  'Skip',
  'Replay',
  'FlushStandby',
  'Purge',
  'BeginCopy',
  'EndCopy',
  'CheckPrefix',
  'EndWait',
  'Barrier',
  'TellOutcome',
];

export interface TraceCommandOptions {
  readonly judge: JudgeName;
  readonly workers: number;
  /** Fail if an action never occurs. */
  readonly requireAll: boolean;
}

/** The exit code of what could not be checked. */
const NOT_JUDGED = 2;

/** @returns the exit code */
export async function runTraceCommand(
  paths: readonly string[],
  options: TraceCommandOptions,
): Promise<number> {
  const startMs = performance.now();
  const recorded = readEvents(paths);
  if (isProtocolTrace(recorded)) return checkProcesses(recorded, options);
  const ordered = orderTrace(recorded);
  const late = beginsTooLate(ordered);
  if (late.length > 0) {
    const why = `others heard from ${late.join(', ')} before the first event that is there of it`;
    console.log(`not judged: the trace is incomplete, since ${why}. trace.filesMax may have let that go`);
    return NOT_JUDGED;
  }
  const outcome = await checkTrace(recorded, {
    judge: options.judge,
    workers: options.workers,
    onProgress: (done, all) => {
      if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${all} segments`);
    },
  });
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  if (outcome.kind === 'rejected') {
    printRejection(outcome);
    return 1;
  }
  const { events, segments, steps, lost } = outcome;
  console.log(
    `accepted ${events} events in ${segments} segments (${steps} steps of the spec) in ${seconds} s`,
  );
  if (lost > 0)
    console.log(`${lost} steps of killed processes are not in their traces; others show that they happened`);
  const covered = printCoverage(outcome, options.requireAll);
  const before = begunBefore(ordered);
  if (before.length > 0) {
    const where = `it begins in the middle of the life of ${before.join(', ')}`;
    console.log(
      `ordered apply and lease: not judged, since they need a trace from the founding of its group on, and ${where}`,
    );
    return options.requireAll ? 1 : covered;
  }
  const codes = [await checkApply(recorded, options.judge), await checkLease(recorded, options)];
  return Math.max(covered, ...codes);
}

/** Of single-decree Paxos, or of a primary and its copies. @returns the exit code */
async function checkProcesses(
  recorded: readonly TraceEvent[],
  { judge }: TraceCommandOptions,
): Promise<number> {
  const { protocol, steps, actions, refused } = await judgeProcesses(recorded, judge);
  if (refused !== null) {
    console.log(`${protocol}: rejected at ${JSON.stringify(refused)}`);
    return 1;
  }
  console.log(`${protocol}: accepted ${steps} steps of the spec`);
  console.log([...actions].map(([action, count]) => `${action} ${count}`).join(', '));
  return 0;
}

function printCoverage({ actions }: Accepted, requireAll: boolean): number {
  console.log(ACTIONS.map((action) => `${action} ${actions.get(action) ?? 0}`).join(', '));
  const absent = ACTIONS.filter((action) => !actions.has(action));
  if (absent.length === 0) return 0;
  console.log(`${requireAll ? 'FAILED: ' : ''}never occurred, so not checked: ${absent.join(', ')}`);
  return requireAll ? 1 : 0;
}

/** @returns the exit code */
async function checkApply(recorded: readonly TraceEvent[], judge: JudgeName): Promise<number> {
  const outcome = await checkApplyTrace(recorded, judge);
  if (outcome === null) return 0;
  if (outcome.kind === 'rejected') {
    printApplyRejection(outcome);
    return 1;
  }
  const { events, actions } = outcome;
  console.log(`ordered apply: accepted ${events} events`);
  console.log([...actions].map(([action, count]) => `${action} ${count}`).join(', '));
  return 0;
}

export function printApplyRejection({ event, recorded, literal }: ApplyRejected): void {
  console.log(`ordered apply: rejected at event ${event}: ${literal}`);
  if (recorded !== null) console.log(`the event: ${JSON.stringify(recorded)}`);
}

export function printRejection({ event, recorded, step, reason }: Rejected): void {
  console.log(`rejected at event ${event}: ${step}: ${reason}`);
  if (recorded === null)
    console.log('the step belongs to no event of its own: it was put in before that event');
  else console.log(`the event: ${JSON.stringify(recorded)}`);
}

/** `conformance mutate`: writes a copy with one event altered. @returns the exit code */
export function runMutateCommand(path: string, kind: string, out: string): number {
  if (!isMutantKind(kind)) {
    for (const [name, { shows }] of Object.entries(mutants))
      console.error(`--kind ${name.padEnd(20)} ${shows}`);
    return 2;
  }
  const { events, original } = mutate(readEvents([path]), kind);
  writeFileSync(out, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  console.log(
    `altered event ${original.seq} of ${original.replica}, run ${original.run}: ${JSON.stringify(original)}`,
  );
  return 0;
}
