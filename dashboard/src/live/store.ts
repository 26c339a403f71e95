/**
 * Joins the stream to the page: gathers frames for a moment, reduces them together, and tells React.
 *
 * Keeps: at most `pendingEventsMax` events wait (the oldest frames of events go first; the gap shows as missed events), and React is
 * told at most once per `flushMs`.
 */
import { initialState, reduceDashboard } from '../model/dashboard-state.ts';
import type { DashboardAction, DashboardState } from '../model/dashboard-state.ts';
import type { Frame } from '../model/frames.ts';
import { openStream } from './stream-client.ts';

const flushMs = 100;
const pendingEventsMax = 20_000;

export interface DashboardStore {
  readonly get: () => DashboardState;
  readonly subscribe: (listener: () => void) => () => void;
  readonly retryNow: () => void;
}

export function openStore(url: string): DashboardStore {
  const listeners = new Set<() => void>();
  let state = initialState;
  let pending: Frame[] = [];
  let pendingEvents = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const dispatch = (action: DashboardAction): void => {
    state = reduceDashboard(state, action);
    for (const listener of listeners) listener();
  };
  const flush = (): void => {
    timer = undefined;
    const frames = pending;
    pending = [];
    pendingEvents = 0;
    dispatch({ kind: 'frames', frames, atMs: Date.now() });
  };
  const makeRoom = (): void => {
    while (pendingEvents > pendingEventsMax) {
      const oldest = pending.findIndex((frame) => frame.type === 'events');
      const [dropped] = pending.splice(oldest, 1);
      pendingEvents -= dropped?.type === 'events' ? dropped.events.length : 0;
    }
  };
  const take = (frame: Frame): void => {
    // Of statuses only the last one counts.
    if (frame.type === 'cluster') pending = pending.filter((other) => other.type !== 'cluster');
    pending.push(frame);
    if (frame.type === 'events') pendingEvents += frame.events.length;
    makeRoom();
    timer ??= setTimeout(flush, flushMs);
  };

  const client = openStream(url, {
    onFrame: take,
    onConnection: (connection) => dispatch({ kind: 'connection', connection }),
  });
  return {
    get: () => state,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    retryNow: client.retryNow,
  };
}
