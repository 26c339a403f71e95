/** What is particular to the protocol that a cluster runs, in words and figures for a reader. Pure. */
import type { ClusterStatus, ProtocolStatus, ReplicaStatus } from '../../../server/src/api/status.ts';
import { formatCount } from './format.ts';
import { formatBallot } from './cluster-view.ts';

export interface ProtocolFact {
  /** What it is called in the page, for tests. */
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly value: string;
}

export type Payload = ReplicaStatus['payload'];

export interface ProtocolTitle {
  readonly name: string;
  /** Of whoever orders what clients want; null: nobody does by himself. */
  readonly leads: string | null;
  readonly hint: string;
}

const titles: Readonly<Record<ProtocolStatus['name'], ProtocolTitle>> = {
  'multi-paxos': {
    name: 'Multi-Paxos',
    leads: 'Leader',
    hint: 'One leader orders everything; a majority has it before a client is answered',
  },
  paxos: {
    name: 'Paxos',
    leads: null,
    hint: 'Every replica proposes, and each slot of the log is agreed on by itself: prepare, accept, learn',
  },
  primary: {
    name: 'Primary and copies',
    leads: 'Primary',
    hint: 'The primary orders everything; when a client is answered is a choice',
  },
};

/** Of the first replica that says; Multi-Paxos before that. */
export function protocolOf(cluster: ClusterStatus | null): ProtocolStatus['name'] {
  const first = cluster?.replicas.find(({ status }) => status !== null)?.status;
  return first?.protocol.name ?? 'multi-paxos';
}

export function protocolTitle(cluster: ClusterStatus | null): ProtocolTitle {
  return titles[protocolOf(cluster)];
}

/** Of the first replica that says; WAL before that. */
export function payloadOf(cluster: ClusterStatus | null): Payload {
  return cluster?.replicas.find(({ status }) => status !== null)?.status?.payload ?? 'wal';
}

/** Where statements travel: how it is found out that replicas differ. */
export function selfComparison(cluster: ClusterStatus): string {
  return protocolTitle(cluster).name === titles.primary.name
    ? 'Answers of replicas are not compared: a copy may have executed what another primary has not.'
    : 'Replicas compare what they answer to each operation; one that differs from the majority serves nobody until it has another database.';
}

export function payloadText(status: Pick<ReplicaStatus, 'payload'>): string {
  return status.payload === 'wal' ? "PostgreSQL's WAL" : 'statements';
}

/** What a replica is to its group where it is neither leader nor follower; null: it is. */
export function protocolRole({ protocol }: Pick<ReplicaStatus, 'protocol'>): ProtocolRole | null {
  switch (protocol.name) {
    case 'multi-paxos':
      return null;
    case 'paxos':
      return 'proposer';
    case 'primary':
      return protocol.role === 'standby' ? 'copy' : protocol.role;
    default:
      return protocol satisfies never;
  }
}

export function protocolFacts({
  protocol,
  ballot,
}: Pick<ReplicaStatus, 'protocol' | 'ballot'>): readonly ProtocolFact[] {
  switch (protocol.name) {
    case 'multi-paxos':
      return [
        {
          id: 'ballot',
          name: 'Ballot',
          hint: 'The newest leadership that it knows of: its round, and who leads in it',
          value: formatBallot(ballot),
        },
      ];
    case 'paxos': {
      const { rounds, duelled, moved, proposals, messagesPerAgreement } = protocol.counts;
      return [
        {
          id: 'duels',
          name: 'Duels lost',
          hint: 'Ballots of its own that a higher one of another replica ended, of all that it began',
          value: `${formatCount(duelled)} of ${formatCount(rounds)}`,
        },
        {
          id: 'moved',
          name: 'Slots lost',
          hint: `Its ${formatCount(proposals)} proposals lost so many slots to others', and each time stood in one more`,
          value: formatCount(moved),
        },
        {
          id: 'messages',
          name: 'Messages',
          hint: 'What it has sent for each entry that was agreed on',
          value: proposals === 0 ? '–' : `${messagesPerAgreement.toFixed(1)} an entry`,
        },
      ];
    }
    case 'primary': {
      const { replication, needsCopy, counts } = protocol;
      return [
        {
          id: 'epoch',
          name: 'Epoch',
          hint: 'The newest epoch that it knows of, and whose it is: each primary has a higher one than those before it',
          value: formatBallot(ballot),
        },
        {
          id: 'replication',
          name: 'Answers when',
          hint: `${needsCopy ? 'It needs a copy of the primary’s database. ' : ''}${formatCount(counts.acknowledged)} were acknowledged so, ${formatCount(counts.unacknowledged)} not in time`,
          value: replicationTexts[replication],
        },
      ];
    }
    default:
      return protocol satisfies never;
  }
}

export type ProtocolRole = 'proposer' | 'primary' | 'copy' | 'recovering';

export const roleHints: Readonly<Record<ProtocolRole, string>> = {
  proposer: 'Nobody leads: it proposes what its own clients want, and votes on what others propose',
  recovering: 'It follows the primary, and is waited for once it has all that was acknowledged before',
  copy: 'It has what the primary sends, and may take over when that is lost',
  primary: 'It orders what clients want, and sends it to its copies',
};

const replicationTexts = {
  none: 'executed here',
  async: 'on its disk',
  semi: 'on all disks',
  sync: 'executed by all',
  majority: 'on most disks',
} as const;
