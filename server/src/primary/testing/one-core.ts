/** One core with its inputs at hand: for tests that say what comes, and look at what goes. */
import { ballotNone } from '../../multipaxos/ballot.ts';
import type { Entry, Vote } from '../../multipaxos/types/entries.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import { createState, type State, step } from '../step.ts';
import type { Effect, Level, PrimaryConfig } from '../types/effects.ts';
import type { Message, SentEntry } from '../types/messages.ts';
import type { GivenInput } from './simulated-replica.ts';

export const group = 'g' as GroupId;
export const id = (name: string): ReplicaId => name as ReplicaId;
export const slot = (number: number): Slot => number as Slot;
export const epoch = (round: number, replica: string): Ballot => ({ round, replica: id(replica) });

type KindOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

export function configOf(more: Partial<PrimaryConfig> = {}): PrimaryConfig {
  return {
    group,
    id: id('r1'),
    replicas: [id('r1'), id('r2'), id('r3')],
    replication: 'semi',
    heartbeatMs: 20,
    failureTimeoutMs: 100,
    retransmitMs: 40,
    acknowledgeMsMax: 400,
    pauseMsMax: 300,
    dropSilentCopies: false,
    promoteAloneRiskingSplitBrain: false,
    windowSlotsMax: 8,
    windowBytesMax: 10_000,
    batchBytesMax: 1000,
    keepSlots: 100,
    keepBytesMax: 100_000,
    isTold: false,
    ...more,
  };
}

export function command(request: number): Entry {
  return { kind: 'command', group, proposal: { client: 'c', request }, payload: new Uint8Array(10) };
}

export function start(of: Ballot): Entry {
  return { kind: 'leaderStart', group, ballot: of };
}

export function vote(at: number, ballot: Ballot, entry: Entry): Vote {
  return { slot: slot(at), ballot, entry };
}

export interface Recovered {
  readonly promised?: Ballot;
  readonly commitPoint?: number;
  readonly tail?: readonly Vote[];
  /** What its database has executed. */
  readonly database?: number;
}

export class OneCore {
  state: State;
  nowMs = 1000;
  effects: Effect[] = [];

  constructor(
    config: PrimaryConfig = configOf(),
    { promised, commitPoint = 0, tail = [], database = 0 }: Recovered = {},
  ) {
    const log = {
      promised: promised ?? tail.at(-1)?.ballot ?? ballotNone,
      commitPoint: slot(commitPoint),
      purgedTo: slot(0),
      tail,
    };
    this.state = createState(config, log, this.nowMs, 0);
    this.input({ kind: 'Restored', slot: slot(database), isMarked: false });
  }

  /** @returns what this input brings about */
  input(input: GivenInput): readonly Effect[] {
    const { state, effects } = step(this.state, { ...input, nowMs: this.nowMs });
    this.state = state;
    this.effects.push(...effects);
    return effects;
  }

  receive(from: string, message: Message): readonly Effect[] {
    return this.input({ kind: 'Receive', from: id(from), message });
  }

  tick(ms: number): readonly Effect[] {
    this.nowMs += ms;
    return this.input({ kind: 'Tick', random: 0 });
  }

  /** All that was given to the disk so far is durable. */
  flush(): readonly Effect[] {
    return this.input({ kind: 'Persisted', seq: this.state.nextSeq - 1 });
  }

  propose(request: number, level?: Level): readonly Effect[] {
    const proposal = { client: 'c', request };
    return this.input({
      kind: 'Propose',
      proposals: [{ proposal, payload: new Uint8Array(10), ...(level === undefined ? {} : { level }) }],
    });
  }

  /** Stands, is given every word, and leads; its first entry is with `copies` others. */
  lead(copies: readonly string[] = ['r2', 'r3']): this {
    this.tick(1000);
    this.flush();
    for (const from of ['r2', 'r3'])
      if (this.state.config.replicas.includes(id(from)))
        this.receive(from, { kind: 'Word', group, epoch: this.state.promised });
    this.flush();
    for (const from of copies) this.received(from, this.state.lastSlot);
    return this;
  }

  received(
    from: string,
    to: number,
    more: { readonly executed?: number; readonly goOnFrom?: number; readonly needsCopy?: boolean } = {},
  ): readonly Effect[] {
    return this.receive(from, {
      kind: 'Received',
      group,
      epoch: this.state.promised,
      received: slot(to),
      executed: slot(more.executed ?? 0),
      goOnFrom: more.goOnFrom === undefined ? null : slot(more.goOnFrom),
      needsCopy: more.needsCopy ?? false,
      sentAtMs: this.nowMs,
    });
  }

  /** From the primary of an epoch: entries behind `prev`. */
  operations(
    of: Ballot,
    prev: readonly [number, Ballot],
    entries: readonly SentEntry[],
    more: { readonly beginsAt?: number; readonly isStandby?: boolean; readonly settled?: number } = {},
  ): readonly Effect[] {
    return this.receive(of.replica, {
      kind: 'Operations',
      group,
      epoch: of,
      prevSlot: slot(prev[0]),
      prevEpoch: prev[1],
      entries,
      beginsAt: slot(more.beginsAt ?? 1),
      settled: slot(more.settled ?? 0),
      isStandby: more.isStandby ?? false,
      sentAtMs: this.nowMs,
    });
  }

  askWord(of: Ballot, lastEpoch: Ballot, lastSlot: number): readonly Effect[] {
    return this.receive(of.replica, {
      kind: 'AskWord',
      group,
      epoch: of,
      lastEpoch,
      lastSlot: slot(lastSlot),
    });
  }

  executed(to: number): readonly Effect[] {
    return this.input({ kind: 'Applied', slot: slot(to), durableSlot: slot(to) });
  }
}

export function ofKind<Kind extends Effect['kind']>(
  effects: readonly Effect[],
  kind: Kind,
): readonly KindOf<Kind>[] {
  return effects.filter((effect): effect is KindOf<Kind> => effect.kind === kind);
}

export function sent<Kind extends Message['kind']>(
  effects: readonly Effect[],
  kind: Kind,
): readonly { readonly to: ReplicaId; readonly message: Extract<Message, { kind: Kind }> }[] {
  return ofKind(effects, 'send').flatMap(({ to, message }) =>
    message.kind === kind ? [{ to, message: message as Extract<Message, { kind: Kind }> }] : [],
  );
}

export function records(effects: readonly Effect[]): readonly LogRecord[] {
  return ofKind(effects, 'persist').flatMap((effect) => effect.records);
}
