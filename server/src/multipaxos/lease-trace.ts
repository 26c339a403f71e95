/**
 * Trace events of the lease: who has given its word to whom, what a leader's lease rests on.
 *
 * Responsible for: building them. Changes nothing but what it remembers to have told, and costs a comparison when nobody listens.
 */
import type { Run } from './run.ts';
import type { Leadership, PeerProgress, State } from './state.ts';
import type { Accept, Accepted, Heartbeat, HeartbeatAck } from './types/messages.ts';
import type { CoreLeaseEvent, TracedGrant, TracedLease } from './types/lease-trace.ts';
import type { Ballot, StepDownReason } from './types/names.ts';

/** Of each so many in a lease a renewal is told: what is answered tells the lease anyway. */
const renewalsToldPerLease = 20;

type Told = CoreLeaseEvent extends infer E ? (E extends CoreLeaseEvent ? Omit<E, 'clockMs'> : never) : never;

function tell({ state, effects }: Run, event: Told, clockMs = state.nowMs): void {
  effects.push({ kind: 'traceLease', event: { ...event, clockMs } as CoreLeaseEvent });
}

/** The lease of whoever leads; null: it does not. */
export function tracedLease({ leadership, configuration }: State): TracedLease | null {
  if (leadership === null) return null;
  const { ballot, peers, leaseUntilMs } = leadership;
  return {
    ballot,
    untilMs: Number.isFinite(leaseUntilMs) ? leaseUntilMs : leaseUntilMs > 0 ? 'always' : 'never',
    configuration: configuration.version,
    acked: peers.flatMap(({ id, ackedSentAtMs }) =>
      Number.isFinite(ackedSentAtMs) ? [[id, ackedSentAtMs] as const] : [],
    ),
  };
}

function tracedGrant({ leaseGrantedUntilMs, leaseGrantedTo }: State): TracedGrant {
  return { untilMs: leaseGrantedUntilMs, to: leaseGrantedTo };
}

/** With the clock of when its life began, and it began to wait. */
export function traceLeaseRestart(run: Run): void {
  const { config, durablePromised, startedAtMs } = run.state;
  const { leaseMs, clockDriftMax } = config;
  tell(
    run,
    { name: 'Restart', leaseMs, clockDriftMax, promised: durablePromised, grant: tracedGrant(run.state) },
    startedAtMs,
  );
}

export function traceGrant(run: Run, { ballot, sentAtMs }: Accept | Heartbeat): void {
  if (run.state.trace !== 'all') return;
  tell(run, { name: 'HandleHeartbeat', ballot, sentAtMs, grant: tracedGrant(run.state) });
}

/** After the word has ended. */
export function traceResigned(run: Run, ballot: Ballot): void {
  if (run.state.trace === 'none') return;
  tell(run, { name: 'HandleResigned', ballot, grant: tracedGrant(run.state) });
}

/** A peer's acknowledgement has come; `before`: the newest that it had acknowledged until then. */
export function traceRenewal(
  run: Run,
  leadership: Leadership,
  { peer, before }: { readonly peer: PeerProgress; readonly before: number },
  { ballot, sentAtMs }: Accepted | HeartbeatAck,
): void {
  const { state } = run;
  if (state.trace !== 'all' || peer.ackedSentAtMs === before) return;
  const isFirst = before === Number.NEGATIVE_INFINITY;
  if (!isFirst && state.nowMs < leadership.renewalToldAtMs + state.config.leaseMs / renewalsToldPerLease)
    return;
  leadership.renewalToldAtMs = state.nowMs;
  tell(run, { name: 'HandleHeartbeatAck', from: peer.id, ballot, sentAtMs, lease: tracedLease(state)! });
}

/** Before anything is changed for it. */
export function tracePromise(run: Run, ballot: Ballot): void {
  if (run.state.trace === 'none') return;
  tell(run, { name: 'GivePromise', ballot, grant: tracedGrant(run.state), lease: tracedLease(run.state) });
}

export function traceLeaseOf(run: Run, name: 'Lead' | 'Learn'): void {
  if (run.state.trace === 'none') return;
  tell(run, { name, lease: tracedLease(run.state)! });
}

/** Before it is done. */
export function traceResignation(run: Run, reason: StepDownReason): void {
  const { trace, leadership } = run.state;
  if (trace === 'none' || leadership === null) return;
  tell(run, { name: 'Resign', ballot: leadership.ballot, reason });
}
