/** One replica: how it is doing, where its pointers stand, and the buttons that break it. */
import type { ClusterReplica } from '../../../server/src/api/status.ts';
import { Button } from '../components/button.tsx';
import { formatAge, formatBytes, formatCount } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { ReplicaName } from '../components/replica-name.tsx';
import { formatBallot, freshStatus, healthOf, staleMs } from '../model/cluster-view.ts';
import { incarnationName } from '../model/incarnation.ts';
import { memberRole } from '../model/members-view.ts';
import { walView } from '../model/wal-view.ts';
import type { WalView } from '../model/wal-view.ts';
import type { SendFault } from '../live/api.ts';
import { RecoverySteps } from './recovery-steps.tsx';
import { WipeMenu } from './wipe-menu.tsx';
import './replica-card.css';

interface ReplicaCardProps {
  readonly replica: ClusterReplica;
  readonly ids: readonly string[];
  readonly isLeader: boolean;
  readonly isolated: boolean;
  /** Too few voters would be left if its log were lost. */
  readonly wipeLosesQuorum: boolean;
  /** Since the status on show was received by the supervisor. */
  readonly ageMs: number | null;
  readonly onFault: SendFault;
}

export function ReplicaCard(props: ReplicaCardProps) {
  const { replica, ids, isLeader, isolated, ageMs } = props;
  const health = healthOf(replica);
  const stale = freshStatus(replica) === null;
  const message = messageOf(replica);
  return (
    <article
      className="card"
      data-testid={`replica-card-${replica.id}`}
      data-leader={isLeader}
      data-stale={stale}
      aria-label={`Replica ${replica.id}`}
    >
      <header className="card-head">
        <h3 className="card-name">
          <ReplicaName id={replica.id} ids={ids} />
        </h3>
        <RoleBadge replica={replica} isLeader={isLeader} />
        {isolated ? (
          <span className="badge" data-tone="bad">
            isolated
          </span>
        ) : null}
        <Age id={replica.id} ageMs={ageMs} />
      </header>
      <p
        className="card-health"
        data-testid={`state-${replica.id}`}
        data-state={replica.status?.state ?? 'down'}
      >
        <span className="dot" data-tone={health.tone} aria-hidden="true" />
        {health.text}
        <Life replica={replica} />
      </p>
      {stale || replica.status === null ? null : <RecoverySteps status={replica.status} />}
      {message === null || stale ? null : (
        <p className="card-message" data-testid={`message-${replica.id}`}>
          {message}
        </p>
      )}
      <Facts replica={replica} stale={stale} />
      <Actions
        replica={replica}
        isolated={isolated}
        wipeLosesQuorum={props.wipeLosesQuorum}
        onFault={props.onFault}
      />
    </article>
  );
}

/** While a copy is made, the steps say it better. */
function messageOf({ status }: ClusterReplica): string | null {
  const phase = status?.recovery?.phase;
  return phase === undefined || phase === 'joining' ? (status?.message ?? null) : null;
}

function RoleBadge({ replica, isLeader }: { readonly replica: ClusterReplica; readonly isLeader: boolean }) {
  const role = replica.process === 'stopped' ? 'down' : (replica.status?.role ?? 'unknown');
  return (
    <span className="badge" data-tone={isLeader ? 'ink' : role === 'candidate' ? 'warn' : 'plain'}>
      {isLeader ? <Icon name="crown" /> : null}
      <span data-testid={`role-${replica.id}`}>{role}</span>
    </span>
  );
}

/** Which incarnation this is, and whether it counts. */
function Life({ replica: { id, status } }: { readonly replica: ClusterReplica }) {
  if (status === null) return null;
  const role = memberRole(status);
  return (
    <span className="card-life" title="The incarnation of its log, and whether its vote counts">
      <span className="mono" data-testid={`incarnation-${id}`} data-incarnation={status.incarnation}>
        {status.incarnation === 0 ? 'no incarnation' : incarnationName(id, status.incarnation)}
      </span>
      <span className="badge" data-tone={role === 'learner' ? 'warn' : 'plain'} data-testid={`member-${id}`}>
        {role ?? 'no member'}
      </span>
    </span>
  );
}

function Age({ id, ageMs }: { readonly id: string; readonly ageMs: number | null }) {
  if (ageMs === null) return <span className="card-age quiet">never heard</span>;
  return (
    <span
      className="card-age num"
      data-old={ageMs > staleMs}
      data-testid={`age-${id}`}
      title="Age of what this card shows"
    >
      {formatAge(ageMs)} ago
    </span>
  );
}

function Facts({ replica, stale }: { readonly replica: ClusterReplica; readonly stale: boolean }) {
  const status = replica.status;
  const { id } = replica;
  const postgresUp = !stale && status?.postgres.up === true;
  const version = status?.postgres.version ?? null;
  return (
    <dl className="facts num">
      <Fact
        name="Ballot"
        testId={`ballot-${id}`}
        value={status === null ? '–' : formatBallot(status.ballot)}
      />
      <Fact
        name="Commit point"
        testId={`commit-point-${id}`}
        value={status === null ? '–' : formatCount(status.commitPoint)}
      />
      <Fact
        name="Applied"
        hint="The application pointer (AP): everything up to this slot is in PostgreSQL"
        testId={`ap-${id}`}
        value={status === null ? '–' : formatCount(status.applicationPointer)}
      />
      <div className="fact">
        <dt>PostgreSQL</dt>
        <dd data-testid={`pg-${id}`} data-up={postgresUp} className={postgresUp ? 'fact-good' : 'fact-bad'}>
          {stale && replica.process !== 'stopped' ? 'unknown' : postgresUp ? 'up' : 'down'}
          {postgresUp && version !== null ? <span className="quiet"> {version}</span> : null}
        </dd>
      </div>
      <div className="fact" title="Sessions of SQL clients, and the port that they connect to">
        <dt>Clients</dt>
        <dd data-testid={`clients-${id}`}>
          {stale || status === null ? '–' : formatCount(status.clients)}
          {status === null ? null : <span className="quiet"> :{status.pgwire.port}</span>}
        </dd>
      </div>
      <Fact name="Log" testId={`log-${id}`} value={status === null ? '–' : formatBytes(status.log.bytes)} />
      <WalFacts id={id} view={walView(status?.wal ?? null, postgresUp)} />
    </dl>
  );
}

/** What its PostgreSQL is to the group, and where its WAL stands. */
function WalFacts({ id, view }: { readonly id: string; readonly view: WalView | null }) {
  return (
    <>
      <div className="fact" title={view?.roleHint}>
        <dt>Database</dt>
        <dd>
          <span data-testid={`database-${id}`}>{view?.role ?? '–'}</span>
          {view === null ? null : (
            <span className="quiet" data-testid={`timeline-${id}`}>
              {' '}
              {view.timeline}
            </span>
          )}
        </dd>
      </div>
      <div className="fact" title="Where the WAL ends that is known to be chosen">
        <dt>WAL chosen</dt>
        <dd className="fact-position" data-testid={`wal-chosen-${id}`}>
          {view?.chosen ?? '–'}
        </dd>
      </div>
      <div className="fact" title={view?.gap.hint}>
        <dt>{view?.gap.name ?? 'Replayed'}</dt>
        <dd data-testid={`wal-gap-${id}`} data-behind={view?.gap.isBehind ?? false}>
          {view?.gap.value ?? '–'}
        </dd>
      </div>
    </>
  );
}

interface FactProps {
  readonly name: string;
  readonly value: string;
  readonly testId: string;
  readonly hint?: string;
}

function Fact({ name, value, testId, hint }: FactProps) {
  return (
    <div className="fact" title={hint}>
      <dt>{name}</dt>
      <dd data-testid={testId}>{value}</dd>
    </div>
  );
}

interface ActionsProps {
  readonly replica: ClusterReplica;
  readonly isolated: boolean;
  readonly wipeLosesQuorum: boolean;
  readonly onFault: SendFault;
}

function Actions({ replica, isolated, wipeLosesQuorum, onFault }: ActionsProps) {
  const { id } = replica;
  const running = replica.process === 'running';
  const stopped = replica.process === 'stopped';
  const postgresUp = running && replica.status?.postgres.up === true;
  return (
    <div className="card-actions" role="group" aria-label={`Faults of ${id}`}>
      {stopped ? null : (
        <Button
          tone="danger"
          icon="crash"
          data-testid={`crash-${id}`}
          title="Kill the replica's process and its PostgreSQL (SIGKILL)"
          onClick={() => onFault({ action: 'crash', replica: id })}
        >
          Crash
        </Button>
      )}
      <Button
        tone={stopped ? 'primary' : 'normal'}
        icon="restart"
        data-testid={`restart-${id}`}
        title={stopped ? 'Start the replica again' : 'Kill the replica and start it again'}
        onClick={() => onFault({ action: 'restart', replica: id })}
      >
        Restart
      </Button>
      {replica.process === 'paused' ? (
        <Button
          tone="primary"
          icon="play"
          data-testid={`resume-${id}`}
          onClick={() => onFault({ action: 'resume', replica: id })}
        >
          Resume
        </Button>
      ) : (
        <Button
          icon="pause"
          disabled={!running}
          data-testid={`pause-${id}`}
          title="Freeze the process (SIGSTOP)"
          onClick={() => onFault({ action: 'pause', replica: id })}
        >
          Pause
        </Button>
      )}
      <Button
        tone="danger"
        icon="database"
        disabled={!postgresUp}
        data-testid={`kill-postgres-${id}`}
        title="Kill this replica's PostgreSQL alone"
        aria-label={`Kill PostgreSQL of ${id}`}
        onClick={() => onFault({ action: 'killPostgres', replica: id })}
      >
        Kill PG
      </Button>
      <Button
        tone="danger"
        icon="isolate"
        disabled={stopped || isolated}
        data-testid={`isolate-${id}`}
        title="Cut every link from and to this replica"
        onClick={() => onFault({ action: 'isolate', replica: id })}
      >
        Isolate
      </Button>
      <WipeMenu id={id} losesQuorum={wipeLosesQuorum} onFault={onFault} />
    </div>
  );
}
