/** One replica's strip. A state has a shape as well as a colour: ring accepted, diamond chosen, square applied. */
import type { StripWindow } from '../layout/strip-window.ts';
import type { CellKind } from '../model/replica-log.ts';
import type { Strip } from '../model/strips.ts';
import { unreachable } from '../model/unreachable.ts';

/** Width of a slot's column, and height of a strip. */
export const pitch = 16;
const height = 28;
const middle = { x: pitch / 2, y: height / 2 };

interface StripRowProps {
  readonly strip: Strip;
  readonly window: StripWindow;
  readonly lastSlot: number;
}

export function StripRow({ strip, window, lastSlot }: StripRowProps) {
  const count = Math.max(0, Math.min(window.columns, lastSlot - window.from + 1));
  return (
    <svg
      className="strip"
      width="100%"
      height={height}
      aria-hidden="true"
      data-stopped={strip.stopped}
      data-testid={`strip-${strip.id}`}
    >
      {Array.from({ length: count }, (_, column) => {
        const slot = window.from + column;
        return <CellMark key={slot} kind={strip.cellAt(slot).kind} x={column * pitch} />;
      })}
    </svg>
  );
}

function CellMark({ kind, x }: { readonly kind: CellKind; readonly x: number }) {
  const center = { x: x + middle.x, y: middle.y };
  switch (kind) {
    case 'empty':
      return <circle className="cell-empty" cx={center.x} cy={center.y} r="1.5" />;
    case 'accepted':
      return <circle className="cell-accepted" cx={center.x} cy={center.y} r="4" />;
    case 'chosen':
      return <path className="cell-chosen" d={`M${center.x} ${center.y - 6}l6 6-6 6-6-6z`} />;
    case 'applied':
      return (
        <rect className="cell-applied" x={center.x - 6} y={center.y - 6} width="12" height="12" rx="2.5" />
      );
    default:
      return unreachable(kind);
  }
}

const legend: readonly CellKind[] = ['accepted', 'chosen', 'applied'];

export function CellIcon({ kind }: { readonly kind: CellKind }) {
  return (
    <svg
      className="cell-icon"
      width={pitch}
      height={pitch}
      viewBox={`0 ${middle.y - pitch / 2} ${pitch} ${pitch}`}
      aria-hidden="true"
    >
      <CellMark kind={kind} x={0} />
    </svg>
  );
}

export function StripLegend() {
  return (
    <ul className="strips-legend" aria-label="Legend">
      {legend.map((kind) => (
        <li key={kind}>
          <CellIcon kind={kind} />
          {kind}
        </li>
      ))}
    </ul>
  );
}
