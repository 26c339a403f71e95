/**
 * A budget in Markdown: what a transaction costs each replica in each stage, beside what the stage's system calls alone would cost.
 *
 * Pure. Of a thread's time, as the kernel counts it, each stage has the share that the profiler gives it.
 */
import { workloadLabels } from '../compare/loads/workloads.ts';
import { machineLines } from '../machine.ts';
import type { Budget, ReplicaBudget } from './budget.ts';
import type { Limits } from './limits.ts';
import { stages, type Stage } from './stages.ts';

/** More than this times the least that a stage could cost wants a reason. */
const wantsReason = 2;

export function budgetText(budget: Budget): string {
  const { machine, commit, options, transactions, tps, profiledTps, entries, coresOfOthers } = budget;
  const perTransaction = entries / transactions;
  return [
    `${machineLines(machine)}\ncommit      ${commit ?? 'unknown'}`,
    `${workloadLabels[options.workload]}, ${options.clients} clients, ${options.seconds} s: ${transactions} transactions, ${tps.toFixed(0)}/s (${profiledTps.toFixed(0)}/s profiled); others kept ${coresOfOthers.toFixed(2)} cores busy.`,
    `${(1 / perTransaction).toFixed(2)} transactions in an entry of the log.`,
    stageTable(budget),
    processTable(budget),
    limitLines(budget.limits),
  ].join('\n\n');
}

/** µs of a replica's main thread for one transaction. */
export function stageUs(replica: ReplicaBudget, stage: Stage, transactions: number): number {
  const { profile, spent } = replica;
  return ((profile.stagesUs.get(stage) ?? 0) / Math.max(1, profile.busyUs)) * (spent.mainUs / transactions);
}

function stageTable(budget: Budget): string {
  const { replicas, transactions } = budget;
  const leaders = replicas.filter(({ isLeader }) => isLeader);
  const followers = replicas.filter(({ isLeader }) => !isLeader);
  const mean = (of: readonly ReplicaBudget[], stage: Stage): number =>
    of.reduce((sum, replica) => sum + stageUs(replica, stage, transactions), 0) / Math.max(1, of.length);
  const rows = (Object.keys(stages) as Stage[]).map((stage) => {
    const leader = mean(leaders, stage);
    const least = leastUs(stage, budget);
    const times =
      least === null ? '' : `${(leader / least).toFixed(1)}${leader > wantsReason * least ? ' !' : ''}`;
    return [
      stages[stage],
      leader.toFixed(1),
      mean(followers, stage).toFixed(1),
      least?.toFixed(1) ?? '',
      times,
    ];
  });
  const sum = (of: readonly ReplicaBudget[]): string =>
    (of.reduce((all, { spent }) => all + spent.mainUs / transactions, 0) / Math.max(1, of.length)).toFixed(1);
  return table(
    ['Node.js, main thread: µs for a transaction', 'leader', 'a follower', 'least, leader', 'times'],
    [...rows, ['all', sum(leaders), sum(followers), '', '']],
  );
}

/** What the stage's system calls cost the leader for one transaction, if nothing else were done; null: there are none to speak of, it computes. */
function leastUs(stage: Stage, { limits, entries, transactions, replicas }: Budget): number | null {
  const perTransaction = entries / transactions;
  if (stage === 'gateway') return limits.pipe?.cpuUs ?? null;
  // WAL is read from PostgreSQL, and where it is chosen up to is written back.
  if (stage === 'wal') return perTransaction * limits.exchange.cpuUs;
  // Each peer is sent the entry, and answers.
  if (stage === 'peers') return perTransaction * limits.exchange.cpuUs * (replicas.length - 1);
  return stage === 'log' ? perTransaction * limits.flush.cpuUs : null;
}

function processTable({ replicas, transactions }: Budget): string {
  const kinds = [...new Set(replicas.flatMap(({ spent }) => [...spent.postgresUs.keys()]))].toSorted();
  const row = (name: string, of: (replica: ReplicaBudget) => number, digits = 1): readonly string[] => [
    name,
    ...replicas.map((replica) => (of(replica) / transactions).toFixed(digits)),
  ];
  return table(
    ['µs for a transaction', ...replicas.map(({ id, isLeader }) => (isLeader ? `${id}, leader` : id))],
    [
      row('Node.js, main thread', ({ spent }) => spent.mainUs),
      row('Node.js, other threads', ({ spent }) => spent.othersUs),
      ...kinds.map((kind) => row(`PostgreSQL, ${kind}`, ({ spent }) => spent.postgresUs.get(kind) ?? 0)),
      row('all', ({ spent }) => spent.mainUs + spent.othersUs + spent.allPostgresUs),
      row('Node.js, reads (calls)', ({ spent }) => spent.reads, 2),
      row('Node.js, writes (calls)', ({ spent }) => spent.writes, 2),
    ],
  );
}

function limitLines({ flush, exchange, pipe }: Limits): string {
  return [
    'The least, measured alone behind it:',
    `- write and fdatasync of ${flush.bytes} bytes: ${flush.cpuUs.toFixed(1)} µs of CPU, ${flush.waitUs.toFixed(0)} µs until done`,
    `- a message received and one sent, by Node.js over TCP: ${exchange.cpuUs.toFixed(1)} µs of CPU, ${exchange.roundTripUs.toFixed(0)} µs there and back`,
    ...(pipe === null
      ? []
      : [`- a transaction through a pipe that looks at nothing: ${pipe.cpuUs.toFixed(1)} µs of CPU`]),
    '',
    `"!": more than ${wantsReason} times the least. A stage without a least only computes.`,
  ].join('\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = line(head.map((_, index) => (index === 0 ? '---' : '--:')));
  return [line(head), rule, ...rows.map(line)].join('\n');
}
