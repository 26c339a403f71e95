/**
 * Joins a source to the page: gathers its frames for a moment, keeps the run, and says what is to be seen of it, which is the run as of the playhead.
 *
 * Does not draw, and knows no kind of source. Keeps: at most `pendingEventsMax` events wait (the oldest frames of events go first; the gap shows as missed events); listeners are
 * told at most once per `flushMs`, but of what somebody did at once. The connection is always as it is now, whatever moment is looked at.
 */
import { type Connection, type DashboardState, initialState } from '../model/dashboard-state.ts';
import type { Frame } from '../model/frames.ts';
import { type Extent, following, momentOf, passed, type Playhead, play, standAt } from './playhead.ts';
import { RunRecord } from './run-record.ts';
import type { RunSource } from './source.ts';

const flushMs = 100;
const pendingEventsMax = 20_000;

/** What the page shows. */
export interface RunView {
  /** As of the moment that is looked at. */
  readonly state: DashboardState;
  readonly playhead: Playhead;
  /** What can be looked at; null: nothing was told yet. */
  readonly extent: Extent | null;
}

export interface RunStore {
  readonly source: RunSource;
  /** Another one from when the run has begun anew. It grows: whoever draws reads it each time. */
  readonly record: () => RunRecord;
  readonly get: () => RunView;
  readonly subscribe: (listener: () => void) => () => void;
  /** The moment looked at, on the run's clock, at this very time: for what moves between two flushes. */
  readonly momentMs: () => number;
  readonly follow: () => void;
  readonly standAt: (ms: number) => void;
  /** From where it is looked at. */
  readonly play: (speed: number) => void;
  /** Stands at the next moment that something was told, or at the one before. */
  readonly step: (direction: 1 | -1) => void;
  readonly retryNow: () => void;
  /** Nothing comes of the source any more. */
  readonly close: () => void;
}

interface Pending {
  readonly atMs: number;
  readonly frame: Frame;
}

export function openRun(source: RunSource): RunStore {
  const listeners = new Set<() => void>();
  let record = new RunRecord();
  let connection: Connection = initialState.connection;
  let playhead: Playhead = following;
  /** When `playhead` was so, on the wall's clock. */
  let sinceMs = 0;
  let pending: Pending[] = [];
  let pendingEvents = 0;
  let flushing: ReturnType<typeof setTimeout> | undefined;
  let playing: ReturnType<typeof setInterval> | undefined;
  let view: RunView = { state: initialState, playhead, extent: null };

  const extentOf = (): Extent | null => {
    const { firstMs, lastMs } = record.history;
    return firstMs === null ? null : { firstMs, lastMs: lastMs! };
  };
  const goOn = (): void => {
    const extent = extentOf();
    const nowMs = performance.now();
    if (extent !== null) playhead = passed(playhead, nowMs - sinceMs, extent);
    sinceMs = nowMs;
  };
  const tell = (): void => {
    goOn();
    const extent = extentOf();
    const seen =
      extent === null || playhead.mode === 'following'
        ? record.history.newest
        : record.history.stateAt(momentOf(playhead, extent));
    view = { state: seen.connection === connection ? seen : { ...seen, connection }, playhead, extent };
    if (playhead.mode !== 'playing') {
      clearInterval(playing);
      playing = undefined;
    } else playing ??= setInterval(tell, flushMs);
    for (const listener of listeners) listener();
  };
  const keep = (): void => {
    const last = pending.at(-1);
    const frames = pending.map(({ frame }) => frame);
    pending = [];
    pendingEvents = 0;
    if (last !== undefined) record.add(last.atMs, frames);
  };
  const flush = (): void => {
    clearTimeout(flushing);
    flushing = undefined;
    keep();
    tell();
  };
  const makeRoom = (): void => {
    while (pendingEvents > pendingEventsMax) {
      const oldest = pending.findIndex(({ frame }) => frame.type === 'events');
      const [dropped] = pending.splice(oldest, 1);
      pendingEvents -= dropped?.frame.type === 'events' ? dropped.frame.events.length : 0;
    }
  };
  const take = (frame: Frame, atMs: number): void => {
    // A run that passes faster than the wall's clock is kept as finely.
    const [first] = pending;
    if (first !== undefined && atMs - first.atMs >= flushMs) keep();
    // Of statuses only the last one counts.
    if (frame.type === 'cluster') pending = pending.filter((other) => other.frame.type !== 'cluster');
    pending.push({ atMs, frame });
    if (frame.type === 'events') pendingEvents += frame.events.length;
    makeRoom();
    flushing ??= setTimeout(flush, flushMs);
  };
  const look = (choose: (at: Playhead, extent: Extent) => Playhead): void => {
    goOn();
    const extent = extentOf();
    if (extent === null) return;
    playhead = choose(playhead, extent);
    tell();
  };

  const unsubscribe = source.subscribe({
    onFrames: (frames, atMs) => frames.forEach((frame) => take(frame, atMs)),
    onConnection(next) {
      connection = next;
      tell();
    },
    onBegun() {
      record = new RunRecord();
      pending = [];
      pendingEvents = 0;
      playhead = following;
      tell();
    },
  });
  return {
    source,
    record: () => record,
    get: () => view,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    momentMs() {
      goOn();
      const extent = extentOf();
      return extent === null || playhead.mode === 'following' ? source.nowMs() : momentOf(playhead, extent);
    },
    follow: () => look(() => following),
    standAt: (ms) => look((_, extent) => standAt(ms, extent)),
    play: (speed) => look((at, extent) => play(at, speed, extent)),
    step: (direction) =>
      look((at, extent) => {
        const atMs = momentOf(at, extent);
        const { history } = record;
        return standAt((direction === 1 ? history.next(atMs) : history.before(atMs)) ?? atMs, extent);
      }),
    retryNow: () => source.retryNow(),
    close() {
      unsubscribe();
      clearTimeout(flushing);
      clearInterval(playing);
    },
  };
}
