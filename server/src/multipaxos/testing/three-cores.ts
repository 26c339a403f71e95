/** Three cores, their disks and the network between them: for stories of crashes that a test tells. What is written is durable at once, and what is sent arrives at once, unless a link is cut. */
import { compareBallots } from '../ballot.ts';
import { entryLabel } from '../entry.ts';
import type { Entry } from '../types/entries.ts';
import type { Message } from '../types/messages.ts';
import type { EntryLabel, ReplicaId, Slot } from '../types/names.ts';
import type { LogRecord, RecoveredLog } from '../types/records.ts';
import { emptyLog, founding, group, OneCore, r1, r2, r3, slot } from './one-core.ts';

const everybody = [r1, r2, r3];
/** A leader is unheard of, and no election begins by itself. */
const unheardMs = 320;
const electionMs = 700;

export class ThreeCores {
  /** Of those that are up. */
  private readonly cores = new Map<ReplicaId, OneCore>();
  private readonly disks = new Map<ReplicaId, LogRecord[]>(everybody.map((id) => [id, []]));
  private readonly given = new Map<ReplicaId, Map<number, EntryLabel>>(
    everybody.map((id) => [id, new Map()]),
  );
  private readonly away = new Set<ReplicaId>();
  /** Its database applies nothing by itself. */
  private readonly slow = new Set<ReplicaId>();

  constructor() {
    for (const id of everybody) this.cores.set(id, new OneCore({ id }));
  }

  core(id: ReplicaId): OneCore {
    return this.cores.get(id)!;
  }

  /** What its database was given, in the order of slots. */
  givenTo(id: ReplicaId): readonly EntryLabel[] {
    return [...this.given.get(id)!].sort(([one], [other]) => one - other).map(([, label]) => label);
  }

  /** All of its links. */
  cut(id: ReplicaId): void {
    this.away.add(id);
  }

  mend(id: ReplicaId): void {
    this.away.delete(id);
  }

  crash(id: ReplicaId): void {
    this.cores.delete(id);
  }

  /** With what its disk has; its database has nothing, and is given all again, first what the log says to be chosen. */
  restart(id: ReplicaId): void {
    this.crash(id);
    const recovered = recoveredFrom(this.disks.get(id)!);
    const { commitPoint } = recovered;
    const covered = this.entriesOf(id, 1, commitPoint).map((entry, index) => [index + 1, entryLabel(entry)]);
    this.given.set(id, new Map(covered as [number, EntryLabel][]));
    const core = new OneCore({ id }, recovered);
    this.cores.set(id, core);
    core.applied(commitPoint);
    this.settle();
  }

  /** What its disk holds last of each slot. */
  private entriesOf(id: ReplicaId, from: number, to: number): readonly Entry[] {
    const entries: Entry[] = [];
    for (let at = from; at <= to; at += 1) {
      const last = this.disks
        .get(id)!
        .findLast((record) => (record.kind === 'vote' || record.kind === 'chosen') && record.slot === at);
      if (last?.kind === 'vote' || last?.kind === 'chosen') entries.push(last.entry);
    }
    return entries;
  }

  applyNothing(id: ReplicaId): void {
    this.slow.add(id);
  }

  applyAll(id: ReplicaId): void {
    this.slow.delete(id);
    this.core(id).applied(Math.max(0, ...this.given.get(id)!.keys()));
    this.settle();
  }

  /** It may have to hear first how high the others' ballots are. */
  elect(id: ReplicaId): void {
    for (const [other, core] of this.cores) if (other !== id) core.tick(unheardMs);
    for (let tries = 0; tries < 3 && this.core(id).state.role !== 'leader'; tries += 1) {
      this.core(id).tick(electionMs);
      this.settle();
    }
  }

  propose(id: ReplicaId, ...names: string[]): void {
    this.core(id).propose(...names);
    this.settle();
  }

  /** A heartbeat's time. */
  pass(): void {
    for (const core of this.cores.values()) core.tick(60);
    this.settle();
  }

  private settle(): void {
    for (let busy = true; busy; ) {
      busy = false;
      for (const [id, core] of this.cores) busy = this.carryOut(id, core) || busy;
    }
  }

  private carryOut(id: ReplicaId, core: OneCore): boolean {
    const { effects } = core;
    core.effects = [];
    const records = effects.flatMap((effect) => (effect.kind === 'persist' ? effect.records : []));
    this.disks.get(id)!.push(...records);
    if (records.length > 0) core.fsync();
    for (const effect of effects) {
      if (effect.kind === 'send') this.send(id, effect.to, effect.message);
      if (effect.kind === 'serveCatchUp') this.send(id, effect.to, this.catchUpReply(id, core, effect));
      if (effect.kind !== 'chosen') continue;
      for (const { slot: at, entry } of effect.entries) this.given.get(id)!.set(at, entryLabel(entry));
      if (!this.slow.has(id)) core.applied(effect.entries.at(-1)!.slot);
    }
    return effects.length > 0;
  }

  private send(from: ReplicaId, to: ReplicaId, message: Message): void {
    if (!this.away.has(from) && !this.away.has(to)) this.cores.get(to)?.receive(from, message);
  }

  private catchUpReply(
    id: ReplicaId,
    { state }: OneCore,
    { fromSlot, toSlot }: { readonly fromSlot: Slot; readonly toSlot: Slot },
  ): Message {
    return {
      kind: 'CatchUpReply',
      group,
      ballot: state.promised,
      firstSlot: fromSlot,
      entries: this.entriesOf(id, fromSlot, toSlot),
      commitPoint: state.commitPoint,
      purgedTo: slot(0),
      configuration: founding,
    };
  }
}

function recoveredFrom(records: readonly LogRecord[]): RecoveredLog {
  let { promised, commitPoint } = emptyLog;
  const tail = new Map<number, RecoveredLog['tail'][number]>();
  for (const record of records) {
    if (record.kind === 'promise' && compareBallots(record.ballot, promised) > 0) promised = record.ballot;
    if (record.kind === 'vote' && compareBallots(record.ballot, promised) > 0) promised = record.ballot;
    if (record.kind === 'commitPoint') commitPoint = slot(Math.max(commitPoint, record.slot));
    if (record.kind === 'vote') tail.set(record.slot, record);
    if (record.kind === 'chosen') tail.set(record.slot, { ...record, ballot: null });
  }
  const kept = [...tail.values()].filter((each) => each.slot > commitPoint);
  return { ...emptyLog, promised, commitPoint, tail: kept.sort((one, other) => one.slot - other.slot) };
}
