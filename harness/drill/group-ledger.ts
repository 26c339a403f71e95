/** The ledger on a group of replicas, while a drill breaks it: load, progress, and whether what was acknowledged is there in the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { psql } from '../cluster/pg-tools.ts';
import type { ServedGroup } from '../cluster/served-group.ts';
import { type Ledger, type LedgerResult, startLedger, verdict } from '../workload/ledger.ts';

/** Clients, each of which has one row under way at most. */
const ledgerWorkers = 6;
const faultsShown = 10;
const readTries = 60;

export function startGroupLedger(group: ServedGroup): Promise<Ledger> {
  return startLedger(group.pgwirePorts, ledgerWorkers);
}

/** What is in the table. Tried for a minute: a group that has just come back may change its leader. */
export async function presentIn(group: ServedGroup): Promise<ReadonlySet<number>> {
  for (let attempt = 1; ; attempt++) {
    const port = group.pgwirePort(group.ids[attempt % group.ids.length]!);
    const { code, stdout, stderr } = await psql(port, 'SELECT id FROM ledger;');
    if (code === 0) return new Set(stdout.split('\n').filter(Boolean).map(Number));
    if (attempt === readTries) throw new Error(`the ledger cannot be read: ${stderr}`);
    await sleep(1000);
  }
}

/** How long it took until something was acknowledged that was not before; null: nothing was in time. */
export async function untilAcknowledged(ledger: Ledger, withinMs: number): Promise<number | null> {
  const fromMs = performance.now();
  const before = ledger.acknowledged();
  while (ledger.acknowledged() === before) {
    if (performance.now() - fromMs > withinMs) return null;
    await sleep(20);
  }
  return performance.now() - fromMs;
}

/** A client's statement that was given no answer in 20 s: the ledger's own bound. */
const hangs = /read timeout/i;

/** What is wrong with what clients were told. */
export async function judgeLedger(group: ServedGroup, result: LedgerResult): Promise<string[]> {
  const faults = verdict(result, await presentIn(group));
  const more = faults.length - faultsShown;
  const hung = [...result.errors]
    .filter(([code]) => hangs.test(code))
    .reduce((sum, [, count]) => sum + count, 0);
  return [
    ...faults.slice(0, faultsShown).map((fault) => `Row ${fault}.`),
    ...(more > 0 ? [`So it is with ${more} more rows.`] : []),
    ...(hung > 0 ? [`${hung} statements had no answer for 20 s.`] : []),
  ];
}

/** Of the acknowledged rows `before` were in when somebody began to ask for the time, and `after` when that had been answered. */
export interface Moment {
  readonly before: number;
  readonly after: number;
}

/** What is wrong with a group that was restored to a moment under load. */
export async function judgeMoment(
  group: ServedGroup,
  result: LedgerResult,
  moment: Moment,
): Promise<string[]> {
  return momentFaults(result, await presentIn(group), moment);
}

/** A row that was under way at the moment may be there or not, one of each client, and so may any of which nobody was told. Pure. */
export function momentFaults(
  { acknowledged, doubtful }: Pick<LedgerResult, 'acknowledged' | 'doubtful'>,
  present: ReadonlySet<number>,
  { before, after }: Moment,
): string[] {
  const inOrder = [...acknowledged];
  const missing = inOrder.slice(0, before).filter((id) => !present.has(id));
  const known = new Set(inOrder.slice(0, after));
  const more = [...present].filter((id) => !known.has(id) && !doubtful.has(id));
  return [
    ...missing
      .slice(0, faultsShown)
      .map((id) => `Row ${id} was acknowledged before the time, and is missing.`),
    ...(missing.length > faultsShown ? [`So it is with ${missing.length - faultsShown} more rows.`] : []),
    ...(more.length > ledgerWorkers
      ? [`${more.length} rows came after the time, and are there; ${ledgerWorkers} at most were under way.`]
      : []),
  ];
}

/** All replicas have the same, by their own comparison. */
export async function judgeReplicas(group: ServedGroup): Promise<string[]> {
  const { code, output } = await group.barista(await group.leader(), ['verify']);
  return code === 0 ? [] : [`"barista verify" ended with ${code}: ${output}`];
}

export function describeLedger({ acknowledged, refused, doubtful, errors }: LedgerResult): string {
  const told = [...errors].sort((a, b) => b[1] - a[1]).map(([code, count]) => `${code} ${count}`);
  return (
    `${acknowledged.size} rows acknowledged, ${refused.size} refused, ${doubtful.size} in doubt; ` +
    `clients were told: ${told.length === 0 ? 'nothing else' : told.join(', ')}`
  );
}

export function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
