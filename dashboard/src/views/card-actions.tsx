/** The buttons that break one replica. Each has its place for ever: what cannot be done now is off, so that nothing slides under the pointer. */
import type { ClusterReplica } from '../../../server/src/api/status.ts';
import { Button } from '../components/button.tsx';
import type { SendFault } from '../run/requests.ts';
import { WipeMenu } from './wipe-menu.tsx';

interface CardActionsProps {
  readonly replica: ClusterReplica;
  readonly isolated: boolean;
  readonly wipeLosesQuorum: boolean;
  readonly onFault: SendFault;
}

export function CardActions({ replica, isolated, wipeLosesQuorum, onFault }: CardActionsProps) {
  const { id } = replica;
  const running = replica.process === 'running';
  const stopped = replica.process === 'stopped';
  const paused = replica.process === 'paused';
  const postgresUp = running && replica.status?.postgres.up === true;
  return (
    <div className="card-actions" role="group" aria-label={`Faults of ${id}`}>
      <Button
        asksServer
        tone="danger"
        icon="crash"
        disabled={stopped}
        data-testid={`crash-${id}`}
        title="Kill the replica's process and its PostgreSQL (SIGKILL)"
        onClick={() => onFault({ action: 'crash', replica: id })}
      >
        Crash
      </Button>
      <Button
        asksServer
        tone={stopped ? 'primary' : 'normal'}
        icon="restart"
        data-testid={`restart-${id}`}
        title={stopped ? 'Start the replica again' : 'Stop the replica and start it again'}
        onClick={() => onFault({ action: 'restart', replica: id })}
      >
        {stopped ? 'Start' : 'Restart'}
      </Button>
      <Button
        asksServer
        tone={paused ? 'primary' : 'normal'}
        icon={paused ? 'play' : 'pause'}
        disabled={stopped}
        data-testid={paused ? `resume-${id}` : `pause-${id}`}
        title={paused ? 'Let the process go on (SIGCONT)' : 'Freeze the process (SIGSTOP)'}
        onClick={() => onFault({ action: paused ? 'resume' : 'pause', replica: id })}
      >
        {paused ? 'Resume' : 'Pause'}
      </Button>
      <Button
        asksServer
        tone="danger"
        icon="database"
        disabled={!postgresUp}
        data-testid={`kill-postgres-${id}`}
        title="Kill this replica's PostgreSQL alone; the replica starts it again"
        aria-label={`Kill PG: the PostgreSQL of ${id} alone`}
        onClick={() => onFault({ action: 'killPostgres', replica: id })}
      >
        Kill PG
      </Button>
      <Button
        asksServer
        tone="danger"
        icon="isolate"
        disabled={stopped || isolated}
        data-testid={`isolate-${id}`}
        title={`Cut every link from and to this replica${isolated ? ': they are' : ''}`}
        onClick={() => onFault({ action: 'isolate', replica: id })}
      >
        Isolate
      </Button>
      <WipeMenu id={id} losesQuorum={wipeLosesQuorum} onFault={onFault} />
    </div>
  );
}
