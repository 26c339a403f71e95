/** The space-time diagram in the stage's place: the same messages with their times, as arrows; the wheel, and plus and minus, change how much time is in view. */
import { useMemo, useRef, useState } from 'react';
import type { PointerEvent } from 'react';
import type { ClusterStatus } from '../../../../server/src/api/status.ts';
import { useRun } from '../../components/run.tsx';
import { useKeys } from '../../components/use-keys.ts';
import { readPalette } from '../../stage/palette.ts';
import { useCanvas } from '../../stage/use-canvas.ts';
import { drawSpaceTime } from '../../timeline/draw-space-time.ts';
import { type Arrow, arrowAt, arrowsOf, rowsOf } from '../../timeline/space-time.ts';
import type { Picked } from './message-popover.tsx';

interface SpaceTimeViewProps {
  readonly cluster: ClusterStatus;
  readonly themeKey: string;
  readonly onMessage: (picked: Picked) => void;
}

const behindMs = 260;
const drawMs = 33;
const spanMsMin = 4;
const spanMsMax = 10_000;

export function SpaceTimeView({ cluster, themeKey, onMessage }: SpaceTimeViewProps) {
  const store = useRun();
  const palette = useMemo(() => (themeKey === '' ? readPalette() : readPalette()), [themeKey]);
  const [spanMs, setSpanMs] = useState(1_000);
  const arrows = useRef<readonly Arrow[]>([]);
  const ids = cluster.replicas.map(({ id }) => id);
  const zoom = (factor: number): void =>
    setSpanMs((now) => Math.min(spanMsMax, Math.max(spanMsMin, now * factor)));
  useKeys({ '+': () => zoom(0.5), '-': () => zoom(2) });
  const canvas = useCanvas((brush, size) => {
    const record = store.record();
    const isFollowing = store.get().playhead.mode === 'following';
    const atUs = record.clock.usAt(store.momentMs() - (isFollowing ? behindMs : 0));
    if (atUs === null) return;
    // What is looked at is at the right, with a little of what came of it.
    const ahead = isFollowing ? 0 : 0.15;
    const view = {
      fromUs: atUs - spanMs * 1_000 * (1 - ahead),
      toUs: atUs + spanMs * 1_000 * ahead,
      left: 64,
      right: size.width - 24,
      rows: rowsOf(ids, 56, size.height - 28),
    };
    arrows.current = arrowsOf(record.flights.between(view.fromUs, view.toUs), view);
    drawSpaceTime(brush, { size, view, arrows: arrows.current, atUs, spanMs, ids }, palette);
  }, drawMs);
  const onPointerUp = (event: PointerEvent): void => {
    const box = canvas.current!.getBoundingClientRect();
    const at = { x: event.clientX - box.left, y: event.clientY - box.top };
    const arrow = arrowAt(arrows.current, at);
    if (arrow !== null) onMessage({ flight: arrow.flight, count: 1, at });
  };
  return (
    <div className="stage" data-testid="space-time">
      <canvas
        ref={canvas}
        className="stage-canvas"
        role="img"
        aria-label={`Messages between ${ids.join(', ')} in ${Math.round(spanMs)} milliseconds`}
        onPointerUp={onPointerUp}
        onWheel={(event) => zoom(event.deltaY > 0 ? 1.25 : 0.8)}
      />
    </div>
  );
}
