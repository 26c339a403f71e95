/** The page: takes the store's state, owns what the reader has picked, and lays the views out. */
import { memo, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { ClusterStatus, FaultRequest } from '../../server/src/api/status.ts';
import { useSystemDark, useTheme } from './components/hooks.ts';
import { Panel } from './components/panel.tsx';
import { RunProvider, useMoment, useSelected } from './components/run.tsx';
import { ServerAway } from './components/server-away.tsx';
import { Toasts, useToasts } from './components/toasts.tsx';
import { findLeader, freshStatus, isIsolated, messageOf, roleOf } from './model/cluster-view.ts';
import type { SlotRange } from './model/event-text.ts';
import { spellRequest } from './model/fault-text.ts';
import { wipeLosesQuorum } from './model/members-view.ts';
import { payloadOf, protocolTitle } from './model/protocol-view.ts';
import type { SendFault } from './run/requests.ts';
import type { RunStore } from './run/run-store.ts';
import { Banner, CheckBanner } from './views/banner.tsx';
import { Latency, Throughput } from './views/charts.tsx';
import { EventList } from './views/event-list.tsx';
import { LinkEditor } from './views/link-editor.tsx';
import { LogStrips } from './views/log-strips.tsx';
import { Members } from './views/members.tsx';
import { OpenTransactions } from './views/open-transactions.tsx';
import { ReplicaCard } from './views/replica-card.tsx';
import { SqlConsole } from './views/sql-console.tsx';
import { TopBar } from './views/top-bar.tsx';
import { Topology } from './views/topology.tsx';
import type { Link } from './views/topology.tsx';
import './app.css';

export function App({ store }: { readonly store: RunStore }) {
  const state = useSelected(store, (view) => view.state);
  const [theme, setTheme] = useTheme();
  const systemDark = useSystemDark();
  const [toasts, showToast] = useToasts();
  const [slots, setSlots] = useState<SlotRange | null>(null);
  const [link, setLink] = useState<Link | null>(null);
  const { cluster, trace, rates } = state;
  const leader = findLeader(cluster)?.id ?? null;
  const payload = payloadOf(cluster);
  const isLeaderless = protocolTitle(cluster).leads === null;
  const idsKey = (cluster?.replicas ?? []).map((replica) => replica.id).join(' ');
  const ids = useMemo(() => (idsKey === '' ? [] : idsKey.split(' ')), [idsKey]);
  const silentKey = (cluster?.replicas ?? [])
    .filter((replica) => freshStatus(replica) === null)
    .map(({ id }) => id)
    .join(' ');
  const themeKey = `${theme} ${systemDark}`;

  const away = state.connection.kind === 'lost';
  // What a server was asked before it went away must not be done when it comes back, long after it was meant.
  const asked = useRef(new AbortController());
  useEffect(() => {
    if (!away) return;
    asked.current.abort();
    asked.current = new AbortController();
  }, [away]);
  const sendFault = useCallback<SendFault>(
    (request: FaultRequest) => {
      void store.source.requests
        ?.fault(request, asked.current.signal)
        .then((outcome) =>
          outcome.ok ? showToast('good', spellRequest(request)) : showToast('bad', outcome.error.message),
        );
    },
    [store, showToast],
  );

  return (
    <RunProvider value={store}>
      <ServerAway value={away ? 'The server does not answer' : null}>
        <TopBar
          cluster={cluster}
          connection={state.connection}
          leader={leader}
          rates={rates}
          theme={theme}
          onTheme={setTheme}
          onFault={sendFault}
        />
        <main className="page" data-offline={away}>
          <CheckBanner check={cluster?.check ?? null} />
          <Banner connection={state.connection} cluster={cluster} leader={leader} onRetry={store.retryNow} />
          {cluster === null ? (
            <Waiting lost={away} />
          ) : (
            <>
              <Cards
                cluster={cluster}
                ids={ids}
                leader={leader}
                receivedAtMs={state.clusterAtMs}
                onFault={sendFault}
              />
              <div className="middle">
                <Panel title="Links" className="links-panel">
                  <div className="links-body">
                    <Topology cluster={cluster} leader={leader} selected={link} onSelect={setLink} />
                    <LinkEditor cluster={cluster} selected={link} onSelect={setLink} onFault={sendFault} />
                  </div>
                </Panel>
                <div className="middle-right">
                  <LogStrips
                    cluster={cluster}
                    trace={trace}
                    leader={leader}
                    selected={slots}
                    onSelect={setSlots}
                  />
                  <div className="pair">
                    <Throughput rates={rates} ids={ids} themeKey={themeKey} />
                    <Latency rates={rates} ids={ids} payload={payload} themeKey={themeKey} />
                  </div>
                </div>
              </div>
              <Members cluster={cluster} heard={trace.verify} ids={ids} />
              <div className="pair pair-wide">
                <div className="stack">
                  <SqlConsole ids={ids} leader={leader} silentKey={silentKey} isLeaderless={isLeaderless} />
                  {payload === 'statements' ? null : <OpenTransactions trace={trace} leader={leader} />}
                </div>
                <EventList trace={trace} ids={ids} onSelect={setSlots} />
              </div>
            </>
          )}
        </main>
        <Toasts toasts={toasts} />
      </ServerAway>
    </RunProvider>
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

function Waiting({ lost }: { readonly lost: boolean }) {
  return (
    <section className="waiting" aria-label="Waiting for the cluster" data-testid="waiting">
      <svg viewBox="0 0 120 96" width="120" height="96" aria-hidden="true">
        <path d="M28 40h52v22a22 22 0 0 1-22 22h-8a22 22 0 0 1-22-22zM80 46h8a11 11 0 0 1 0 22h-9M20 92h68" />
        {lost ? null : (
          <path className="waiting-steam" d="M42 30c-4-6 4-8 0-15M54 30c-4-6 4-8 0-15M66 30c-4-6 4-8 0-15" />
        )}
      </svg>
      <h2>{lost ? 'No cluster to show' : 'Waiting for the cluster'}</h2>
      <p className="quiet">
        Start one with <code className="mono">npm start</code>. The page connects by itself.
      </p>
    </section>
  );
}
