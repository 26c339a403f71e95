/** Replicas of tests: their addresses, their configuration files, and the configuration of a group that they founded. */
import { checkConfig } from '../../config/check-config.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import type { ReplicaConfigInput } from '../../config/config-schema.ts';
import type { Configuration, MemberAddress } from '../../multipaxos/types/members.ts';
import type { GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';

export const testGroup = 'g' as GroupId;

/** r1 to r5. */
export const fiveReplicas = ['r1', 'r2', 'r3', 'r4', 'r5'] as [
  ReplicaId,
  ReplicaId,
  ReplicaId,
  ReplicaId,
  ReplicaId,
];

export function addressOf(id: ReplicaId): MemberAddress {
  const n = Number(id.slice(1));
  return { host: id, port: 7000 + n, pgwire: { host: id, port: 7100 + n } };
}

export function configOf(
  id: ReplicaId,
  ids: readonly ReplicaId[],
  changes: Partial<ReplicaConfigInput> = {},
): ReplicaConfig {
  return checkConfig(
    {
      group: testGroup,
      id,
      dataDir: '/nowhere',
      peers: ids.map((peer) => ({ id: peer, ...addressOf(peer) })),
      peerListen: { port: 7000 },
      clusterSecret: 'a secret of some length',
      pgwire: { port: 7100 },
      http: { port: 7200 },
      verify: { everyMinutes: 0 },
      ...changes,
    },
    { baseDir: '/', source: 'configuration', readSecret: () => '' },
  );
}

export function foundedBy(voters: readonly ReplicaId[], expected: readonly ReplicaId[] = []): Configuration {
  const member = (replica: ReplicaId, role: 'voter' | 'learner') => ({
    replica,
    incarnation: role === 'voter' ? 1 : 0,
    role,
    nonce: role === 'voter' ? 'founded' : '',
    address: addressOf(replica),
  });
  const members = [
    ...voters.map((id) => member(id, 'voter')),
    ...expected.map((id) => member(id, 'learner')),
  ];
  return { version: 1, slot: 0 as Slot, members };
}
