/** What the shapes of messages mean. Their colour is their ballot. */
import { useMemo } from 'react';
import { useCanvas } from '../../stage/use-canvas.ts';
import { drawKind } from '../../stage/draw-dots.ts';
import { readPalette } from '../../stage/palette.ts';
import type { FlightKind } from '../../run/flights.ts';

export const kindNames: Readonly<Record<FlightKind, string>> = {
  prepare: 'Prepare',
  promise: 'Promise',
  accept: 'Accept, with WAL',
  accepted: 'Accepted',
  heartbeat: 'Heartbeat',
  acknowledgement: 'Heard',
  catchUp: 'Catching up',
  reject: 'Refused',
};

const kinds = Object.keys(kindNames) as readonly FlightKind[];

export function MessageLegend({ themeKey }: { readonly themeKey: string }) {
  return (
    <ul className="lab-legend" aria-label="Kinds of messages; their colour is the ballot">
      {kinds.map((kind) => (
        <li key={kind}>
          <Shape kind={kind} themeKey={themeKey} />
          {kindNames[kind]}
        </li>
      ))}
    </ul>
  );
}

function Shape({ kind, themeKey }: { readonly kind: FlightKind; readonly themeKey: string }) {
  const palette = useMemo(() => (themeKey === '' ? readPalette() : readPalette()), [themeKey]);
  const canvas = useCanvas((brush, { width, height }) => {
    brush.clearRect(0, 0, width, height);
    brush.save();
    brush.translate(width / 2, height / 2);
    const radius = kind === 'heartbeat' || kind === 'acknowledgement' ? 2.6 : 4;
    drawKind(brush, kind, { radius, color: palette.colors['text-2'], ground: palette.colors.bg });
    brush.restore();
  }, 1_000);
  return <canvas ref={canvas} className="lab-legend-shape" aria-hidden="true" />;
}
