/**
 * The faults that people have set on the links of a demo: the table that every replica is made to agree with.
 *
 * Pure bookkeeping; the supervisor carries it to the replicas, again when one was started anew and has forgotten its faults.
 */
import { z } from 'zod';
import type { FaultRequest, LinkFault } from '../api/status.ts';
import { delayMsMax, faultProblem, healthyLink, isHealthy } from '../adapters/ws-transport/link-faults.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';

type LinkRequest = Extract<FaultRequest, { readonly from: ReplicaId }>;

const replica = z
  .string()
  .max(64)
  .transform((id) => id as ReplicaId);
const link = { from: replica, to: replica };
const force = z.boolean().exactOptional();
export const faultRequestSchema = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.enum(['resume', 'restart', 'killPostgres', 'isolate']),
    replica,
  }),
  z.strictObject({ action: z.enum(['crash', 'pause']), replica, force }),
  z.strictObject({ action: z.literal('wipe'), replica, what: z.enum(['log', 'database', 'both']), force }),
  z.strictObject({ action: z.literal('cut'), ...link, amount: z.literal([0, 1]).exactOptional() }),
  z.strictObject({ action: z.literal('delay'), ...link, amount: z.number().min(0).max(delayMsMax) }),
  z.strictObject({ action: z.enum(['drop', 'duplicate']), ...link, amount: z.number().min(0).max(1) }),
  z.strictObject({ action: z.literal('heal') }),
]);

export interface FaultTable {
  /** Faults on the links that leave `from`, sorted. */
  of(from: ReplicaId): readonly LinkFault[];
  /** All links that have faults, sorted. */
  all(): readonly LinkFault[];
  /** What one link has. */
  link(from: ReplicaId, to: ReplicaId): LinkFault;
  /** Adds to what the link has. `amount` 0 takes this fault off. Returns why it cannot be, or null. */
  set(request: LinkRequest): string | null;
  /** Cuts every link to and from the replica. */
  isolate(id: ReplicaId): void;
  heal(): void;
  /** Of a replica that is no more. */
  forget(id: ReplicaId): void;
}

/** `members`: asked each time, for they may change. */
export function createFaultTable(members: () => readonly ReplicaId[]): FaultTable {
  const links = new Map<string, LinkFault>();
  const key = (from: ReplicaId, to: ReplicaId): string => `${from}>${to}`;
  const get = (from: ReplicaId, to: ReplicaId): LinkFault =>
    links.get(key(from, to)) ?? healthyLink(from, to);
  const put = (fault: LinkFault): void => {
    if (isHealthy(fault)) links.delete(key(fault.from, fault.to));
    else links.set(key(fault.from, fault.to), fault);
  };

  const all = (): LinkFault[] =>
    [...links.values()].sort((a, b) => (key(a.from, a.to) < key(b.from, b.to) ? -1 : 1));

  return {
    of: (from) => all().filter((fault) => fault.from === from),
    all,
    link: get,
    set(request) {
      const { from, to } = request;
      for (const id of [from, to]) if (!members().includes(id)) return noReplica(id, members());
      if (from === to) return `a link joins two different replicas, and ${from} is given twice`;
      const fault = change(get(from, to), request);
      const problem = faultProblem(fault);
      if (problem === null) put(fault);
      return problem;
    },
    isolate(id) {
      for (const other of members()) {
        if (other === id) continue;
        put({ ...get(id, other), cut: true });
        put({ ...get(other, id), cut: true });
      }
    },
    heal: () => links.clear(),
    forget(id) {
      for (const [name, { from, to }] of links) if (from === id || to === id) links.delete(name);
    },
  };
}

/** Why what was asked of it cannot be. */
export function noReplica(id: ReplicaId, members: readonly ReplicaId[]): string {
  return `there is no replica ${id}; there ${members.length === 1 ? 'is' : 'are'} ${members.join(', ')}`;
}

function change(fault: LinkFault, request: LinkRequest): LinkFault {
  switch (request.action) {
    case 'cut':
      return { ...fault, cut: request.amount !== 0 };
    case 'delay':
      return { ...fault, delayMs: request.amount };
    case 'drop':
      return { ...fault, drop: request.amount };
    case 'duplicate':
      return { ...fault, duplicate: request.amount };
    default:
      return request satisfies never;
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
