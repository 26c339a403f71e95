/** Says, across the page, what makes everything below it doubtful: no connection, no quorum, no leader, an event that is not as specified. */
import type { CheckStatus } from '../../../server/src/api/check.ts';
import type { ClusterStatus } from '../../../server/src/api/status.ts';
import { Button } from '../components/button.tsx';
import { useNow } from '../components/hooks.ts';
import { Icon } from '../components/icon.tsx';
import { checkProblem } from '../model/check-view.ts';
import { quorumOf } from '../model/members-view.ts';
import { protocolTitle } from '../model/protocol-view.ts';
import type { Connection } from '../model/dashboard-state.ts';
import './banner.css';

interface BannerProps {
  readonly connection: Connection;
  readonly cluster: ClusterStatus | null;
  readonly leader: string | null;
  readonly onRetry: () => void;
}

/** What the checker found stays, whatever else is told. */
export function CheckBanner({ check }: { readonly check: CheckStatus | null }) {
  const problem = check === null ? null : checkProblem(check);
  if (problem === null) return null;
  return (
    <div className="banner" data-tone="bad" role="alert" data-testid="banner-check">
      <Icon name="warning" />
      <p>
        <strong>{problem.headline}</strong> {problem.text}
      </p>
    </div>
  );
}

export function Banner({ connection, cluster, leader, onRetry }: BannerProps) {
  if (connection.kind === 'lost') {
    return <LostBanner retryAtMs={connection.retryAtMs} onRetry={onRetry} hasData={cluster !== null} />;
  }
  if (connection.kind === 'connecting' || cluster === null || leader !== null) return null;
  const quorum = quorumOf(cluster);
  const hasMajority = quorum.votersUp >= quorum.needed;
  const { leads } = protocolTitle(cluster);
  if (leads === null && hasMajority) return null;
  const text = !hasMajority
    ? `${quorum.votersUp} of ${quorum.voters} voters answer and ${quorum.needed} are needed. Clients get an error until one more is back.`
    : 'The replicas are electing one, or cannot reach each other. Clients get an error until then.';
  return (
    <div className="banner" data-tone="warn" role="alert" data-testid="banner-no-leader">
      <Icon name="warning" />
      <p>
        <strong>{leads === null ? 'No majority.' : `No ${leads.toLowerCase()}.`}</strong> {text}
      </p>
    </div>
  );
}

interface LostBannerProps {
  readonly retryAtMs: number;
  readonly hasData: boolean;
  readonly onRetry: () => void;
}

function LostBanner({ retryAtMs, hasData, onRetry }: LostBannerProps) {
  const now = useNow(250);
  const seconds = Math.max(0, Math.ceil((retryAtMs - now) / 1000));
  return (
    <div className="banner" data-tone="bad" role="alert" data-testid="banner-disconnected">
      <Icon name="plug" />
      <p>
        <strong>Disconnected.</strong>{' '}
        {hasData ? 'What you see is the last that was heard.' : 'The server does not answer.'}{' '}
        <span className="num" aria-live="off">
          {seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again…'}
        </span>
      </p>
      <Button onClick={onRetry}>Try now</Button>
    </div>
  );
}
