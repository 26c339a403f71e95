/** The page's head: who leads, how many replicas answer, how much goes through, and what heals everything. */
import { memo } from 'react';
import type { ClusterStatus } from '../../../server/src/api/status.ts';
import { Button } from '../components/button.tsx';
import { formatCount, formatMs, formatRate } from '../model/format.ts';
import { Segmented } from '../components/segmented.tsx';
import type { PageView } from '../components/use-view.ts';
import { Icon } from '../components/icon.tsx';
import type { IconName } from '../components/icon.tsx';
import type { Theme } from '../components/hooks.ts';
import { faultsByLink } from '../model/cluster-view.ts';
import { payloadText, protocolTitle } from '../model/protocol-view.ts';
import { quorumOf } from '../model/members-view.ts';
import type { Connection } from '../model/dashboard-state.ts';
import { latestTotal } from '../model/rate-series.ts';
import type { RateSeries } from '../model/rate-series.ts';
import type { SendFault } from '../run/requests.ts';
import type { RunSource, SourceKind } from '../run/source.ts';
import { CheckFigure } from './check-figure.tsx';
import { SourceMenu } from './source-menu.tsx';
import './top-bar.css';

interface TopBarProps {
  readonly cluster: ClusterStatus | null;
  readonly connection: Connection;
  readonly leader: string | null;
  readonly rates: RateSeries;
  readonly theme: Theme;
  readonly onTheme: (theme: Theme) => void;
  readonly view: PageView;
  readonly onView: (view: PageView) => void;
  readonly source: Pick<RunSource, 'kind' | 'title'>;
  readonly onFault: SendFault;
  readonly onPresent: () => void;
  readonly onHelp: () => void;
}

const nextTheme: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
const themeIcons: Readonly<Record<Theme, IconName>> = { system: 'screen', light: 'sun', dark: 'moon' };

const views = [
  { value: 'lab', label: 'Lab', testId: 'view-lab' },
  { value: 'compare', label: 'Compare', testId: 'view-compare' },
  { value: 'spec', label: 'Spec', testId: 'view-spec' },
  { value: 'operator', label: 'Operator', testId: 'view-operator' },
] as const;

export const TopBar = memo(function TopBar(props: TopBarProps) {
  const { cluster, theme } = props;
  return (
    <header className="top" data-offline={props.connection.kind === 'lost'}>
      <div className="top-brand">
        <svg viewBox="0 0 24 24" width="26" height="26" aria-hidden="true">
          <rect width="24" height="24" rx="6.5" fill="var(--ink)" />
          <path d="M6 9.5h9V14a4.5 4.5 0 0 1-9 0zM15 10.5h1.4a2 2 0 0 1 0 4H15M8.6 5.2v1.9M12.2 5.2v1.9" />
        </svg>
        <h1>Barista</h1>
        <SourceName source={props.source} group={cluster?.group ?? null} />
      </div>
      <Segmented label="View" choices={views} value={props.view} onChange={props.onView} />
      {/* Two worlds side by side have figures of their own, and are none of the page's run. */}
      {props.view === 'compare' ? null : <Figures {...props} />}
      <div className="top-actions">
        {props.view === 'compare' ? null : <OfTheRun {...props} />}
        {props.view !== 'lab' && props.view !== 'compare' ? null : (
          <Button
            tone="plain"
            icon="present"
            aria-label="Presenter mode (p)"
            data-testid="present"
            onClick={props.onPresent}
          />
        )}
        <Button
          tone="plain"
          className="button button-icon-only top-keys"
          icon="keys"
          aria-label="Keys (?)"
          data-testid="keys"
          onClick={props.onHelp}
        />
        <Button
          tone="plain"
          icon={themeIcons[theme]}
          aria-label={`Theme: ${theme}. Change to ${nextTheme[theme]}.`}
          data-testid="theme"
          onClick={() => props.onTheme(nextTheme[theme])}
        />
      </div>
    </header>
  );
});

function Figures({ cluster, leader, rates }: TopBarProps) {
  const quorum = cluster === null ? null : quorumOf(cluster);
  const p99 = Math.max(
    0,
    ...Object.values(rates.samples.at(-1)?.perReplica ?? {}).map((own) => own.latencyMsP99),
  );
  const writes = latestTotal(rates, 'transactionsPerSecond');
  const protocol = protocolTitle(cluster);
  const first = cluster?.replicas.find(({ status }) => status !== null)?.status ?? null;
  return (
    // What does not fit beside the rest is left out, the last first.
    <dl className="top-figures num">
      <div
        className="top-protocol"
        title={`${protocol.hint}${first === null ? '' : `. What travels: ${payloadText(first)}`}`}
      >
        <dt>Protocol</dt>
        <dd data-testid="protocol-name">{first === null ? '–' : protocol.name}</dd>
      </div>
      {protocol.leads === null ? null : (
        <div>
          <dt>{protocol.leads}</dt>
          <dd className="top-leader" data-none={leader === null && cluster !== null}>
            {leader === null ? null : <Icon name="crown" />}
            <span className="mono" data-testid="leader-name">
              {leader ?? (cluster === null ? '–' : 'none')}
            </span>
          </dd>
        </div>
      )}
      <div>
        <dt>Replicas up</dt>
        <dd data-low={quorum !== null && quorum.votersUp < quorum.needed} data-testid="replicas-up">
          {quorum === null ? '–' : `${quorum.up} of ${cluster?.replicas.length}`}
        </dd>
      </div>
      <div title="Transactions that wrote, a second, over the last four seconds">
        <dt>Writes</dt>
        <dd>{writes === null ? '–' : `${formatRate(writes)}/s`}</dd>
      </div>
      <div className="top-latency" title="99 of 100 entries of the log were chosen within this time">
        <dt>Latency p99</dt>
        <dd>{p99 > 0 ? formatMs(p99) : '–'}</dd>
      </div>
      <div
        className="top-chosen"
        title={
          first?.protocol.name === 'primary'
            ? 'Slots of the log that the primary has confirmed'
            : 'Slots of the log that a majority has agreed on'
        }
      >
        <dt>Chosen</dt>
        <dd>
          {formatCount(
            Math.max(0, ...(cluster?.replicas ?? []).map((replica) => replica.status?.commitPoint ?? 0)),
          )}
        </dd>
      </div>
      {cluster?.check == null ? null : <CheckFigure check={cluster.check} />}
    </dl>
  );
}

function OfTheRun({ cluster, connection, source, onFault }: TopBarProps) {
  const broken = faultsByLink(cluster).size;
  return (
    <>
      <SourceMenu />
      <ConnectionState connection={connection} kind={source.kind} />
      <Button
        asksServer
        className="button top-heal"
        icon="heal"
        disabled={cluster === null}
        data-testid="heal"
        title="Remove every fault from every link; crashed and paused replicas stay as they are"
        onClick={() => onFault({ action: 'heal' })}
      >
        <span className="top-words">
          {broken > 0 ? `Heal ${broken} ${broken === 1 ? 'link' : 'links'}` : 'Heal links'}
        </span>
      </Button>
    </>
  );
}

const sourceNames = { live: 'Live cluster', simulated: 'Simulation', file: 'Recording' } as const;

/** Whether these are real processes, a model of them or what was kept of a run. */
function SourceName({
  source,
  group,
}: {
  readonly source: TopBarProps['source'];
  readonly group: string | null;
}) {
  const title = source.kind === 'live' ? (group ?? '') : source.title;
  return (
    <span className="top-source" data-kind={source.kind} data-testid="source">
      {sourceNames[source.kind]}
      {title === '' ? null : <span className="mono">{title}</span>}
    </span>
  );
}

const openWords = { live: 'Live', simulated: 'Simulated', file: 'Recorded' } as const;

function ConnectionState({
  connection,
  kind,
}: {
  readonly connection: Connection;
  readonly kind: SourceKind;
}) {
  const states = {
    connecting: { tone: 'busy', text: 'Connecting' },
    open: { tone: kind === 'live' ? 'good' : 'idle', text: openWords[kind] },
    lost: { tone: 'bad', text: 'Offline' },
  } as const;
  const { tone, text } = states[connection.kind];
  return (
    <span className="top-live" data-testid="connection" data-state={connection.kind} data-kind={kind}>
      <span className="dot" data-tone={tone} aria-hidden="true" />
      {/* What is not live says so where its name is. */}
      <span className={kind === 'live' || tone === 'bad' ? undefined : 'visually-hidden'}>{text}</span>
    </span>
  );
}
