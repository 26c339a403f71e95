/**
 * The whole state behind the page, and its one reducer over what the stream delivers.
 *
 * Does not keep what belongs to a view (selection, filters, text being typed). Pure: times come with the actions.
 */
import type { ClusterStatus, ReplicaStatus } from '../../../server/src/api/status.ts';
import { findLeader } from './cluster-view.ts';
import type { Frame } from './frames.ts';
import { addLoad, emptyLoad, type LoadSeries } from './load-series.ts';
import { addSample, emptyRates, noteLeader } from './rate-series.ts';
import type { RateSeries } from './rate-series.ts';
import { emptyTrace, foldEvents, meetCluster } from './trace-model.ts';
import type { TraceModel } from './trace-model.ts';
import { unreachable } from './unreachable.ts';

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  /** `retryAtMs`: milliseconds since the epoch. */
  | { readonly kind: 'lost'; readonly attempt: number; readonly retryAtMs: number };

export interface DashboardState {
  readonly connection: Connection;
  readonly cluster: ClusterStatus | null;
  /** When `cluster` arrived, in milliseconds since the epoch. */
  readonly clusterAtMs: number;
  /** By replica, the last one that was told, though its process may have ended since. */
  readonly lastStatus: ReadonlyMap<string, ReplicaStatus>;
  readonly trace: TraceModel;
  /** When the newest events arrived, in milliseconds since the epoch. */
  readonly traceAtMs: number;
  readonly rates: RateSeries;
  readonly load: LoadSeries;
}

export type DashboardAction =
  | { readonly kind: 'connection'; readonly connection: Connection }
  | { readonly kind: 'frames'; readonly frames: readonly Frame[]; readonly atMs: number };

export const initialState: DashboardState = {
  connection: { kind: 'connecting' },
  cluster: null,
  clusterAtMs: 0,
  lastStatus: new Map(),
  trace: emptyTrace,
  traceAtMs: 0,
  rates: emptyRates,
  load: emptyLoad,
};

export function reduceDashboard(state: DashboardState, action: DashboardAction): DashboardState {
  switch (action.kind) {
    case 'connection':
      return { ...state, connection: action.connection };
    case 'frames':
      return takeFrames(state, action.frames, action.atMs);
    default:
      return unreachable(action);
  }
}

function takeFrames(state: DashboardState, frames: readonly Frame[], atMs: number): DashboardState {
  const events = frames.flatMap((frame) => (frame.type === 'events' ? frame.events : []));
  const next = frames.reduce((current, frame) => takeFrame(current, frame, atMs), state);
  if (events.length === 0) return next;
  const trace = foldEvents(next.trace, events);
  return trace === next.trace ? next : { ...next, trace, traceAtMs: atMs };
}

/** Now, on the clock of the events: a link that says nothing any more falls idle though no event comes. */
export function eventClockUs({ trace, traceAtMs }: DashboardState, nowMs: number): number {
  return trace.lastAtUs + Math.max(0, nowMs - traceAtMs) * 1000;
}

/** Events are folded apart, all of a flush at once: copying the collections for each frame would be the page's main cost. */
function takeFrame(state: DashboardState, frame: Frame, atMs: number): DashboardState {
  switch (frame.type) {
    case 'cluster': {
      const leader = findLeader(frame.cluster)?.id ?? null;
      return {
        ...state,
        cluster: frame.cluster,
        clusterAtMs: atMs,
        lastStatus: new Map([...state.lastStatus, ...statusesOf(frame.cluster)]),
        trace: meetCluster(state.trace, frame.cluster, state.lastStatus),
        rates: noteLeader(state.rates, leader, atMs),
      };
    }
    case 'rates':
      return { ...state, rates: addSample(state.rates, { at: frame.at, perReplica: frame.perReplica }) };
    case 'load':
      return { ...state, load: addLoad(state.load, frame.load, atMs) };
    case 'events':
      return state;
    default:
      return unreachable(frame);
  }
}

function statusesOf(cluster: ClusterStatus): readonly (readonly [string, ReplicaStatus])[] {
  return cluster.replicas.flatMap(({ id, status }) => (status === null ? [] : [[id, status] as const]));
}
