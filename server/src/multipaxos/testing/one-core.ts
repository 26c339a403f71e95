/** A single core under a test's control: the test is its clock, its log and its peers. */
import { incarnationOf, replicaOf } from '../configuration.ts';
import { createState, step, type State } from '../step.ts';
import type { CoreConfig, Effect, Input } from '../types/effects.ts';
import type { Entry, SlotEntry, Vote } from '../types/entries.ts';
import type { Configuration, ConfigurationChange, Member } from '../types/members.ts';
import type { Accept, Message } from '../types/messages.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../types/names.ts';
import type { LogRecord, RecoveredLog } from '../types/records.ts';

export const group = 'g1' as GroupId;
export const r1 = 'r1' as ReplicaId;
export const r2 = 'r2' as ReplicaId;
export const r3 = 'r3' as ReplicaId;

export const slot = (value: number): Slot => value as Slot;
export const ballot = (round: number, replica: ReplicaId): Ballot => ({ round, replica });
export const noop: Entry = { kind: 'noop', group };

export function command(name: string, bytes = 1): Entry {
  return { kind: 'command', group, proposal: { client: name, request: 1 }, payload: new Uint8Array(bytes) };
}

export function vote(at: number, of: Ballot, name: string): Vote {
  return { slot: slot(at), ballot: of, entry: command(name) };
}

export const address = { host: 'h', port: 1, pgwire: { host: 'h', port: 2 } };

/** A member by the name of its incarnation; the nonce of a life is the name itself. */
export function member(name: ReplicaId, role: Member['role'] = 'voter'): Member {
  const incarnation = incarnationOf(name);
  return { replica: replicaOf(name), incarnation, role, nonce: incarnation === 0 ? '' : name, address };
}

/** `voters` and `learners` by the names of their incarnations, `r4.0` for one that is expected. */
export function configuration(
  voters: readonly ReplicaId[],
  details: { learners?: readonly ReplicaId[]; version?: number; slot?: number } = {},
): Configuration {
  const { learners = [], version = 1 } = details;
  const members = [...voters.map((name) => member(name)), ...learners.map((name) => member(name, 'learner'))];
  members.sort((left, right) => (left.replica < right.replica ? -1 : 1));
  return { version, slot: slot(details.slot ?? 0), members };
}

/** What all tests begin with that do not say otherwise. */
export const founding = configuration([r1, r2, r3]);

export function configurationEntry(of: Ballot, { version, members }: Configuration): Entry {
  return { kind: 'configuration', group, ballot: of, version, members };
}

export const emptyLog: RecoveredLog = {
  promised: ballot(0, '' as ReplicaId),
  commitPoint: slot(0),
  purgedTo: slot(0),
  configuration: founding,
  tail: [],
};

/** `members`: the voters of the founding configuration. */
export type Overrides = Partial<CoreConfig> & { readonly members?: readonly ReplicaId[] };

export function testConfig({ members: _members, ...overrides }: Overrides = {}): CoreConfig {
  return {
    group,
    id: r1,
    heartbeatMs: 50,
    electionTimeoutMinMs: 300,
    electionTimeoutMaxMs: 600,
    leaseMs: 200,
    clockDriftMax: 0.05,
    retransmitMs: 100,
    windowSlotsMax: 8,
    windowBytesMax: 2000,
    acceptBatchBytesMax: 1000,
    catchUpSlotsMax: 4,
    trace: 'all',
    ...overrides,
  };
}

type InputWithoutTime = Input extends infer I ? (I extends Input ? Omit<I, 'nowMs'> : never) : never;
type MessageOf<K extends Message['kind']> = Extract<Message, { kind: K }>;

export class OneCore {
  state: State;
  nowMs = 1000;
  /** All effects since the last `take`. */
  effects: Effect[] = [];
  private seq = 0;

  constructor(overrides: Overrides = {}, recovered: Partial<RecoveredLog> = {}) {
    const { members } = overrides;
    const log = members === undefined ? emptyLog : { ...emptyLog, configuration: configuration(members) };
    this.state = createState(testConfig(overrides), { ...log, ...recovered }, this.nowMs, 0.5);
  }

  input(input: InputWithoutTime): void {
    const result = step(this.state, { ...input, nowMs: this.nowMs });
    this.state = result.state;
    for (const effect of result.effects) if (effect.kind === 'persist') this.seq = effect.seq;
    this.effects.push(...result.effects);
  }

  receive(from: ReplicaId, message: Message): void {
    this.input({ kind: 'Receive', from, message });
  }

  /** Lets time pass, then a Tick. */
  tick(afterMs = 0): void {
    this.nowMs += afterMs;
    this.input({ kind: 'Tick', random: 0.5 });
  }

  /** Everything handed to the log so far is durable. */
  fsync(): void {
    this.input({ kind: 'Persisted', seq: this.seq });
  }

  reconfigure(change: ConfigurationChange, id = 1): void {
    this.input({ kind: 'Reconfigure', id, change });
  }

  restored(to: number, configuration = founding): void {
    this.input({ kind: 'Restored', slot: slot(to), configuration });
  }

  applied(to: number, durable = to): void {
    this.input({ kind: 'Applied', slot: slot(to), durableSlot: slot(durable) });
  }

  propose(...names: string[]): void {
    const proposals = names.map((client) => ({
      proposal: { client, request: 1 },
      payload: new Uint8Array(1),
    }));
    this.input({ kind: 'Propose', proposals });
  }

  /** The messages of one kind that have left, and forgets them all. */
  take<K extends Message['kind']>(kind: K): MessageOf<K>[] {
    const found = this.effects.flatMap((effect) =>
      effect.kind === 'send' && effect.message.kind === kind ? [effect.message as MessageOf<K>] : [],
    );
    this.effects = [];
    return found;
  }

  sentKinds(): string[] {
    return this.effects.flatMap((effect) => (effect.kind === 'send' ? [effect.message.kind] : []));
  }

  records(): LogRecord[] {
    return this.effects.flatMap((effect) => (effect.kind === 'persist' ? effect.records : []));
  }

  chosen(): SlotEntry[] {
    return this.effects.flatMap((effect) => (effect.kind === 'chosen' ? effect.entries : []));
  }

  effectsOf<K extends Effect['kind']>(kind: K): Extract<Effect, { kind: K }>[] {
    return this.effects.filter((effect): effect is Extract<Effect, { kind: K }> => effect.kind === kind);
  }

  /** What its peers may send. */
  accept(of: Ballot, firstSlot: number, entries: readonly Entry[], commitPoint = 0): Accept {
    return {
      kind: 'Accept',
      group,
      ballot: of,
      firstSlot: slot(firstSlot),
      entries,
      commitPoint: slot(commitPoint),
      sentAtMs: 7,
    };
  }

  /** Answers to whatever this core sent as a leader: a follower that has voted for everything up to `lastSlot`. */
  accepted(from: ReplicaId, firstSlot: number, lastSlot: number, sentAtMs = this.nowMs): void {
    this.receive(from, {
      kind: 'Accepted',
      group,
      ballot: this.state.promised,
      firstSlot: slot(firstSlot),
      lastSlot: slot(lastSlot),
      commitPoint: slot(0),
      sentAtMs,
    });
  }

  heartbeatAck(
    from: ReplicaId,
    details: { commitPoint?: number; durable?: number; sentAtMs?: number } = {},
  ): void {
    this.receive(from, {
      kind: 'HeartbeatAck',
      group,
      ballot: this.state.promised,
      sentAtMs: details.sentAtMs ?? this.nowMs,
      commitPoint: slot(details.commitPoint ?? 0),
      durableApplicationPointer: slot(details.durable ?? 0),
    });
  }
}

/** A candidate whose own promise is durable and whose Prepares have left. */
export function newCandidate(overrides: Overrides = {}, recovered: Partial<RecoveredLog> = {}): OneCore {
  const core = new OneCore(overrides, recovered);
  core.tick(700);
  const { ballot: asked } = core.take('PreVote')[0]!;
  core.receive(r2, { kind: 'PreVoteReply', group, ballot: asked, granted: true, configuration: founding });
  core.fsync();
  return core;
}

export function promise(
  core: OneCore,
  from: ReplicaId,
  votes: readonly Vote[] = [],
  commitPoint = 0,
  configuration = founding,
): void {
  const { promised: ballot } = core.state;
  core.receive(from, {
    kind: 'Promise',
    group,
    ballot,
    commitPoint: slot(commitPoint),
    votes,
    configuration,
  });
}

/** A leader that serves: its `leaderStart` is in slot 1, chosen and applied. */
export function newServingLeader(overrides: Overrides = {}): OneCore {
  const core = newCandidate(overrides);
  promise(core, r2);
  core.fsync();
  core.accepted(r2, 1, 1);
  core.applied(1);
  core.effects = [];
  return core;
}

/** A follower of r2 in ballot 1.r2, without a lease any more to keep it from others. */
export function newFollower(overrides: Overrides = {}, recovered: Partial<RecoveredLog> = {}): OneCore {
  const core = new OneCore(overrides, recovered);
  core.tick(250);
  core.effects = [];
  return core;
}
