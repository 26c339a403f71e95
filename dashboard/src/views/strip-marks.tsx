/** What lies over the strips: the column under the pointer with a note of its entry, and the columns that were picked. */
import { formatCount } from '../model/format.ts';
import type { StripWindow } from '../layout/strip-window.ts';
import { describeEntry } from '../model/entry-notes.ts';
import type { SlotRange } from '../model/event-text.ts';
import { labelAt } from '../model/strips.ts';
import type { Strip } from '../model/strips.ts';
import type { TraceModel } from '../model/trace-model.ts';

interface MarksProps {
  readonly pitch: number;
  readonly window: StripWindow;
  readonly selected: SlotRange | null;
  readonly hovered: number | null;
}

export function Marks({ pitch, window, selected, hovered }: MarksProps) {
  const from = selected === null ? 0 : Math.max(selected.from, window.from);
  const to = selected === null ? -1 : Math.min(selected.to, window.from + window.columns - 1);
  return (
    <>
      {hovered === null ? null : (
        <div className="strips-hover" style={{ left: (hovered - window.from) * pitch, width: pitch }} />
      )}
      {from > to ? null : (
        <div
          className="strips-selected"
          data-testid="selected-slot"
          style={{ left: (from - window.from) * pitch, width: (to - from + 1) * pitch }}
        />
      )}
    </>
  );
}

interface HoverNoteProps {
  readonly slot: number;
  readonly x: number;
  readonly width: number;
  readonly strips: readonly Strip[];
  readonly trace: TraceModel;
}

const noteWidth = 320;

export function HoverNote({ slot, x, width, strips, trace }: HoverNoteProps) {
  const label = labelAt(strips, slot);
  return (
    <div
      className="strips-note"
      style={{ left: Math.max(0, Math.min(x - 24, width - noteWidth)), width: Math.min(noteWidth, width) }}
    >
      <div>
        <strong className="num">Slot {formatCount(slot)}</strong>{' '}
        <span className="mono quiet">{label ?? ''}</span>
      </div>
      {label === null ? null : (
        <div className="strips-note-text num">{describeEntry(label, trace.notes.get(label))}</div>
      )}
    </div>
  );
}
