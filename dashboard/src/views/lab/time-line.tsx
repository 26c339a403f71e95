/** The time line: what became of each replica, on a canvas, and a slider over it that goes to any moment of what is kept. */
import { useMemo, useRef } from 'react';
import type { KeyboardEvent, PointerEvent } from 'react';
import type { ClusterStatus } from '../../../../server/src/api/status.ts';
import { useMoment, useRun, useSelected } from '../../components/run.tsx';
import { spellAge } from '../../stage/draw-stage.ts';
import { readPalette } from '../../stage/palette.ts';
import { useCanvas } from '../../stage/use-canvas.ts';
import { drawTimeline, laneLeft, laneRight } from '../../timeline/draw-timeline.ts';
import { msAt, type Scale, scaleOf, zeroOf } from '../../timeline/scale.ts';
import type { Transport } from './use-transport.ts';

interface TimeLineProps {
  readonly transport: Transport;
  readonly cluster: ClusterStatus;
  readonly themeKey: string;
}

/** It moves slowly: this is smooth. */
const drawMs = 33;

/** Few lanes are high enough to read, many are low enough to leave the stage its room. */
function heightOf(lanes: number): number {
  return 50 + Math.min(lanes * 30, 160);
}

export function TimeLine({ transport, cluster, themeKey }: TimeLineProps) {
  const store = useRun();
  const palette = useMemo(() => (themeKey === '' ? readPalette() : readPalette()), [themeKey]);
  const scale = useRef<Scale | null>(null);
  const held = useRef<Scale | null>(null);
  const pointerX = useRef<number | null>(null);
  const ids = cluster.replicas.map(({ id }) => id);
  const hasLoad = useSelected(store, ({ state }) => state.load.status !== null);
  const canvas = useCanvas((brush, size) => {
    const { extent, playhead } = store.get();
    if (extent === null) return;
    const momentMs = store.momentMs();
    const lastMs = Math.max(
      extent.lastMs,
      store.source.kind === 'live' ? store.source.nowMs() : extent.lastMs,
    );
    const place = { left: laneLeft, right: size.width - laneRight };
    // While it is held, nothing moves under the hand.
    scale.current = held.current ?? scaleOf({ ...extent, lastMs }, transport.spanMs, momentMs, place);
    drawTimeline(
      brush,
      {
        size,
        scale: scale.current,
        ids,
        tracks: store.record().tracks,
        momentMs,
        isFollowing: playhead.mode === 'following',
        ...zeroOf(store.source.kind, { firstMs: extent.firstMs, lastMs }),
        firstMs: extent.firstMs,
        pointerX: pointerX.current,
      },
      palette,
    );
  }, drawMs);
  const go = (event: PointerEvent): void => {
    const { left } = canvas.current!.getBoundingClientRect();
    pointerX.current = event.clientX - left;
    if (held.current !== null) store.standAt(msAt(held.current, event.clientX - left));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const acts: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => (event.shiftKey ? transport.jump(-1_000) : transport.step(-1)),
      ArrowRight: () => (event.shiftKey ? transport.jump(1_000) : transport.step(1)),
      Home: transport.toStart,
      End: store.follow,
      ' ': transport.toggle,
    };
    const act = acts[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
  return (
    <div className="time-line" style={{ height: heightOf(ids.length + (hasLoad ? 1 : 0)) }}>
      <SliderPart
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          held.current = scale.current;
          go(event);
        }}
        onPointerMove={go}
        // By letting go, or because the browser has taken the touch for something else.
        onLostPointerCapture={() => {
          held.current = null;
        }}
        onPointerLeave={() => {
          pointerX.current = null;
        }}
      />
      <canvas ref={canvas} className="time-line-canvas" aria-hidden="true" />
    </div>
  );
}

interface SliderPartProps {
  readonly onKeyDown: (event: KeyboardEvent) => void;
  readonly onPointerDown: (event: PointerEvent) => void;
  readonly onPointerMove: (event: PointerEvent) => void;
  readonly onLostPointerCapture: () => void;
  readonly onPointerLeave: () => void;
}

/** Apart, so that only its words are rendered as time goes on. */
function SliderPart(props: SliderPartProps) {
  const store = useRun();
  const momentMs = useMoment(500);
  const { extent, playhead } = store.get();
  const first = extent?.firstMs ?? 0;
  const last = Math.max(first, extent?.lastMs ?? 0);
  const agoMs = Math.max(0, store.source.nowMs() - momentMs);
  return (
    <div
      className="time-line-slider"
      role="slider"
      tabIndex={0}
      aria-label="Moment"
      aria-valuemin={0}
      aria-valuemax={Math.round(last - first)}
      aria-valuenow={Math.round(Math.min(Math.max(momentMs, first), last) - first)}
      aria-valuetext={playhead.mode === 'following' ? 'now' : `${spellAge(agoMs)} ago`}
      data-testid="time-line"
      {...props}
    />
  );
}
