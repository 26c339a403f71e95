/** One replica: how it is doing, where its pointers stand, and the buttons that break it. */
import type { ClusterReplica } from '../../../server/src/api/status.ts';
import { formatAge, formatBytes, formatCount } from '../model/format.ts';
import { Icon } from '../components/icon.tsx';
import { ReplicaName } from '../components/replica-name.tsx';
import { Term } from '../components/term.tsx';
import { freshStatus, healthOf, leads, staleMs } from '../model/cluster-view.ts';
import type { ShownRole } from '../model/cluster-view.ts';
import { incarnationName } from '../model/incarnation.ts';
import { memberRole } from '../model/members-view.ts';
import { protocolFacts, roleHints } from '../model/protocol-view.ts';
import { walView } from '../model/wal-view.ts';
import type { WalView } from '../model/wal-view.ts';
import type { SendFault } from '../run/requests.ts';
import { CardActions } from './card-actions.tsx';
import { RecoverySteps } from './recovery-steps.tsx';
import './replica-card.css';

interface ReplicaCardProps {
  readonly replica: ClusterReplica;
  readonly ids: readonly string[];
  /** Who leads. */
  readonly leader: string | null;
  readonly role: ShownRole;
  /** What it says of itself; null: nothing that would help. */
  readonly message: string | null;
  readonly isolated: boolean;
  /** Too few voters would be left if its log were lost. */
  readonly wipeLosesQuorum: boolean;
  /** Since the status on show was received by the supervisor. */
  readonly ageMs: number | null;
  readonly onFault: SendFault;
}

export function ReplicaCard(props: ReplicaCardProps) {
  const { replica, ids, isolated, ageMs, message } = props;
  const health = healthOf(replica, props.leader);
  const stale = freshStatus(replica) === null;
  return (
    <article
      className="card"
      data-testid={`replica-card-${replica.id}`}
      data-leader={leads(props.role)}
      data-stale={stale}
      aria-label={`Replica ${replica.id}`}
    >
      <header className="card-head">
        <h3 className="card-name">
          <ReplicaName id={replica.id} ids={ids} />
        </h3>
        <RoleBadge id={replica.id} role={props.role} />
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
      {message === null ? null : (
        <p className="card-message" data-testid={`message-${replica.id}`}>
          {message}
        </p>
      )}
      <Facts replica={replica} stale={stale} />
      <CardActions
        replica={replica}
        isolated={isolated}
        wipeLosesQuorum={props.wipeLosesQuorum}
        onFault={props.onFault}
      />
    </article>
  );
}

const roleTones: Readonly<Partial<Record<ShownRole, string>>> = {
  leader: 'ink',
  candidate: 'warn',
  deposed: 'warn',
  primary: 'ink',
  recovering: 'warn',
};

function hintOf(role: ShownRole): string | undefined {
  return Object.entries(roleHints).find(([name]) => name === role)?.[1];
}

function RoleBadge({ id, role }: { readonly id: string; readonly role: ShownRole }) {
  return (
    <span className="badge" data-tone={roleTones[role] ?? 'plain'} title={hintOf(role)}>
      {leads(role) ? <Icon name="crown" /> : null}
      <span data-testid={`role-${id}`}>{role}</span>
    </span>
  );
}

/** Which incarnation this is, and whether it counts. */
function Life({ replica: { id, status } }: { readonly replica: ClusterReplica }) {
  if (status === null) return null;
  const role = memberRole(status);
  return (
    <span className="card-life">
      <span className="mono" data-testid={`incarnation-${id}`} data-incarnation={status.incarnation}>
        <Term word="incarnation">
          {status.incarnation === 0 ? 'no incarnation' : incarnationName(id, status.incarnation)}
        </Term>
      </span>
      <span className="badge" data-tone={role === 'learner' ? 'warn' : 'plain'} data-testid={`member-${id}`}>
        <Term word={role ?? 'member'}>{role ?? 'no member'}</Term>
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
  const unknown = stale && replica.process !== 'stopped';
  const version = status?.postgres.version ?? null;
  return (
    <dl className="facts num">
      {(status === null ? [] : protocolFacts(status)).map(({ id: fact, name, hint, value }) => (
        <Fact key={fact} name={name} word={name} hint={hint} testId={`${fact}-${id}`} value={value} />
      ))}
      <Fact
        name="Commit point"
        word="commit point"
        hint={
          status?.protocol.name === 'primary'
            ? 'Everything up to this slot is confirmed by the primary, and may be executed'
            : 'It knows that everything up to this slot is chosen by a majority'
        }
        testId={`commit-point-${id}`}
        value={status === null ? '–' : formatCount(status.commitPoint)}
      />
      <Fact
        name="Applied"
        word="application pointer"
        hint="The application pointer (AP): everything up to this slot is in PostgreSQL"
        testId={`ap-${id}`}
        value={status === null ? '–' : formatCount(status.applicationPointer)}
      />
      <div className="fact">
        <dt>PostgreSQL</dt>
        <dd
          data-testid={`pg-${id}`}
          data-up={postgresUp}
          className={postgresUp ? 'fact-good' : unknown ? undefined : 'fact-bad'}
        >
          {unknown ? 'unknown' : postgresUp ? 'up' : 'down'}
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
      <Fact
        name="Log"
        hint="What its log takes on its disk"
        testId={`log-${id}`}
        value={status === null ? '–' : formatBytes(status.log.bytes)}
      />
      {status?.payload === 'statements' ? null : (
        <WalFacts id={id} view={walView(status?.wal ?? null, postgresUp)} />
      )}
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
        <dt>
          <Term word="WAL">WAL</Term> chosen
        </dt>
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
  /** Of the glossary, where it has it. */
  readonly word?: string;
  readonly value: string;
  readonly testId: string;
  readonly hint?: string;
}

function Fact({ name, word, value, testId, hint }: FactProps) {
  return (
    <div className="fact" title={hint}>
      <dt>{word === undefined ? name : <Term word={word}>{name}</Term>}</dt>
      <dd data-testid={testId}>{value}</dd>
    </div>
  );
}
