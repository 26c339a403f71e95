/** Whom a replica may copy a database from, best first, as this replica knows its peers. Decides nothing about when. */
import type { Loss } from '../../ports/database-directory.ts';
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { Transport } from '../../ports/transport.ts';
import type { Membership } from '../members/membership.ts';
import { rankSources } from './state-transfer.ts';

export interface SourcesOptions {
  readonly transport: Pick<Transport, 'connected'>;
  readonly membership: Pick<Membership, 'others' | 'joined'>;
  readonly leader: () => ReplicaId | null;
  readonly nowMs: () => number;
  /** That a leader comes last needs it to be known, so that is waited for a little. */
  readonly leaderWaitMs: number;
}

export function createSources(options: SourcesOptions): (loss: Pick<Loss, 'equal'>) => ReplicaId[] {
  const startedAtMs = options.nowMs();
  return ({ equal }) => {
    const leader = options.leader();
    if (leader === null && options.nowMs() - startedAtMs < options.leaderWaitMs) return [];
    const others = options.membership.others();
    return rankSources({
      connected: options.transport.connected().filter((peer) => others.includes(peer)),
      leader: leader === null ? null : replicaOf(leader),
      voters: options.membership.joined().voters,
      equal: equal ?? null,
    });
  };
}
