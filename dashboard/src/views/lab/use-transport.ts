/** Time in the hands of who looks on: of the view alone, or of the whole world where that can be held. */
import { useState, useSyncExternalStore } from 'react';
import type { Keys } from '../../components/use-keys.ts';
import { useSelected } from '../../components/run.tsx';
import type { Playhead } from '../../run/playhead.ts';
import type { RunStore } from '../../run/run-store.ts';

export interface Transport {
  readonly playhead: Playhead['mode'];
  readonly isMoving: boolean;
  readonly speed: number;
  readonly spanMs: number;
  readonly toggle: () => void;
  readonly step: (direction: 1 | -1) => void;
  readonly jump: (ms: number) => void;
  readonly toStart: () => void;
  readonly setSpeed: (speed: number) => void;
  readonly setSpan: (ms: number) => void;
  /** Makes the world go on from the moment looked at; null: it cannot, or that is now. */
  readonly fork: (() => void) | null;
}

/** What the keyboard does to time. */
export function timeKeys(store: RunStore, transport: Transport): Keys {
  return {
    ' ': transport.toggle,
    ArrowLeft: () => transport.step(-1),
    ArrowRight: () => transport.step(1),
    'Shift+ArrowLeft': () => transport.jump(-1_000),
    'Shift+ArrowRight': () => transport.jump(1_000),
    Home: transport.toStart,
    End: store.follow,
  };
}

const nothing = (): (() => void) => () => undefined;

export function useTransport(store: RunStore): Transport {
  const { world } = store.source;
  const playhead = useSelected(store, (view) => view.playhead.mode);
  const [speed, setSpeed] = useState(1);
  const [spanMs, setSpan] = useState(60_000);
  const pace = useSyncExternalStore(world === null ? nothing : (tell) => world.subscribe(tell), () =>
    world === null ? 'running' : world.pace().mode,
  );
  const isWorldMoving = pace === 'running';
  const isMoving = playhead === 'playing' || (playhead === 'following' && isWorldMoving);
  return {
    playhead,
    isMoving,
    speed,
    spanMs,
    setSpan,
    toggle() {
      if (playhead === 'standing') store.play(speed);
      else if (playhead === 'playing') store.standAt(store.momentMs());
      else if (world === null) store.standAt(store.momentMs());
      else if (isWorldMoving) world.pause();
      else world.run(speed);
    },
    step(direction) {
      if (playhead === 'following' && world !== null && direction === 1) void world.step();
      else store.step(direction);
    },
    jump: (ms) => store.standAt(store.momentMs() + ms),
    toStart: () => store.standAt(Number.NEGATIVE_INFINITY),
    setSpeed(next) {
      setSpeed(next);
      if (playhead === 'playing') store.play(next);
      else if (playhead === 'following' && world !== null && isWorldMoving) world.run(next);
    },
    fork:
      world === null || playhead === 'following'
        ? null
        : () => void world.fork(store.momentMs()).then(store.follow),
  };
}
