/** What the shapes of messages mean. Their colour is their ballot. */
import { useMemo } from 'react';
import type { ProtocolStatus } from '../../../../server/src/api/status.ts';
import type { Payload } from '../../model/protocol-view.ts';
import { useCanvas } from '../../stage/use-canvas.ts';
import { drawKind } from '../../stage/draw-dots.ts';
import { readPalette } from '../../stage/palette.ts';
import type { FlightKind } from '../../run/flown-message.ts';

type KindNames = Readonly<Partial<Record<FlightKind, string>>>;

const namesByProtocol: Readonly<Record<ProtocolStatus['name'], KindNames>> = {
  'multi-paxos': {
    prepare: 'Prepare',
    promise: 'Promise',
    accept: 'Accept, with WAL',
    accepted: 'Accepted',
    heartbeat: 'Heartbeat',
    acknowledgement: 'Heard',
    catchUp: 'Catching up',
    reject: 'Refused',
  },
  paxos: {
    prepare: 'Prepare a slot',
    promise: 'Promise',
    accept: 'Accept, with a statement',
    accepted: 'Accepted',
    heartbeat: 'Learn, or how far it is',
    catchUp: 'Catching up',
    reject: 'Refused',
  },
  primary: {
    prepare: 'Asks for its word',
    promise: 'Word',
    accept: 'Operations',
    accepted: 'Received',
    heartbeat: 'Sign of life, or answered',
    reject: 'Refused',
  },
};

function namesOf({ protocol, payload }: Spoken): KindNames {
  const names = namesByProtocol[protocol];
  return protocol === 'multi-paxos' && payload === 'statements'
    ? { ...names, accept: 'Accept, with statements' }
    : names;
}

/** What replicas speak, and what of. */
export interface Spoken {
  readonly protocol: ProtocolStatus['name'];
  readonly payload: Payload;
}

interface MessageLegendProps {
  readonly themeKey: string;
  readonly spoken: Spoken;
}

export function MessageLegend({ themeKey, spoken }: MessageLegendProps) {
  const names = namesOf(spoken);
  const kinds = Object.entries(names) as readonly (readonly [FlightKind, string])[];
  return (
    <ul className="lab-legend" aria-label="Kinds of messages; their colour is the ballot">
      {kinds.map(([kind, name]) => (
        <li key={kind}>
          <Shape kind={kind} themeKey={themeKey} />
          {name}
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
