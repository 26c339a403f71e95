/** The buttons of time: back, play or pause, forward, how fast, how much of it is in view, and which picture is drawn of it. */
import type { ReactNode } from 'react';
import { Button } from '../../components/button.tsx';
import { useRun } from '../../components/run.tsx';
import { Segmented } from '../../components/segmented.tsx';
import type { Scenery } from './lab-view.tsx';
import type { Transport as TransportState } from './use-transport.ts';

const speeds = [0.1, 0.25, 0.5, 1, 2, 4].map((value) => ({
  value,
  label: `${value}×`,
  testId: `speed-${value}`,
}));
const spans = [
  { value: 10_000, label: '10 s' },
  { value: 60_000, label: '1 min' },
  { value: 600_000, label: '10 min' },
] as const;
const sceneries = [
  { value: 'stage', label: 'Stage', testId: 'scenery-stage' },
  { value: 'space-time', label: 'Space-time', testId: 'scenery-space-time' },
] as const;

interface TransportProps {
  readonly transport: TransportState;
  /** Missing: there is one picture only. */
  readonly picture?: { readonly scenery: Scenery; readonly onScenery: (scenery: Scenery) => void };
  /** Stands in the middle. */
  readonly children?: ReactNode;
}

export function Transport({ transport, picture, children }: TransportProps) {
  const store = useRun();
  const { isMoving, fork } = transport;
  const holds = store.source.world === null ? 'the view' : 'the world';
  return (
    <div className="transport">
      <Button
        icon="stepBack"
        aria-label="Step back"
        data-testid="step-back"
        onClick={() => transport.step(-1)}
      />
      <Button
        icon={isMoving ? 'pause' : 'play'}
        tone={isMoving ? 'normal' : 'primary'}
        aria-label={isMoving ? `Pause ${holds}` : 'Play'}
        data-testid="play-pause"
        onClick={transport.toggle}
      />
      <Button
        icon="stepForward"
        aria-label="Step forward"
        data-testid="step-forward"
        onClick={() => transport.step(1)}
      />
      <Segmented label="Speed" choices={speeds} value={transport.speed} onChange={transport.setSpeed} />
      {fork === null ? null : (
        <Button icon="play" data-testid="fork" onClick={fork}>
          Go on from here
        </Button>
      )}
      <span className="transport-rest" />
      {children}
      <span className="transport-rest" />
      <Segmented label="Time in view" choices={spans} value={transport.spanMs} onChange={transport.setSpan} />
      {picture === undefined ? null : (
        <Segmented label="Picture" choices={sceneries} value={picture.scenery} onChange={picture.onScenery} />
      )}
    </div>
  );
}
