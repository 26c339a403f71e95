/**
 * The consensus events of replicas that run, as they are recorded: run after run of each incarnation, up to a moment in which all that came before it has been read.
 *
 * Responsible for: their order within a replica, what the configurations that they name stand for, and gaps. Judges nothing.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { incarnationOf, replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { EventSource } from '../trace/linearize.ts';
import type { ConsensusEvent } from '../trace/read-trace.ts';
import type { SpecConfiguration } from '../trace/spec-message.ts';

interface ReadEvent {
  readonly event: ConsensusEvent;
  /** When it was read; null: since the last turn. */
  readAtUs: number | null;
}

interface Run {
  readonly id: string;
  lastSeq: number;
  /** Null: it has told no event of consensus yet. */
  replica: ReplicaId | null;
  /** Those that are to be taken, the next one at `head`. */
  events: ReadEvent[];
  head: number;
}

export interface EventQueue extends EventSource {
  readonly configurations: {
    readonly chosen: Map<number, SpecConfiguration>;
    readonly voters: Map<EntryLabel, readonly ReplicaId[]>;
  };
  /** @throws Error if events are missing before it */
  add(event: TraceEvent): void;
  /** Only what was recorded until then may be taken. */
  showUntil(atUs: number): void;
  /** Whose processes do not run, with everything read that they recorded. */
  setEnded(hosts: ReadonlySet<ReplicaId>): void;
  /** Incarnations with an event that may be taken. */
  waiting(): readonly ReplicaId[];
  /** Takes it up among those whose events are taken. */
  admit(id: ReplicaId): void;
  readonly size: number;
  /** All that was added since the last time has been read now. */
  setRead(nowUs: number): void;
  /** When the oldest was recorded, and when it was read; null: there is none. */
  oldest(): { readonly atUs: number; readonly readAtUs: number } | null;
}

export function newEventQueue(): EventQueue {
  const runs = new Map<string, Run>();
  const byReplica = new Map<ReplicaId, Run[]>();
  const admitted: ReplicaId[] = [];
  const chosen = new Map<number, SpecConfiguration>();
  const voters = new Map<EntryLabel, readonly ReplicaId[]>();
  let shownUntilUs = -1;
  let ended: ReadonlySet<ReplicaId> = new Set();
  let size = 0;
  let fresh: ReadEvent[] = [];

  const runOf = (id: string): Run => {
    const run = runs.get(id) ?? { id, lastSeq: 0, replica: null, events: [], head: 0 };
    runs.set(id, run);
    return run;
  };
  /** The oldest one with something left. */
  const currentRun = (id: ReplicaId): Run | undefined => {
    const all = byReplica.get(id) ?? [];
    while (all.length > 1 && all[0]!.head === all[0]!.events.length) runs.delete(all.shift()!.id);
    return all[0];
  };
  const headOf = (id: ReplicaId): ConsensusEvent | undefined => {
    const run = currentRun(id);
    const head = run?.events[run.head]?.event;
    return head !== undefined && head.atUs <= shownUntilUs ? head : undefined;
  };
  return {
    configurations: { chosen, voters },
    add(event) {
      const run = runOf(event.run);
      if (event.seq !== run.lastSeq + 1)
        throw new Error(
          `the trace of ${event.replica} has a gap: event ${event.seq} comes after ${run.lastSeq}`,
        );
      run.lastSeq = event.seq;
      if (event.layer !== 'consensus') return;
      if (run.replica === null) {
        run.replica = event.replica;
        byReplica.set(event.replica, [...(byReplica.get(event.replica) ?? []), run]);
      }
      const read = { event, readAtUs: null };
      run.events.push(read);
      fresh.push(read);
      size++;
      for (const { version, slot, label, voters: those } of event.configurations ?? []) {
        if (label !== undefined) {
          if (!voters.has(label)) voters.set(label, those);
        } else if (!chosen.has(version)) chosen.set(version, { version, slot, voters: those });
      }
    },
    showUntil(atUs) {
      shownUntilUs = atUs;
    },
    setEnded(hosts) {
      ended = hosts;
    },
    waiting: () => [...byReplica.keys()].filter((id) => headOf(id) !== undefined),
    admit: (id) => void admitted.push(id),
    members: () => admitted,
    headOf,
    pass(id) {
      const run = currentRun(id)!;
      run.head++;
      size--;
      if (run.head < 1000) return;
      run.events = run.events.slice(run.head);
      run.head = 0;
    },
    hasEnded(id) {
      const run = currentRun(id);
      // What it recorded and may not be taken yet is to come.
      if (run !== undefined && run.head < run.events.length) return false;
      const host = replicaOf(id);
      const isReplaced = [...byReplica.keys()].some(
        (other) => replicaOf(other) === host && incarnationOf(other) > incarnationOf(id),
      );
      return isReplaced || ended.has(host);
    },
    get size() {
      return size;
    },
    setRead(nowUs) {
      for (const read of fresh) read.readAtUs = nowUs;
      fresh = [];
    },
    oldest() {
      const heads = [...byReplica.keys()].flatMap((id) => {
        const run = currentRun(id);
        return run?.events[run.head] ?? [];
      });
      const [first] = heads.sort((a, b) => a.event.atUs - b.event.atUs);
      if (first === undefined) return null;
      return { atUs: first.event.atUs, readAtUs: first.readAtUs ?? Number.POSITIVE_INFINITY };
    },
  };
}
