/**
 * Rolls a group from one build to another, replica by replica as docs/operations.md says it, while clients write, and says what became of their writes.
 *
 * Responsible for: the order, what is waited for, and what was seen. Judges only whether something was lost or made up.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import { psqlSocket } from '../cluster/pg-tools.ts';
import type { ServedGroup } from '../cluster/served-group.ts';
import { longestSilenceMs, startLedger, verdict, type LedgerResult } from '../workload/ledger.ts';

const workers = 6;
const pauseMs = 1000;

export interface Build {
  readonly name: string;
  readonly bin: string;
}

interface Step {
  readonly replica: string;
  readonly wasLeader: boolean;
  readonly to: string;
  readonly fromMs: number;
  readonly untilMs: number;
  /** Of the peers' protocol, between all that are connected, from the replica's point of view. */
  readonly versions: readonly (number | null)[];
}

export interface RollReport {
  readonly lines: readonly string[];
  /** What was lost, or is there and was never said. */
  readonly faults: readonly string[];
}

/** All to `next`; then one follower back to `previous`, and to `next` again, as somebody does who has second thoughts. */
export async function roll(
  group: ServedGroup,
  { previous, next }: { readonly previous: Build; readonly next: Build },
  say: (line: string) => void,
): Promise<RollReport> {
  const ledger = await startLedger(group.pgwirePorts, workers);
  const steps: Step[] = [];
  const step = async (id: string, build: Build): Promise<void> => {
    const done = await replace(group, id, build);
    steps.push(done);
    say(lineOf(done));
    await sleep(pauseMs);
  };
  await sleep(pauseMs);
  const leader = await group.leader();
  const followers = group.ids.filter((id) => id !== leader);
  for (const id of [...followers, leader]) await step(id, next);
  const again = group.ids.find((id) => id !== leader)!;
  await step(again, previous);
  await step(again, next);
  const result = await ledger.stop();
  const faults = await faultsOf(result, await group.settled());
  return { lines: linesOf(result, steps), faults };
}

async function replace(group: ServedGroup, id: string, build: Build): Promise<Step> {
  const fromMs = performance.now();
  const wasLeader = (await group.leader()) === id;
  const code = await group.end(id);
  if (code !== 0) throw new Error(`${id} ended with exit code ${code}`);
  group.start(id, build.bin);
  const statuses = await group.whole();
  const versions = statuses.find((status) => status.id === id)?.peers.map(({ version }) => version) ?? [];
  return { replica: id, wasLeader, to: build.name, fromMs, untilMs: performance.now(), versions };
}

async function faultsOf(result: LedgerResult, statuses: readonly ReplicaStatus[]): Promise<string[]> {
  const faults: string[] = [];
  for (const { id, postgres } of statuses) {
    const { stdout } = await psqlSocket(postgres, 'SELECT id FROM ledger');
    const present = new Set(stdout.trim().split('\n').map(Number));
    faults.push(...verdict(result, present).map((fault) => `${id}: ${fault}`));
  }
  return faults;
}

function lineOf({ replica, wasLeader, to, fromMs, untilMs, versions }: Step): string {
  const what = wasLeader ? 'the leader' : 'a follower';
  // A build of before tells no versions.
  const spoken = versions.map((version) => version ?? '?').join(' and ');
  const seconds = ((untilMs - fromMs) / 1000).toFixed(1);
  return `${replica}, ${what}: to ${to} in ${seconds} s, speaks version ${spoken} with the others`;
}

function linesOf(result: LedgerResult, steps: readonly Step[]): string[] {
  const silences = steps.map(({ replica, wasLeader, fromMs, untilMs }) => {
    const ms = Math.round(longestSilenceMs(result.acknowledgedAtMs, fromMs, untilMs));
    return `longest time without an acknowledgement while ${replica}${wasLeader ? ', the leader,' : ''} was replaced: ${ms} ms`;
  });
  const codes = [...result.errors].map(([code, count]) => `${count} times ${code}`).join(', ');
  return [
    ...silences,
    `${result.acknowledged.size} writes acknowledged, ${result.refused.size} refused, ${result.doubtful.size} in doubt; told to clients: ${codes || 'no error'}`,
  ];
}
