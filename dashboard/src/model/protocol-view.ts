/** What is particular to the protocol that a cluster runs, in words and figures for a reader. Pure. */
import type { ClusterStatus, ProtocolStatus, ReplicaStatus } from '../../../server/src/api/status.ts';
import { formatCount } from '../components/format.ts';

export interface ProtocolFact {
  /** What it is called in the page, for tests. */
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly value: string;
}

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
export function protocolTitle(cluster: ClusterStatus | null): ProtocolTitle {
  const first = cluster?.replicas.find(({ status }) => status !== null)?.status;
  return titles[first?.protocol.name ?? 'multi-paxos'];
}

export function payloadText(status: Pick<ReplicaStatus, 'payload'>): string {
  return status.payload === 'wal' ? "PostgreSQL's WAL" : 'statements';
}

export function protocolFacts({
  protocol,
  ballot,
}: Pick<ReplicaStatus, 'protocol' | 'ballot'>): readonly ProtocolFact[] {
  switch (protocol.name) {
    case 'multi-paxos':
      return [];
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
      const { role, replication, needsCopy, counts } = protocol;
      return [
        { id: 'primary-role', name: 'Role', hint: roleHints[role], value: role },
        {
          id: 'epoch',
          name: 'Epoch',
          hint: 'Each primary has a higher one than those before it',
          value: ballot.round === 0 ? '–' : formatCount(ballot.round),
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

const roleHints = {
  recovering: 'It looks for a primary, and serves nobody',
  standby: 'It has what the primary sends, and takes over when that is lost',
  primary: 'It orders what clients want, and sends it to its copies',
} as const;

const replicationTexts = {
  none: 'executed here',
  async: 'on its disk',
  semi: 'on all disks',
  sync: 'executed by all',
  majority: 'on most disks',
} as const;
