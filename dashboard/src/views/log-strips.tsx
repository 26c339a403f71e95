/**
 * The replicas' logs, one strip each, aligned by slot: what is accepted, chosen and applied where, so that lag can be seen.
 *
 * The strips stand still while the pointer is over them or a slot is picked; otherwise they follow the end of the log.
 */
import { memo, useRef, useState } from 'react';
import type { KeyboardEvent, PointerEvent } from 'react';
import type { ClusterStatus } from '../../../server/src/api/status.ts';
import { Button } from '../components/button.tsx';
import { formatCount } from '../model/format.ts';
import { useSize } from '../components/hooks.ts';
import { Panel } from '../components/panel.tsx';
import { Segmented } from '../components/segmented.tsx';
import { axisSlots, columnsFor, revealSlot, slotAt, stripWindow, tailFrom } from '../layout/strip-window.ts';
import type { SlotRange } from '../model/event-text.ts';
import { type Payload, payloadOf } from '../model/protocol-view.ts';
import { lagText, stripsOf } from '../model/strips.ts';
import type { Strip } from '../model/strips.ts';
import type { TraceModel } from '../model/trace-model.ts';
import { SlotInspector } from './slot-inspector.tsx';
import { HoverNote, Marks } from './strip-marks.tsx';
import { StripLegend, StripRow, narrowPitch, widePitch } from './strip-row.tsx';
import { SlotLane } from './slot-lane.tsx';
import './log-strips.css';

const pitches = [
  { value: widePitch, label: 'Near', testId: 'strips-near' },
  { value: narrowPitch, label: 'Far', testId: 'strips-far' },
] as const;

interface LogStripsProps {
  readonly cluster: ClusterStatus;
  readonly trace: TraceModel;
  readonly leader: string | null;
  readonly selected: SlotRange | null;
  readonly onSelect: (range: SlotRange | null) => void;
}

export const LogStrips = memo(function LogStrips({
  cluster,
  trace,
  leader,
  selected,
  onSelect,
}: LogStripsProps) {
  const [ref, { width }] = useSize();
  const [scrolledTo, setScrolledTo] = useState<number | null>(null);
  const [heldAt, setHeldAt] = useState<number | null>(null);
  const [pitch, setPitch] = useState<number>(widePitch);
  const [hovered, setHovered] = useState<number | null>(null);
  const [shown, setShown] = useState<SlotRange | null>(null);
  const field = useRef<HTMLDivElement>(null);
  const strips = stripsOf(cluster, trace);
  const payload = payloadOf(cluster);
  const lastSlot = Math.max(1, ...strips.map((strip) => strip.pointers.lastSlot));
  const columns = columnsFor(width, pitch);

  // A selection made elsewhere (the event list) brings its slot into view; the reader may scroll away from it again.
  let anchor = scrolledTo;
  if (selected !== shown) {
    setShown(selected);
    if (selected !== null)
      anchor = revealSlot(stripWindow(anchor ?? heldAt, lastSlot, columns), selected.from);
    setScrolledTo(anchor);
  }
  const window = stripWindow(anchor ?? heldAt, lastSlot, columns);
  const following = anchor === null;

  const pick = (slot: number | null): void => {
    if (slot === null || slot > lastSlot || slot < 1) return;
    setScrolledTo(revealSlot(window, slot));
    onSelect({ from: slot, to: slot });
  };
  const follow = (): void => {
    setScrolledTo(null);
    setHeldAt(null);
    onSelect(null);
  };
  /** The focus goes back to the strips, rather than to nowhere. */
  const leave = (): void => {
    follow();
    field.current?.focus();
  };
  const slotUnder = (event: PointerEvent<HTMLElement>): number | null =>
    slotAt(event.clientX - event.currentTarget.getBoundingClientRect().left, window, pitch);
  const tail = tailFrom(lastSlot, columns);

  return (
    <Panel
      title="Log"
      className="strips-panel"
      note={<StripLegend />}
      actions={
        <>
          {following ? (
            <span className="strips-following" data-testid="strips-following">
              following the end
            </span>
          ) : (
            <Button tone="primary" icon="follow" data-testid="strips-follow" onClick={follow}>
              Follow the end
            </Button>
          )}
          <Segmented label="Width of a slot" choices={pitches} value={pitch} onChange={setPitch} />
        </>
      }
    >
      <div className="strips" data-testid="log-strips">
        <StripNames strips={strips} leader={leader} payload={payload} />
        <div className="strips-frame" ref={ref}>
          <div
            ref={field}
            className="strips-field"
            role="slider"
            tabIndex={0}
            aria-label="Slot"
            aria-valuemin={1}
            aria-valuemax={lastSlot}
            aria-valuenow={selected?.from ?? lastSlot}
            aria-valuetext={spellSlot(strips, selected?.from ?? lastSlot)}
            onKeyDown={(event) => {
              const next = slotForKey(event, selected?.from ?? lastSlot, lastSlot);
              if (next === 'leave') follow();
              else if (next !== null) pick(next);
            }}
            onPointerEnter={() => setHeldAt(following ? window.from : null)}
            onPointerLeave={() => {
              setHeldAt(null);
              setHovered(null);
            }}
            onPointerMove={(event) => setHovered(slotUnder(event))}
            onClick={(event) =>
              pick(slotAt(event.clientX - event.currentTarget.getBoundingClientRect().left, window, pitch))
            }
          >
            <SlotLane strips={strips} notes={trace.notes} window={window} lastSlot={lastSlot} pitch={pitch} />
            {strips.map((strip) => (
              <StripRow key={strip.id} strip={strip} window={window} lastSlot={lastSlot} pitch={pitch} />
            ))}
            <Marks pitch={pitch} window={window} selected={selected} hovered={hovered} />
            <div className="strips-axis" aria-hidden="true">
              {axisSlots(window, pitch, 56).map((slot) => (
                <span key={slot} className="num" style={{ left: (slot - window.from) * pitch + pitch / 2 }}>
                  {formatCount(slot)}
                </span>
              ))}
            </div>
          </div>
          {hovered !== null && hovered <= lastSlot ? (
            <HoverNote
              slot={hovered}
              x={(hovered - window.from) * pitch}
              width={width}
              strips={strips}
              trace={trace}
            />
          ) : null}
        </div>
      </div>
      {tail > 1 ? (
        <input
          className="strips-scroll"
          type="range"
          min={1}
          max={tail}
          value={window.from}
          aria-label="Scroll through the log"
          onChange={(event) => setScrolledTo(Number(event.target.value))}
        />
      ) : null}
      <SlotInspector selected={selected} strips={strips} trace={trace} payload={payload} onClose={leave} />
    </Panel>
  );
});

function spellSlot(strips: readonly Strip[], slot: number): string {
  return `slot ${slot}: ${strips.map((strip) => `${strip.id} ${strip.cellAt(slot).kind}`).join(', ')}`;
}

function slotForKey(event: KeyboardEvent, slot: number, lastSlot: number): number | 'leave' | null {
  switch (event.key) {
    case 'ArrowLeft':
      return Math.max(1, slot - 1);
    case 'ArrowRight':
      return Math.min(lastSlot, slot + 1);
    case 'PageUp':
      return Math.max(1, slot - 20);
    case 'PageDown':
      return Math.min(lastSlot, slot + 20);
    case 'Home':
      return 1;
    case 'End':
      return lastSlot;
    case 'Escape':
      return 'leave';
    default:
      return null;
  }
}

interface StripNamesProps {
  readonly strips: readonly Strip[];
  readonly leader: string | null;
  readonly payload: Payload;
}

const lanes = {
  wal: { name: 'WAL', hint: 'What each slot holds: WAL, the taller the more' },
  statements: {
    name: 'Operations',
    hint: 'What each slot holds: a bar for a request of a client’s session, brackets where a transaction begins and ends, a dot for the rest',
  },
} as const;

function StripNames({ strips, leader, payload }: StripNamesProps) {
  const chosen = Math.max(0, ...strips.map((strip) => strip.pointers.commitPoint));
  return (
    <div className="strips-names">
      <div className="lane-name quiet" title={lanes[payload].hint} data-testid="lane-name">
        {lanes[payload].name}
      </div>
      {strips.map((strip) => (
        <div key={strip.id} className="strips-name" data-leader={strip.id === leader}>
          <span className="mono">{strip.id}</span>
          <span
            className="quiet num"
            data-testid={`lag-${strip.id}`}
            title="Slots that are chosen and not applied here"
          >
            {lagText(strip, chosen)}
          </span>
        </div>
      ))}
    </div>
  );
}
