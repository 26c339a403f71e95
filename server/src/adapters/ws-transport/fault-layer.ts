/**
 * Faults on the sending side of this replica's links, which tests and the demo can set.
 *
 * Responsible for: which faults are set, and what becomes of each message and of each piece of a copy on a faulty link. Encodes and dials nothing.
 * Invariants: faults can only be set where they are allowed, and on links from this replica; what is delayed counts towards the bound of the queue.
 */
import type { LinkFault } from '../../api/status.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { Timers } from '../../ports/clock.ts';
import { decideFault, faultProblem, healthyLink, isHealthy, seededRandom } from './link-faults.ts';

export interface FaultLayer {
  /** `deliver` is called now, later, twice or never. */
  send(to: ReplicaId, bytes: number, deliver: () => void): void;
  isCut(to: ReplicaId): boolean;
  /** How long the next piece of a copy is held up; null: the link is cut. `newWindow`: it waits for an answer from the other side first. */
  holdUp(to: ReplicaId, newWindow: boolean): number | null;
  /** @throws RangeError if the fault is not of one of this replica's links, or faults are not allowed */
  setFault(fault: LinkFault): void;
  /** All of them, or none; `heals`: all others are taken off. @throws as `setFault` */
  setFaults(wanted: readonly LinkFault[], heals: boolean): void;
  heal(): void;
  faults(): readonly LinkFault[];
  close(): void;
}

export interface FaultLayerOptions {
  readonly id: ReplicaId;
  readonly allowed: boolean;
  readonly seed: number;
  readonly queueBytesMax: number;
  readonly timers: Pick<Timers, 'after'>;
  readonly onChange: () => void;
}

/** What TCP waits, at the least, before it sends again what was lost. */
const retransmissionMs = 200;
/** More replicas than any group has. */
const LINKS_MAX = 64;

export function createFaultLayer(options: FaultLayerOptions): FaultLayer {
  let faults = new Map<ReplicaId, LinkFault>();
  const delayedBytes = new Map<ReplicaId, number>();
  const underWay = new Set<() => void>();
  const random = seededRandom(options.seed);

  const delay = (to: ReplicaId, bytes: number, ms: number, deliver: () => void): void => {
    const waiting = (delayedBytes.get(to) ?? 0) + bytes;
    if (waiting > options.queueBytesMax) return;
    delayedBytes.set(to, waiting);
    const cancel = options.timers.after(ms, () => {
      underWay.delete(cancel);
      delayedBytes.set(to, (delayedBytes.get(to) ?? 0) - bytes);
      // A link that was cut meanwhile takes with it what was on the way.
      if (faults.get(to)?.cut !== true) deliver();
    });
    underWay.add(cancel);
  };

  const put = (into: Map<ReplicaId, LinkFault>, fault: LinkFault): void => {
    if (!options.allowed) throw new RangeError('faults are not allowed on this replica');
    // A replica that is no peer now may be one later: the fault waits for it.
    if (fault.from !== options.id || fault.to === options.id) {
      throw new RangeError(`${fault.from} -> ${fault.to} is not a link of ${options.id}`);
    }
    const problem = faultProblem(fault);
    if (problem !== null) throw new RangeError(problem);
    if (isHealthy(fault)) into.delete(fault.to);
    else if (into.size >= LINKS_MAX && !into.has(fault.to)) throw new RangeError('too many faults');
    else into.set(fault.to, { ...healthyLink(fault.from, fault.to), ...fault });
  };

  const setFaults = (wanted: readonly LinkFault[], heals: boolean): void => {
    const next = new Map(heals ? [] : faults);
    for (const fault of wanted) put(next, fault);
    faults = next;
    options.onChange();
  };

  return {
    send(to, bytes, deliver) {
      const fault = faults.get(to);
      if (fault === undefined) return deliver();
      for (const ms of decideFault(fault, random)) {
        if (ms === 0) deliver();
        else delay(to, bytes, ms, deliver);
      }
    },
    isCut: (to) => faults.get(to)?.cut === true,
    holdUp(to, newWindow) {
      const fault = faults.get(to);
      if (fault === undefined) return 0;
      if (fault.cut) return null;
      const lost = random() < fault.drop;
      return (newWindow ? fault.delayMs : 0) + (lost ? retransmissionMs : 0);
    },
    setFault: (fault) => setFaults([fault], false),
    setFaults,
    heal() {
      setFaults([], true);
    },
    faults: () => [...faults.values()],
    close() {
      for (const cancel of underWay) cancel();
      underWay.clear();
    },
  };
}
