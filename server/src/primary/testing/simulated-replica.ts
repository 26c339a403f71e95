/**
 * One replica in a simulation: the core, a disk that loses what was not flushed, and a database that keeps what it has executed.
 *
 * Responsible for: what a host must do with the effects of the core, in the order in which it must do it.
 */
import { ballotNone } from '../../multipaxos/ballot.ts';
import { entryLabel } from '../../multipaxos/entry.ts';
import type { Vote } from '../../multipaxos/types/entries.ts';
import type { Ballot, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../multipaxos/types/records.ts';
import { createState, type State, step } from '../step.ts';
import type { Effect, Input, PrimaryConfig } from '../types/effects.ts';

type WithoutTime<I> = I extends Input ? Omit<I, 'nowMs'> : never;
export type GivenInput = WithoutTime<Input>;
type PersistEffect = Extract<Effect, { kind: 'persist' }>;

export interface SentCopy {
  readonly epoch: Ballot;
  readonly entries: readonly Vote[];
  readonly executed: readonly string[];
}

export class SimulatedReplica {
  readonly id: ReplicaId;
  state: State | null = null;
  /** What a crash leaves. */
  private readonly disk: LogRecord[] = [];
  unflushed: PersistEffect[] = [];
  /** Labels of what the database has executed, slot by slot. */
  database: string[] = [];
  isMarked = false;
  toExecute: { readonly slot: Slot; readonly label: string }[] = [];
  private arriving: SentCopy | null = null;
  private readonly config: PrimaryConfig;
  private readonly hear: (replica: SimulatedReplica, effect: Effect) => void;

  constructor(config: PrimaryConfig, hear: (replica: SimulatedReplica, effect: Effect) => void) {
    this.id = config.id;
    this.config = config;
    this.hear = hear;
  }

  start(nowMs: number, random: number): void {
    this.state = createState(this.config, this.recovered(), nowMs, random);
    this.input({ kind: 'Restored', slot: this.database.length as Slot, isMarked: this.isMarked }, nowMs);
  }

  /** So many of what waits for the disk are there all the same. @returns how many of them the specification knows, and what is promised on disk */
  crash(kept: number): { readonly groups: number; readonly promised: Ballot } {
    const isGroup = new Set(this.state?.pending.filter((each) => each.isGroup).map(({ seq }) => seq));
    const survivors = this.state?.isTakingCopy === true ? [] : this.unflushed.slice(0, kept);
    this.disk.push(...survivors.flatMap(({ records }) => records));
    this.unflushed = [];
    this.toExecute = [];
    this.arriving = null;
    this.state = null;
    return {
      groups: survivors.filter(({ seq }) => isGroup.has(seq)).length,
      promised: this.recovered().promised,
    };
  }

  input(input: GivenInput, nowMs: number): void {
    if (this.state === null) return;
    const { state, effects } = step(this.state, { ...input, nowMs });
    this.state = state;
    for (const effect of effects) {
      if (effect.kind === 'persist') this.unflushed.push(effect);
      if (effect.kind === 'copyNeeded') this.isMarked = true;
      if (effect.kind === 'chosen')
        this.toExecute.push(...effect.entries.map(({ slot, entry }) => ({ slot, label: entryLabel(entry) })));
      this.hear(this, effect);
    }
    if (state.needsCopy) this.toExecute = [];
  }

  /** The oldest so many of what waits for the disk. */
  flush(count: number, nowMs: number): void {
    const done = this.unflushed.splice(0, count);
    const last = done.at(-1);
    if (last === undefined) return;
    this.disk.push(...done.flatMap(({ records }) => records));
    this.input({ kind: 'Persisted', seq: last.seq }, nowMs);
    if (this.arriving === null || this.state === null || this.state.isTakingCopy) return;
    this.database = [...this.arriving.executed];
    this.isMarked = false;
    this.arriving = null;
  }

  executeNext(nowMs: number): void {
    const next = this.toExecute.shift();
    if (next === undefined) return;
    if (next.slot !== this.database.length + 1)
      throw new Error(`${this.id} is to execute ${next.slot} behind ${this.database.length}`);
    this.database.push(next.label);
    this.input({ kind: 'Applied', slot: next.slot, durableSlot: next.slot }, nowMs);
  }

  /** Its database is replaced by an empty one, which executes the log from the beginning. */
  beginAnew(nowMs: number): void {
    if (this.state === null || this.state.isTakingCopy || this.state.base > 0) return;
    this.database = [];
    this.toExecute = [];
    this.isMarked = false;
    this.input({ kind: 'Restored', slot: 0 as Slot, isMarked: false }, nowMs);
  }

  copyArrives(copy: SentCopy, nowMs: number): void {
    if (this.state === null || this.state.isTakingCopy) return;
    this.input({ kind: 'Copied', epoch: copy.epoch, entries: copy.entries }, nowMs);
    if (!this.state.isTakingCopy) return;
    this.arriving = copy;
    this.toExecute = [];
  }

  private recovered(): Pick<RecoveredLog, 'promised' | 'commitPoint' | 'purgedTo' | 'tail'> {
    let promised = ballotNone;
    let commitPoint = 0 as Slot;
    const votes = new Map<Slot, Vote>();
    for (const record of this.disk) {
      if (record.kind === 'promise') promised = higher(promised, record.ballot);
      if (record.kind === 'commitPoint') commitPoint = Math.max(commitPoint, record.slot) as Slot;
      if (record.kind !== 'vote') continue;
      promised = higher(promised, record.ballot);
      votes.set(record.slot, { slot: record.slot, ballot: record.ballot, entry: record.entry });
    }
    const tail = [...votes.values()].filter(({ slot }) => slot > commitPoint).sort((a, b) => a.slot - b.slot);
    return { promised, commitPoint, purgedTo: commitPoint, tail };
  }
}

function higher(a: Ballot, b: Ballot): Ballot {
  return a.round > b.round || (a.round === b.round && a.replica >= b.replica) ? a : b;
}
