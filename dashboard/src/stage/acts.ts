/**
 * What people do to a group, each with what takes it back. Pure reading of one `ClusterStatus`: what an act is undone to is what was before it.
 *
 * Some cannot be taken back: a lost disk stays lost, and a PostgreSQL that was killed comes back by itself.
 */
import type { ClusterStatus, FaultRequest, LinkFault } from '../../../server/src/api/status.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { faultsByLink } from '../model/cluster-view.ts';
import { mirrored } from '../model/link-fault.ts';
import { linkKey } from '../model/trace-model.ts';
import { unreachable } from '../model/unreachable.ts';

/** Null: it cannot be taken back. Asked before the act. */
export function undoOf(request: FaultRequest, cluster: ClusterStatus): readonly FaultRequest[] | null {
  const faults = faultsByLink(cluster);
  switch (request.action) {
    case 'crash':
      return [{ action: 'restart', replica: request.replica }];
    case 'pause':
      return [{ action: 'resume', replica: request.replica }];
    case 'resume':
      return [{ action: 'pause', replica: request.replica }];
    case 'restart': {
      const isStopped = cluster.replicas.find(({ id }) => id === request.replica)?.process === 'stopped';
      return isStopped ? [{ action: 'crash', replica: request.replica }] : null;
    }
    case 'wipe':
    case 'killPostgres':
      return null;
    case 'isolate':
      return cluster.replicas
        .filter(({ id }) => id !== request.replica)
        .flatMap(({ id }) => [uncut(request.replica, id, faults), uncut(id, request.replica, faults)].flat());
    case 'heal':
      return [...faults.values()].flatMap((fault) =>
        mirrored(fault, null, { from: fault.from, to: fault.to }),
      );
    case 'cut':
    case 'delay':
    case 'drop':
    case 'duplicate': {
      const { from, to } = request;
      const before = faults.get(linkKey(from, to)) ?? null;
      return mirrored(before, withRequest(before, request), { from, to });
    }
    default:
      return unreachable(request);
  }
}

/** All links, and every replica that is down or frozen. */
export function wholeRequests(cluster: ClusterStatus): readonly FaultRequest[] {
  return [
    ...(faultsByLink(cluster).size > 0 ? [{ action: 'heal' } as const] : []),
    ...cluster.replicas.flatMap(({ id, process }): readonly FaultRequest[] => {
      if (process === 'running') return [];
      return [{ action: process === 'stopped' ? 'restart' : 'resume', replica: id }];
    }),
  ];
}

function uncut(
  from: ReplicaId,
  to: ReplicaId,
  faults: ReadonlyMap<string, LinkFault>,
): readonly FaultRequest[] {
  return faults.get(linkKey(from, to))?.cut === true ? [] : [{ action: 'cut', from, to, amount: 0 }];
}

function withRequest(
  before: LinkFault | null,
  request: Extract<FaultRequest, { readonly from: unknown }>,
): LinkFault {
  const { action, from, to } = request;
  const amount = request.amount ?? 1;
  const whole = { from, to, cut: false, delayMs: 0, drop: 0, duplicate: 0, ...before };
  if (action === 'cut') return { ...whole, cut: amount > 0 };
  return { ...whole, [action === 'delay' ? 'delayMs' : action]: amount };
}
