/** The configuration of a group of one replica in a directory, for tests that start no server. */
import { parseReplicaConfig, type ReplicaConfig } from '../../config/replica-config.ts';

export function configOfOne(dataDir: string): ReplicaConfig {
  return parseReplicaConfig(
    {
      group: 'main',
      id: 'r1',
      dataDir,
      peers: [{ id: 'r1', host: 'localhost', port: 7001, pgwire: { host: 'localhost', port: 7101 } }],
      peerListen: { port: 7001 },
      clusterSecret: 'a secret of the cluster',
      pgwire: { port: 7101 },
      http: { port: 7201 },
    },
    dataDir,
  );
}
