/** The operator's view: everything about a cluster on one page that scrolls. Owns what the reader has picked in it. */
import { memo, useMemo, useState } from 'react';
import type { ClusterStatus } from '../../../server/src/api/status.ts';
import { Panel } from '../components/panel.tsx';
import { useMoment, useRun, useSelected } from '../components/run.tsx';
import { findLeader, freshStatus, isIsolated, messageOf, roleOf } from '../model/cluster-view.ts';
import type { SlotRange } from '../model/event-text.ts';
import { wipeLosesQuorum } from '../model/members-view.ts';
import { payloadOf, protocolTitle } from '../model/protocol-view.ts';
import type { SendFault } from '../run/requests.ts';
import { ActivityPanel } from './activity/activity-panel.tsx';
import { Latency, Throughput } from './charts.tsx';
import { EventList } from './event-list.tsx';
import { LinkEditor } from './link-editor.tsx';
import { LogStrips } from './log-strips.tsx';
import { Members } from './members/members.tsx';
import { OpenTransactions } from './open-transactions.tsx';
import { ReplicaCard } from './replica-card.tsx';
import { SqlConsole } from './sql/sql-console.tsx';
import { Topology, type Link } from './topology.tsx';

interface OperatorViewProps {
  readonly cluster: ClusterStatus;
  readonly themeKey: string;
  readonly onFault: SendFault;
}

export function OperatorView({ cluster, themeKey, onFault }: OperatorViewProps) {
  const { trace, rates, clusterAtMs } = useSelected(useRun(), (view) => view.state);
  const [slots, setSlots] = useState<SlotRange | null>(null);
  const [link, setLink] = useState<Link | null>(null);
  const leader = findLeader(cluster)?.id ?? null;
  const payload = payloadOf(cluster);
  const isLeaderless = protocolTitle(cluster).leads === null;
  const idsKey = cluster.replicas.map((replica) => replica.id).join(' ');
  const ids = useMemo(() => (idsKey === '' ? [] : idsKey.split(' ')), [idsKey]);
  const silentKey = cluster.replicas
    .filter((replica) => freshStatus(replica) === null)
    .map(({ id }) => id)
    .join(' ');
  return (
    <>
      <Cards cluster={cluster} ids={ids} leader={leader} receivedAtMs={clusterAtMs} onFault={onFault} />
      <div className="middle">
        <Panel title="Links" className="links-panel">
          <div className="links-body">
            <Topology cluster={cluster} leader={leader} selected={link} onSelect={setLink} />
            <LinkEditor cluster={cluster} selected={link} onSelect={setLink} onFault={onFault} />
          </div>
        </Panel>
        <div className="middle-right">
          <LogStrips cluster={cluster} trace={trace} leader={leader} selected={slots} onSelect={setSlots} />
          <div className="pair">
            <Throughput rates={rates} ids={ids} themeKey={themeKey} />
            <Latency rates={rates} ids={ids} payload={payload} themeKey={themeKey} />
          </div>
        </div>
      </div>
      <Members cluster={cluster} heard={trace.verify} ids={ids} />
      <ActivityPanel ids={ids} leader={leader} />
      <div className="pair pair-wide">
        <div className="stack">
          <SqlConsole
            ids={ids}
            leader={leader}
            silentKey={silentKey}
            isLeaderless={isLeaderless}
            areOperations={payloadOf(cluster) === 'statements'}
          />
          {payload === 'statements' ? null : <OpenTransactions trace={trace} leader={leader} />}
        </div>
        <EventList trace={trace} ids={ids} onSelect={setSlots} />
      </div>
    </>
  );
}

interface CardsProps {
  readonly cluster: ClusterStatus;
  readonly ids: readonly string[];
  readonly leader: string | null;
  readonly receivedAtMs: number;
  readonly onFault: SendFault;
}

const Cards = memo(function Cards({ cluster, ids, leader, receivedAtMs, onFault }: CardsProps) {
  const now = useMoment(200);
  const sinceMs = Math.max(0, now - receivedAtMs);
  return (
    <section className="cards" aria-label="Replicas">
      <h2 className="visually-hidden">Replicas</h2>
      {cluster.replicas.map((replica) => (
        <ReplicaCard
          key={replica.id}
          replica={replica}
          ids={ids}
          leader={leader}
          role={roleOf(replica, leader)}
          message={messageOf(replica, cluster)}
          isolated={isIsolated(cluster, replica.id)}
          wipeLosesQuorum={wipeLosesQuorum(cluster, replica.id)}
          ageMs={replica.ageMs === null ? null : replica.ageMs + sinceMs}
          onFault={onFault}
        />
      ))}
    </section>
  );
});
