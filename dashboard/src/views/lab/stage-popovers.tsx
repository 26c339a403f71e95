/** What a replica believes and what can befall it, and what is wrong with a link: beside what was picked on the stage. */
import { useMemo } from 'react';
import { Dialog, Heading, Popover } from 'react-aria-components';
import type { ClusterReplica, ClusterStatus } from '../../../../server/src/api/status.ts';
import { formatBytes, formatCount } from '../../components/format.ts';
import { useMoment, useRun } from '../../components/run.tsx';
import { Term } from '../../components/term.tsx';
import { Fact } from '../../components/fact.tsx';
import { ballotCss } from '../../model/ballot-color.ts';
import { formatBallot, healthOf, isIsolated, messageOf, roleOf } from '../../model/cluster-view.ts';
import { wipeLosesQuorum } from '../../model/members-view.ts';
import type { SendFault } from '../../run/requests.ts';
import { spellAge } from '../../stage/draw-stage.ts';
import type { Ends } from '../../stage/links.ts';
import { CardActions } from '../card-actions.tsx';
import { LinkEditor } from '../link-editor.tsx';

/** Beside the element of that test id on this stage, of which there may be several: it stands where the canvas draws the thing. */
function useAnchor(stage: string, testId: string): { readonly current: Element | null } {
  return useMemo(
    () => ({ current: document.querySelector(`[data-stage="${stage}"] [data-testid="${testId}"]`) }),
    [stage, testId],
  );
}

interface ReplicaPopoverProps {
  readonly stage: string;
  readonly replica: ClusterReplica;
  readonly cluster: ClusterStatus;
  readonly leader: string | null;
  readonly onFault: SendFault;
  readonly onClose: () => void;
}

export function ReplicaPopover({ stage, replica, cluster, leader, onFault, onClose }: ReplicaPopoverProps) {
  const anchor = useAnchor(stage, `node-${replica.id}`);
  const { status } = replica;
  const health = healthOf(replica, leader);
  const message = messageOf(replica, cluster);
  return (
    <Popover
      triggerRef={anchor}
      isOpen
      onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}
      placement="right"
      offset={16}
      className="lab-popover"
    >
      <Dialog className="lab-dialog" data-testid="replica-popover">
        <header className="lab-dialog-head">
          <Heading slot="title" className="mono">
            {replica.id}
          </Heading>
          <span className="badge">{roleOf(replica, leader)}</span>
          <Age replica={replica} />
        </header>
        <p className="lab-health">
          <span className="dot" data-tone={health.tone} aria-hidden="true" />
          {health.text}
        </p>
        {message === null ? null : <p className="lab-message">{message}</p>}
        {status === null ? null : (
          <dl className="lab-facts num">
            <Fact name="Takes for leader">{status.leader ?? 'nobody'}</Fact>
            <Fact name={<Term word="ballot">Ballot</Term>}>
              <span className="swatch" style={{ background: ballotCss(status.ballot) }} aria-hidden="true" />
              {formatBallot(status.ballot)}
            </Fact>
            <Fact name={<Term word="commit point">Chosen up to</Term>}>
              {formatCount(status.commitPoint)}
            </Fact>
            <Fact name={<Term word="application pointer">Applied up to</Term>}>
              {formatCount(status.applicationPointer)}
            </Fact>
            <Fact name="Log">
              {formatCount(status.lastSlot)} · {formatBytes(status.log.bytes)}
            </Fact>
            <Fact name="PostgreSQL">
              {status.postgres.up ? (status.wal?.role ?? 'up') : 'down'}
              {status.wal === null ? '' : ` · t${status.wal.timeline}`}
            </Fact>
            <Fact name={<Term word="member">Members</Term>}>
              {status.membership.members
                .filter(({ role }) => role === 'voter')
                .map((member) => member.replica)
                .join(', ') || '–'}
            </Fact>
            <Fact name="Clients">{formatCount(status.clients)}</Fact>
          </dl>
        )}
        <CardActions
          replica={replica}
          isolated={isIsolated(cluster, replica.id)}
          wipeLosesQuorum={wipeLosesQuorum(cluster, replica.id)}
          onFault={onFault}
        />
      </Dialog>
    </Popover>
  );
}

function Age({ replica }: { readonly replica: ClusterReplica }) {
  const momentMs = useMoment(200);
  const { clusterAtMs } = useRun().get().state;
  if (replica.ageMs === null) return <span className="quiet lab-age">never heard</span>;
  const ageMs = replica.ageMs + Math.max(0, momentMs - clusterAtMs);
  return <span className="quiet num lab-age">told {spellAge(ageMs)} ago</span>;
}

interface LinkPopoverProps {
  readonly stage: string;
  readonly cluster: ClusterStatus;
  readonly link: Ends;
  readonly onLink: (link: Ends | null) => void;
  readonly onFault: SendFault;
}

export function LinkPopover({ stage, cluster, link, onLink, onFault }: LinkPopoverProps) {
  const anchor = useAnchor(stage, `link-${link.from}-${link.to}`);
  return (
    <Popover
      key={`${link.from} ${link.to}`}
      triggerRef={anchor}
      isOpen
      onOpenChange={(isOpen) => (isOpen ? undefined : onLink(null))}
      placement="right"
      offset={12}
      className="lab-popover"
    >
      <Dialog className="lab-dialog lab-dialog-link" aria-label={`Link ${link.from} to ${link.to}`}>
        <LinkEditor cluster={cluster} selected={link} onSelect={onLink} onFault={onFault} />
      </Dialog>
    </Popover>
  );
}
