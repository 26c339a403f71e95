/**
 * One replica's strip. A state has a shape as well as a colour: ring accepted, diamond chosen, square applied; and where columns are too
 * narrow for shapes, a height: low, middle, full.
 */
import { Term } from '../components/term.tsx';
import type { StripWindow } from '../layout/strip-window.ts';
import type { CellKind } from '../model/replica-log.ts';
import type { Strip } from '../model/strips.ts';
import { unreachable } from '../model/unreachable.ts';

/** Widths of a slot's column. */
export const widePitch = 16;
export const narrowPitch = 6;
const height = 28;

interface StripRowProps {
  readonly strip: Strip;
  readonly window: StripWindow;
  readonly lastSlot: number;
  readonly pitch: number;
}

export function StripRow({ strip, window, lastSlot, pitch }: StripRowProps) {
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
        const { kind } = strip.cellAt(slot);
        const x = column * pitch;
        return pitch < widePitch ? (
          <CellBar key={slot} kind={kind} x={x} />
        ) : (
          <CellMark key={slot} kind={kind} x={x} />
        );
      })}
    </svg>
  );
}

function CellMark({ kind, x }: { readonly kind: CellKind; readonly x: number }) {
  const center = { x: x + widePitch / 2, y: height / 2 };
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

const barHeights: Readonly<Record<CellKind, number>> = { empty: 2, accepted: 6, chosen: 12, applied: 20 };

function CellBar({ kind, x }: { readonly kind: CellKind; readonly x: number }) {
  const barHeight = barHeights[kind];
  return (
    <rect
      className="cell-bar"
      data-kind={kind}
      x={x + 1}
      y={(height - barHeight) / 2}
      width={narrowPitch - 2}
      height={barHeight}
      rx="1"
    />
  );
}

const legend: readonly CellKind[] = ['accepted', 'chosen', 'applied'];

export function CellIcon({ kind }: { readonly kind: CellKind }) {
  return (
    <svg
      className="cell-icon"
      width={widePitch}
      height={widePitch}
      viewBox={`0 ${(height - widePitch) / 2} ${widePitch} ${widePitch}`}
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
          <Term word={kind}>{kind}</Term>
        </li>
      ))}
    </ul>
  );
}
