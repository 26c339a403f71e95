/**
 * Whether all replicas hold the same in the end, and what each says of its protocol.
 *
 * Where WAL travels everything is the same, catalogs and all. Where statements do, each PostgreSQL has numbers of objects and rows of Barista of its own: what clients have made is the same, and so are sequences, which no standby logs ahead.
 */
import type { Anomaly } from '../checkers/anomaly.ts';
import {
  comparableDump,
  differencesOf,
  sequencePositions,
  type ComparableDump,
} from '../checkers/database-compare.ts';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import type { Order } from './order.ts';

const database = 'barista';

export async function replicasDiffer(
  statuses: readonly ReplicaStatus[],
  order: Order,
): Promise<readonly Anomaly[]> {
  const dumps = await Promise.all(statuses.map(({ postgres }) => dumpOf(postgres, order)));
  return dumps.flatMap((dump, index) => {
    const differences = differencesOf(dumps[0]!, dump);
    if (differences.length === 0) return [];
    const summary = `${statuses[index]!.id} has other data than ${statuses[0]!.id}`;
    return [{ kind: 'replicas-differ', summary, detail: differences }];
  });
}

async function dumpOf(server: ReplicaStatus['postgres'], order: Order): Promise<ComparableDump> {
  const { tables } = await comparableDump(server, database);
  if (order === 'wal') return { tables };
  const clients = Object.entries(tables).filter(([name]) => name.startsWith('public.'));
  return { tables: { ...Object.fromEntries(clients), ...(await sequencePositions(server, database)) } };
}

/** A line for each replica, where there is something to tell. */
export function protocolLines(statuses: readonly ReplicaStatus[]): readonly string[] {
  return statuses.flatMap(({ id, protocol }) => {
    if (protocol.name !== 'paxos') return [];
    const { proposals, chosen, moved, rounds, duelled, messagesPerAgreement } = protocol.counts;
    return [
      `${id} since it started: ${proposals} proposals, ${chosen} chosen, ${moved} moved; ${rounds} ballots, ${duelled} ended by a higher one; ${messagesPerAgreement} messages for each agreement`,
    ];
  });
}
