/** What a replica believes and what can befall it, and what is wrong with a link: beside what was picked on the stage. */
import { type CSSProperties, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Dialog, Heading, Popover } from 'react-aria-components';
import type { ClusterReplica, ClusterStatus } from '../../../../server/src/api/status.ts';
import { formatBytes, formatCount } from '../../model/format.ts';
import { useMoment, useRun } from '../../components/run.tsx';
import { Term } from '../../components/term.tsx';
import { Fact } from '../../components/fact.tsx';
import { ballotCss } from '../../model/ballot-color.ts';
import { formatBallot, healthOf, isIsolated, messageOf } from '../../model/cluster-view.ts';
import { standingOf } from '../../model/standing.ts';
import { wipeLosesQuorum } from '../../model/members-view.ts';
import type { SendFault } from '../../run/requests.ts';
import { spellAge } from '../../stage/draw-stage.ts';
import type { Point } from '../../layout/ring.ts';
import type { StageSize } from '../../stage/places.ts';
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
  /** Within the stage, for something of that size; null: it does not fit there. */
  readonly placeFor: (size: StageSize) => Point | null;
  readonly onFault: SendFault;
  readonly onClose: () => void;
}

/** Where other replicas stay visible. Found when it is there to be measured, when the stage has another size, and when there is more to say: else nothing moves away under the hand. */
function usePlaced(anchor: ReturnType<typeof useAnchor>, placeFor: ReplicaPopoverProps['placeFor']) {
  const [popover, setPopover] = useState<HTMLElement | null>(null);
  const [style, setStyle] = useState<CSSProperties | null>(null);
  const latest = useRef(placeFor);
  useLayoutEffect(() => {
    latest.current = placeFor;
  }, [placeFor]);
  useLayoutEffect(() => {
    const stage = anchor.current?.closest('.stage');
    if (popover === null || stage == null) return undefined;
    const place = (): void => {
      const at = latest.current({ width: popover.offsetWidth, height: popover.offsetHeight });
      const box = stage.getBoundingClientRect();
      setStyle(
        at === null
          ? null
          : ({
              '--popover-left': `${box.left + at.x}px`,
              '--popover-top': `${box.top + at.y}px`,
            } as CSSProperties),
      );
    };
    // A frame later the stage knows its size, too.
    const sizes = new ResizeObserver(() => requestAnimationFrame(place));
    sizes.observe(stage);
    place();
    return () => sizes.disconnect();
  }, [anchor, popover]);
  return { setPopover, style };
}

export function ReplicaPopover({
  stage,
  replica,
  cluster,
  leader,
  placeFor,
  onFault,
  onClose,
}: ReplicaPopoverProps) {
  const anchor = useAnchor(stage, `node-${replica.id}`);
  const { setPopover, style } = usePlaced(anchor, placeFor);
  const standing = standingOf(replica, leader);
  const { status } = replica;
  const health = healthOf(replica, leader);
  const message = messageOf(replica, cluster);
  return (
    <Popover
      key={status === null ? 'silent' : 'told'}
      triggerRef={anchor}
      isOpen
      onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}
      placement="right"
      offset={16}
      ref={setPopover}
      style={style ?? {}}
      className={style === null ? 'lab-popover' : 'lab-popover lab-popover-placed'}
    >
      <Dialog className="lab-dialog" data-testid="replica-popover">
        <header className="lab-dialog-head">
          <Heading slot="title" className="mono">
            {replica.id}
          </Heading>
          <span className="badge" data-tone={standing.counts ? 'plain' : 'warn'}>
            {standing.word === null ? standing.text : <Term word={standing.word}>{standing.text}</Term>}
          </span>
          <Age replica={replica} />
        </header>
        <p className="lab-health">
          <span className="dot" data-tone={health.tone} aria-hidden="true" />
          {health.text}
        </p>
        {message === null ? null : <p className="lab-message">{message}</p>}
        {status === null ? null : (
          <dl className="lab-facts num">
            {standing.incarnation === null ? null : (
              <Fact name={<Term word="incarnation">Incarnation</Term>}>
                <span className="mono">{standing.incarnation}</span>
              </Fact>
            )}
            <Fact name={<Term word="leadership">Takes for leader</Term>}>{status.leader ?? 'nobody'}</Fact>
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
