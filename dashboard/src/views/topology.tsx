/** The cluster as a drawing: replicas on a ring, an arrow for each directed link, and what is wrong with it. */
import { memo } from 'react';
import type { KeyboardEvent } from 'react';
import type { ClusterReplica, ClusterStatus, LinkFault } from '../../../server/src/api/status.ts';
import { useMoment, useRun } from '../components/run.tsx';
import { linkShape, ringPositions } from '../layout/ring.ts';
import type { Point } from '../layout/ring.ts';
import { describeFault, faultsByLink, healthOf, spellFault } from '../model/cluster-view.ts';
import { eventClockUs } from '../model/dashboard-state.ts';
import { isBusy, linkKey } from '../model/trace-model.ts';
import './topology.css';

const size = { width: 380, height: 330 };
const nodeRadius = 30;
/** How often it is looked whether messages still flow. */
const lookMs = 250;

export interface Link {
  readonly from: string;
  readonly to: string;
}

interface TopologyProps {
  readonly cluster: ClusterStatus;
  readonly leader: string | null;
  readonly selected: Link | null;
  readonly onSelect: (link: Link | null) => void;
}

export const Topology = memo(function Topology({ cluster, leader, selected, onSelect }: TopologyProps) {
  const now = useMoment(lookMs);
  // Read now and then, for what goes over the links: not a reason to draw all of it again each time.
  const { state } = useRun().get();
  const nowUs = eventClockUs(state, now);
  const { replicas } = cluster;
  const isLive = state.connection.kind === 'open';
  const three = replicas.length === 3;
  const positions = ringPositions(replicas.length, {
    center: { x: size.width / 2, y: size.height / 2 + (three ? 34 : 0) },
    radius: three ? 144 : 122,
  });
  const faults = faultsByLink(cluster);
  const links = replicas.flatMap((from, a) =>
    replicas.flatMap((to, b) => (a === b ? [] : [{ from, to, start: positions[a]!, end: positions[b]! }])),
  );
  return (
    <svg
      className="topology"
      viewBox={`0 0 ${size.width} ${size.height}`}
      role="group"
      aria-label="Replicas and the links between them"
    >
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0.5 1 7 4 0.5 7z" fill="context-stroke" />
        </marker>
      </defs>
      {links.map((link) => {
        const key = linkKey(link.from.id, link.to.id);
        return (
          <LinkArrow
            key={key}
            link={{ from: link.from.id, to: link.to.id }}
            start={link.start}
            end={link.end}
            dense={replicas.length > 3}
            fault={faults.get(key) ?? null}
            down={link.from.process === 'stopped' || link.to.process === 'stopped'}
            busy={
              isLive &&
              link.from.process === 'running' &&
              link.to.process === 'running' &&
              isBusy(state.trace, key, nowUs)
            }
            selected={selected?.from === link.from.id && selected.to === link.to.id}
            onSelect={onSelect}
          />
        );
      })}
      {replicas.map((replica, index) => (
        <ReplicaNode key={replica.id} replica={replica} at={positions[index]!} leader={leader} />
      ))}
    </svg>
  );
});

interface LinkArrowProps {
  readonly link: Link;
  readonly start: Point;
  readonly end: Point;
  readonly dense: boolean;
  readonly fault: LinkFault | null;
  readonly down: boolean;
  readonly busy: boolean;
  readonly selected: boolean;
  readonly onSelect: (link: Link | null) => void;
}

function LinkArrow(props: LinkArrowProps) {
  const { link, fault } = props;
  const shape = linkShape(props.start, props.end, {
    clearance: nodeRadius + 7,
    bend: 28,
    labelAt: props.dense ? 0.3 : 0.4,
  });
  const state =
    fault === null ? (props.down ? 'down' : props.busy ? 'busy' : 'idle') : fault.cut ? 'cut' : 'impaired';
  const name = `Link from ${link.from} to ${link.to}: ${fault === null ? 'no fault' : spellFault(fault)}`;
  const label = fault === null ? null : describeFault(fault);
  const width = (label?.length ?? 0) * 6.6 + 16;
  const select = (): void => props.onSelect(link);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape' && props.selected) props.onSelect(null);
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    select();
  };
  return (
    <g className="link" data-state={state} data-selected={props.selected}>
      <path className="link-hit" d={shape.path} onClick={select} />
      <path className="link-line" d={shape.path} markerEnd="url(#arrow)" />
      {state === 'busy' ? <path className="link-flow" d={shape.path} /> : null}
      <g
        className="link-handle"
        role="button"
        tabIndex={0}
        aria-pressed={props.selected}
        aria-label={name}
        data-testid={`link-${link.from}-${link.to}`}
        data-fault={fault === null ? '' : describeFault(fault)}
        transform={`translate(${shape.label.x} ${shape.label.y})`}
        onClick={select}
        onKeyDown={onKeyDown}
      >
        <title>{name}</title>
        {label === null ? <circle r="5" /> : <rect x={-width / 2} y="-9" width={width} height="18" rx="9" />}
      </g>
      {label === null ? null : (
        <text
          className="link-label"
          aria-hidden="true"
          transform={`translate(${shape.label.x} ${shape.label.y})`}
          y="3.6"
        >
          {label}
        </text>
      )}
    </g>
  );
}

interface ReplicaNodeProps {
  readonly replica: ClusterReplica;
  readonly at: Point;
  readonly leader: string | null;
}

function ReplicaNode({ replica, at, leader }: ReplicaNodeProps) {
  const isLeader = replica.id === leader;
  const health = healthOf(replica, leader);
  return (
    <g
      className="node"
      data-leader={isLeader}
      data-tone={health.tone}
      transform={`translate(${at.x} ${at.y})`}
    >
      <title>{`${replica.id}: ${health.text}`}</title>
      <circle r={nodeRadius} />
      {isLeader ? (
        <path className="node-crown" d="M-8 -7.5h16M-8 -10l-.6 -5.4 4 2.6L0 -17l4.6 4.2 4 -2.6L8 -10z" />
      ) : null}
      <text y={isLeader ? 9 : 5}>{replica.id}</text>
      <circle className="node-dot" cx="21" cy="-21" r="7" />
    </g>
  );
}
