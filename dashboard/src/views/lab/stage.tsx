/**
 * The stage: replicas, links and messages on a canvas, and over it a button for each replica and link, so that the keyboard and screen readers have all of it.
 *
 * Owns what is picked and what the hand is at: a replica is dragged over to others or away from them, a line that is drawn parts the group.
 */
import { useEffect, useId, useMemo, useRef, useState } from 'react';
import type { PointerEvent } from 'react';
import type { ClusterStatus } from '../../../../server/src/api/status.ts';
import { useSize } from '../../components/hooks.ts';
import { useRun } from '../../components/run.tsx';
import { useServerAway } from '../../components/server-away.tsx';
import { useStageScale } from '../../components/use-presenter.ts';
import type { Acts } from '../../components/use-acts.ts';
import type { Point } from '../../layout/ring.ts';
import { faultsByLink } from '../../model/cluster-view.ts';
import { type Dot, dotAt, dotsOf } from '../../stage/dots.ts';
import { drawMarks } from '../../stage/draw-marks.ts';
import { drawStage } from '../../stage/draw-stage.ts';
import { type Ends, linkAt } from '../../stage/links.ts';
import { looksOf } from '../../stage/looks.ts';
import { readPalette } from '../../stage/palette.ts';
import { isAway, type Places, placesOf, regionAt, scaleThatFits, sidesOf } from '../../stage/places.ts';
import { popoverPlace } from '../../stage/popover-place.ts';
import { movedTo, partingRequests, type Regions, regionsOf } from '../../stage/regions.ts';
import { type Draw, prefersStillness, useCanvas } from '../../stage/use-canvas.ts';
import type { Picked } from './message-popover.tsx';
import { LinkPopover, ReplicaPopover } from './stage-popovers.tsx';
import { usePlay } from './scenarios/use-scenarios.ts';
import { StageButtons } from './stage-buttons.tsx';

interface StageProps {
  readonly cluster: ClusterStatus;
  readonly leader: string | null;
  readonly themeKey: string;
  readonly acts: Acts;
  readonly speed: number;
  readonly onMessage: (picked: Picked) => void;
}

/** How long a message is seen on its way, at least. */
const flightMs = 520;
/** Events come in some time after they happened: so long ago is what is drawn of messages while the newest is followed. */
const behindMs = 260;
/** A hand that has moved less has clicked. */
const stillPx = 6;
/** How fast replicas go to new places. */
const settleMs = 110;

interface Hand {
  readonly pointer: number;
  readonly from: Point;
  to: Point;
  readonly replica: string | null;
  isMoving: boolean;
}

export function Stage({ cluster, leader, themeKey, acts, speed, onMessage }: StageProps) {
  const store = useRun();
  const away = useServerAway();
  const play = usePlay();
  const wanted = useStageScale();
  const [sizeRef, { width, height }] = useSize();
  const scale = scaleThatFits(wanted, { width, height });
  const size = useMemo(() => ({ width: width / scale, height: height / scale }), [width, height, scale]);
  const stage = useId();
  const [replica, setReplica] = useState<string | null>(null);
  const [link, setLink] = useState<Ends | null>(null);
  const palette = useMemo(() => (themeKey === '' ? readPalette() : readPalette()), [themeKey]);
  const faults = useMemo(() => faultsByLink(cluster), [cluster]);
  const looks = useMemo(() => looksOf(cluster, leader), [cluster, leader]);
  const idsKey = cluster.replicas.map(({ id }) => id).join(' ');
  const ids = useMemo(() => idsKey.split(' '), [idsKey]);
  const regionsKey = JSON.stringify(regionsOf(ids, faults));
  const regions = useMemo(() => JSON.parse(regionsKey) as Regions, [regionsKey]);
  const places = useMemo(() => placesOf(regions, size), [regions, size]);
  const hand = useRef<Hand | null>(null);
  const hovered = useRef<{ replica: string | null; link: Ends | null }>({ replica: null, link: null });
  const shown = useRef(new Map<string, Point>());
  const dots = useRef<readonly Dot[]>([]);
  const lastMs = useRef(0);

  /** Null also when it has a replica that was removed meanwhile. */
  const heldNow = (): Hand | null => {
    const id = hand.current?.replica ?? null;
    if (id !== null && !places.nodes.has(id)) hand.current = null;
    return hand.current;
  };

  const draw: Draw = (brush, canvasSize, nowMs) => {
    const view = store.get();
    const record = store.record();
    const isFollowing = view.playhead.mode === 'following';
    const still = prefersStillness();
    const nodes = settled(
      shown.current,
      places,
      still ? 1 : 1 - Math.exp((lastMs.current - nowMs) / settleMs),
    );
    lastMs.current = nowMs;
    const held = heldNow();
    if (held?.isMoving === true && held.replica !== null) nodes.set(held.replica, held.to);
    shown.current = nodes;
    const now: Places = { ...places, nodes };
    const momentMs = store.momentMs();
    const atUs = record.clock.usAt(momentMs - (isFollowing ? behindMs : 0));
    const shownUs = flightMs * 1_000 * (isFollowing ? 1 : speed);
    dots.current =
      atUs === null
        ? []
        : dotsOf(record.flights.between(atUs - shownUs, atUs), now, { atUs, shownUs, faults });
    brush.save();
    brush.scale(scale, scale);
    drawStage(
      brush,
      {
        size: { width: canvasSize.width / scale, height: canvasSize.height / scale },
        places: now,
        looks,
        faults,
        dots: dots.current,
        selected: { replica, link },
        hovered: hovered.current,
        sinceMs: Math.max(0, momentMs - view.state.clusterAtMs),
        line: held?.isMoving === true && held.replica === null ? held : null,
        target: held?.isMoving === true ? targetOf(held, places, regions) : null,
        phase: still ? 0 : (nowMs / 900) % 1,
      },
      palette,
    );
    if (play !== null) drawMarks(brush, play.marks, now, palette);
    brush.restore();
  };
  const canvas = useCanvas(draw);

  const pointOf = ({ clientX, clientY }: PointerEvent): Point => {
    const box = canvas.current!.getBoundingClientRect();
    return { x: (clientX - box.left) / scale, y: (clientY - box.top) / scale };
  };
  const isOther = ({ pointerId }: PointerEvent): boolean =>
    hand.current !== null && hand.current.pointer !== pointerId;
  const take = (event: PointerEvent, id: string | null): void => {
    if (event.button !== 0) return;
    // A second finger: whoever means to zoom parts nothing.
    if (isOther(event)) {
      giveUp();
      return;
    }
    event.currentTarget.setPointerCapture(event.pointerId);
    const at = pointOf(event);
    hand.current = { pointer: event.pointerId, from: at, to: at, replica: id, isMoving: false };
  };
  const move = (event: PointerEvent): void => {
    if (isOther(event)) return;
    const at = pointOf(event);
    const held = heldNow();
    if (held === null) {
      const isOnDot = dotAt(dots.current, at) !== null;
      hovered.current = { replica: hovered.current.replica, link: isOnDot ? null : linkAt(ids, places, at) };
      const isOver = isOnDot || hovered.current.link !== null;
      if (event.target instanceof HTMLCanvasElement)
        event.target.style.cursor = isOver ? 'pointer' : 'crosshair';
      return;
    }
    held.to = at;
    if (!away && Math.hypot(at.x - held.from.x, at.y - held.from.y) > stillPx) held.isMoving = true;
  };
  const drop = (event: PointerEvent): void => {
    if (isOther(event)) return;
    const held = heldNow();
    hand.current = null;
    if (held === null) return;
    if (held.isMoving) part(held);
    else if (held.replica === null) pick(pointOf(event));
    else setReplica(held.replica);
  };
  const part = (held: Hand): void => {
    const parted = partedBy(held, places, regions);
    if (parted === null) return;
    const title = parted.length === 1 ? 'All reach each other again' : `Parted: ${spellRegions(parted)}`;
    acts.act(title, partingRequests(parted, faults));
  };
  const pick = (at: Point): void => {
    const dot = dotAt(dots.current, at);
    if (dot !== null)
      onMessage({ flight: dot.flight, count: dot.count, at: { x: at.x * scale, y: at.y * scale } });
    else setLink(linkAt(ids, places, at));
  };
  const giveUp = (): void => {
    hand.current = null;
  };
  useEffect(() => {
    const giveUpByKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') hand.current = null;
    };
    addEventListener('keydown', giveUpByKey);
    return () => removeEventListener('keydown', giveUpByKey);
  }, []);

  const shownReplica = cluster.replicas.find(({ id }) => id === replica) ?? null;
  return (
    <div
      className="stage"
      ref={sizeRef}
      data-stage={stage}
      data-testid="stage"
      data-regions={spellRegions(regions)}
    >
      <canvas
        ref={canvas}
        className="stage-canvas"
        aria-hidden="true"
        onPointerDown={(event) => take(event, null)}
        onPointerMove={move}
        onPointerUp={drop}
        onPointerCancel={giveUp}
        onPointerLeave={() => {
          hovered.current = { replica: null, link: null };
        }}
      />
      <div className="stage-over" style={{ scale }}>
        <StageButtons
          looks={looks}
          faults={faults}
          places={places}
          onTake={take}
          onMove={move}
          onDrop={drop}
          onGiveUp={giveUp}
          onReplica={setReplica}
          onLink={setLink}
          onHover={(id) => {
            hovered.current = { replica: id, link: null };
          }}
        />
      </div>
      {shownReplica === null ? null : (
        <ReplicaPopover
          stage={stage}
          replica={shownReplica}
          cluster={cluster}
          leader={leader}
          placeFor={(room) =>
            popoverPlace({
              stage: { width, height },
              nodes: new Map([...places.nodes].map(([id, { x, y }]) => [id, { x: x * scale, y: y * scale }])),
              radius: places.radius * scale,
              of: shownReplica.id,
              size: room,
            })
          }
          onFault={acts.onFault}
          onClose={() => setReplica(null)}
        />
      )}
      {link === null ? null : (
        <LinkPopover stage={stage} cluster={cluster} link={link} onLink={setLink} onFault={acts.onFault} />
      )}
    </div>
  );
}

/** Closer to where they belong. */
function settled(shown: ReadonlyMap<string, Point>, { nodes }: Places, share: number): Map<string, Point> {
  return new Map(
    [...nodes].map(([id, at]) => {
      const from = shown.get(id) ?? at;
      return [id, { x: from.x + (at.x - from.x) * share, y: from.y + (at.y - from.y) * share }];
    }),
  );
}

/** The group as the hand has parted it; null: not at all. */
function partedBy(held: Hand, places: Places, regions: Regions): Regions | null {
  if (held.replica === null) {
    const sides = sidesOf(places.nodes, held.from, held.to);
    if (sides === null || Math.hypot(held.to.x - held.from.x, held.to.y - held.from.y) < 40) return null;
    return regions.flatMap((region) =>
      sides.map((side) => region.filter((id) => side.includes(id))).filter(({ length }) => length > 0),
    );
  }
  const id = held.replica;
  const own = regions.findIndex((region) => region.includes(id));
  if (regions.length === 1)
    return isAway(places.nodes.get(id)!, held.to, places) ? movedTo(regions, id, null) : null;
  const into = regionAt(places, held.to);
  return into === own ? null : movedTo(regions, id, into);
}

function targetOf(held: Hand, places: Places, regions: Regions): { left: number; right: number } | null {
  if (held.replica === null || partedBy(held, places, regions) === null) return null;
  if (regions.length > 1) return places.regions[regionAt(places, held.to)]!;
  const half = places.radius * 2;
  return { left: held.to.x - half, right: held.to.x + half };
}

function spellRegions(regions: Regions): string {
  return regions.map((region) => region.join(', ')).join(' | ');
}
