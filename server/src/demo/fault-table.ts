/**
 * The faults that people have set on the links of a demo: the table that every replica is made to agree with.
 *
 * Pure bookkeeping; the supervisor carries it to the replicas, again when one was started anew and has forgotten its faults.
 */
import { z } from 'zod';
import type { FaultRequest, LinkFault } from '../api/status.ts';
import { faultProblem, healthyLink, isHealthy } from '../adapters/ws-transport/link-faults.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';

type LinkRequest = Extract<FaultRequest, { readonly from: ReplicaId }>;

const replica = z
  .string()
  .max(64)
  .transform((id) => id as ReplicaId);
const amount = z.number().optional();
export const faultRequestSchema = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.enum(['crash', 'pause', 'resume', 'restart', 'killPostgres', 'isolate']),
    replica,
  }),
  z.strictObject({ action: z.literal('wipe'), replica, what: z.enum(['log', 'database', 'both']) }),
  z.strictObject({
    action: z.enum(['cut', 'delay', 'drop', 'duplicate']),
    from: replica,
    to: replica,
    amount,
  }),
  z.strictObject({ action: z.literal('heal') }),
]);

export const defaultDelayMs = 200;
export const defaultProbability = 0.2;

export interface FaultTable {
  /** Faults on the links that leave `from`, sorted. */
  of(from: ReplicaId): readonly LinkFault[];
  /** Adds to what the link has. `amount` 0 takes this fault off. Returns why it cannot be, or null. */
  set(request: LinkRequest): string | null;
  /** Cuts every link to and from the replica. */
  isolate(id: ReplicaId): void;
  heal(): void;
}

export function createFaultTable(members: readonly ReplicaId[]): FaultTable {
  const links = new Map<string, LinkFault>();
  const key = (from: ReplicaId, to: ReplicaId): string => `${from}>${to}`;
  const get = (from: ReplicaId, to: ReplicaId): LinkFault =>
    links.get(key(from, to)) ?? healthyLink(from, to);
  const put = (fault: LinkFault): void => {
    if (isHealthy(fault)) links.delete(key(fault.from, fault.to));
    else links.set(key(fault.from, fault.to), fault);
  };

  return {
    of: (from) =>
      [...links.values()].filter((fault) => fault.from === from).sort((a, b) => (a.to < b.to ? -1 : 1)),
    set(request) {
      const { from, to } = request;
      for (const id of [from, to]) if (!members.includes(id)) return `there is no replica ${id}`;
      if (from === to) return 'a link joins two different replicas';
      const fault = change(get(from, to), request);
      const problem = faultProblem(fault);
      if (problem === null) put(fault);
      return problem;
    },
    isolate(id) {
      for (const other of members) {
        if (other === id) continue;
        put({ ...get(id, other), cut: true });
        put({ ...get(other, id), cut: true });
      }
    },
    heal: () => links.clear(),
  };
}

function change(fault: LinkFault, { action, amount }: LinkRequest): LinkFault {
  switch (action) {
    case 'cut':
      return { ...fault, cut: amount !== 0 };
    case 'delay':
      return { ...fault, delayMs: amount ?? defaultDelayMs };
    case 'drop':
      return { ...fault, drop: amount ?? defaultProbability };
    case 'duplicate':
      return { ...fault, duplicate: amount ?? defaultProbability };
    default:
      return action satisfies never;
  }
}

/** True if a replica reports exactly these faults. */
export function sameFaults(reported: readonly LinkFault[], wanted: readonly LinkFault[]): boolean {
  const text = (faults: readonly LinkFault[]): string =>
    JSON.stringify(
      faults
        .map(({ from, to, cut, delayMs, drop, duplicate }) =>
          [from, to, cut, delayMs, drop, duplicate].join(' '),
        )
        .sort(),
    );
  return text(reported) === text(wanted);
}
