/**
 * What the slots hold, above the strips: a bar for a range of WAL, the taller the larger; a flag where a leadership begins, with its timeline; of operations a bar for a request, brackets where a transaction begins and ends, open where it is rolled back; dots for what holds nothing for a database.
 *
 * Not a state, so without the hues of states.
 */
import type { OperationWord } from '../../../server/src/api/wal-summary.ts';
import type { StripWindow } from '../layout/strip-window.ts';
import { walBarHeight } from '../layout/wal-bar.ts';
import type { EntryNote, EntryNotes } from '../model/entry-notes.ts';
import { unreachable } from '../model/unreachable.ts';
import { labelAt } from '../model/strips.ts';
import type { Strip } from '../model/strips.ts';
import { widePitch } from './strip-row.tsx';

export const laneHeight = 26;
const barMax = 20;
const barMin = 3;

interface SlotLaneProps {
  readonly strips: readonly Strip[];
  readonly notes: EntryNotes;
  readonly window: StripWindow;
  readonly lastSlot: number;
  readonly pitch: number;
}

export function SlotLane({ strips, notes, window, lastSlot, pitch }: SlotLaneProps) {
  const count = Math.max(0, Math.min(window.columns, lastSlot - window.from + 1));
  return (
    <svg className="lane" width="100%" height={laneHeight} aria-hidden="true" data-testid="slot-lane">
      {Array.from({ length: count }, (_, column) => {
        const slot = window.from + column;
        const label = labelAt(strips, slot);
        const note = label === null ? undefined : notes.get(label);
        return <LaneMark key={slot} label={label} note={note} x={column * pitch} pitch={pitch} />;
      })}
    </svg>
  );
}

interface LaneMarkProps {
  /** Null: nothing was seen of the slot. */
  readonly label: string | null;
  readonly note: EntryNote | undefined;
  readonly x: number;
  readonly pitch: number;
}

function LaneMark({ label, note, x, pitch }: LaneMarkProps) {
  const baseline = laneHeight - 2;
  const center = x + pitch / 2;
  if (note?.kind === 'range') {
    const height = walBarHeight(note.end - note.start, barMin, barMax);
    const width = pitch < widePitch ? pitch - 2 : 8;
    return (
      <rect
        className={note.why === null ? 'lane-range' : 'lane-nobodys'}
        x={center - width / 2}
        y={baseline - height}
        width={width}
        height={height}
        rx="1"
      />
    );
  }
  if (note?.kind === 'leadership')
    return <Flag timeline={note.timeline} x={x} pitch={pitch} isIdle={note.why !== null} />;
  if (note?.kind === 'operation') {
    const shape = operationShape(note.what, center, baseline);
    if (shape !== null) return <path className="lane-operation" data-what={note.what} d={shape} />;
  }
  if (label === null) return null;
  return <circle className="lane-dot" cx={center} cy={baseline - 2} r="1.5" />;
}

const tall = 14;
const arm = 4;

/** Null: it changes nothing in a database by itself. */
function operationShape(what: OperationWord, center: number, baseline: number): string | null {
  const top = baseline - tall;
  switch (what) {
    case 'execute':
      return `M${center} ${baseline}V${baseline - 9}`;
    case 'begin':
      return `M${center + arm - 1} ${top}H${center - 1}V${baseline}H${center + arm - 1}`;
    case 'commit':
      return `M${center - arm + 1} ${top}H${center + 1}V${baseline}H${center - arm + 1}`;
    case 'rollback':
    case 'cancelOpen':
      return `M${center - arm + 1} ${top}H${center + 1}V${baseline}`;
    case 'open':
    case 'close':
    case 'closeAll':
    case 'pause':
    case 'resume':
    case 'hold':
    case 'goOn':
    case 'adopt':
      return null;
    default:
      return unreachable(what);
  }
}

interface FlagProps {
  readonly timeline: number;
  readonly x: number;
  readonly pitch: number;
  readonly isIdle: boolean;
}

/** A pole at the slot; the number flies to its right where there is room. */
function Flag({ timeline, x, pitch, isIdle }: FlagProps) {
  const text = `t${timeline}`;
  const width = 8 + 6 * text.length;
  const pole = x + pitch / 2;
  return (
    <g className="lane-flag" data-idle={isIdle}>
      <path d={`M${pole} 2V${laneHeight - 2}`} />
      <rect x={pole} y="2" width={width} height="13" rx="2" />
      <text x={pole + width / 2} y="12" textAnchor="middle">
        {text}
      </text>
    </g>
  );
}
