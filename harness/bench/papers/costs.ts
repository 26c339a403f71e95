/** What replicas have written to their logs and sent to each other, read off their metrics. */
import { BenchError } from '../bench-error.ts';

export interface Costs {
  /** Groups of records that were made durable, each with one flush of the disk. */
  readonly flushes: number;
  readonly loggedBytes: number;
  readonly messages: number;
  readonly sentBytes: number;
}

const names: Readonly<Record<keyof Costs, string>> = {
  flushes: 'barista_log_write_seconds_count',
  loggedBytes: 'barista_log_written_bytes_total',
  messages: 'barista_peer_messages_sent_total',
  sentBytes: 'barista_peer_bytes_sent_total',
};
const kinds = Object.keys(names) as readonly (keyof Costs)[];

/** Of one replica. @throws BenchError if it does not tell them */
export async function readCosts(url: string): Promise<Costs> {
  const response = await fetch(`${url}/metrics`);
  if (!response.ok) throw new BenchError(`${url}/metrics: ${response.status}`);
  return parseCosts(await response.text());
}

/** Of what Prometheus reads. @throws BenchError that names what is missing */
export function parseCosts(text: string): Costs {
  return each((kind) => {
    const value = new RegExp(String.raw`^${names[kind]} (\S+)$`, 'm').exec(text)?.[1];
    if (value === undefined) throw new BenchError(`a replica does not tell ${names[kind]}`);
    return Number(value);
  });
}

export function sumOf(costs: readonly Costs[]): Costs {
  return each((kind) => costs.reduce((sum, one) => sum + one[kind], 0));
}

/** What came between two looks, for one of so many transactions. */
export function costsOfOne(before: Costs, after: Costs, transactions: number): Costs {
  return each((kind) => (after[kind] - before[kind]) / transactions);
}

function each(figure: (kind: keyof Costs) => number): Costs {
  return Object.fromEntries(kinds.map((kind) => [kind, figure(kind)])) as Record<keyof Costs, number>;
}
