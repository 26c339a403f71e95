/** A single core of single-decree Paxos under a test's control: the test is its clock, its log and its peers. */
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../multipaxos/types/records.ts';
import type { Body } from '../run.ts';
import type { PaxosState } from '../state.ts';
import { createPaxosState, paxosStep } from '../step.ts';
import type { PaxosConfig, PaxosEffect, PaxosInput } from '../types/effects.ts';
import type { PaxosMessage } from '../types/messages.ts';

export const group = 'g1' as GroupId;
export const r1 = 'r1' as ReplicaId;
export const r2 = 'r2' as ReplicaId;
export const r3 = 'r3' as ReplicaId;
export const at = (slot: number): Slot => slot as Slot;
export const ballot = (round: number, replica: ReplicaId): Ballot => ({ round, replica });

export function command(client: string, bytes = 1): Entry {
  return { kind: 'command', group, proposal: { client, request: 1 }, payload: new Uint8Array(bytes) };
}

export const noop: Entry = { kind: 'noop', group };

export const emptyPaxosLog: RecoveredLog = {
  promised: ballot(0, '' as ReplicaId),
  commitPoint: at(0),
  purgedTo: at(0),
  configuration: { version: 1, slot: at(0), members: [] },
  tail: [],
};

export function paxosConfig(overrides: Partial<PaxosConfig> = {}): PaxosConfig {
  return {
    group,
    id: r1,
    members: [r1, r2, r3],
    retransmitMs: 100,
    statusMs: 50,
    backoffMs: 20,
    backoffMaxMs: 400,
    holeMs: 300,
    windowSlotsMax: 4,
    windowBytesMax: 2000,
    catchUpSlotsMax: 8,
    catchUpBytesMax: 100_000,
    trace: true,
    ...overrides,
  };
}

type WithoutTime<Input = PaxosInput> = Input extends PaxosInput ? Omit<Input, 'nowMs'> : never;
type EffectOf<Kind extends PaxosEffect['kind']> = Extract<PaxosEffect, { kind: Kind }>;

export class OnePaxos {
  nowMs = 0;
  state: PaxosState;
  /** Of the last input. */
  effects: readonly PaxosEffect[] = [];
  readonly records: LogRecord[] = [];
  private seq = 0;

  constructor(overrides: Partial<PaxosConfig> = {}, recovered: RecoveredLog = emptyPaxosLog) {
    this.state = createPaxosState(paxosConfig(overrides), recovered, 0, 0.5);
  }

  input(input: WithoutTime): readonly PaxosEffect[] {
    this.effects = paxosStep(this.state, { ...input, nowMs: this.nowMs }).effects;
    for (const effect of this.effectsOf('persist')) {
      this.seq = effect.seq;
      this.records.push(...effect.records);
    }
    return this.effects;
  }

  /** What `from` says; it has done nothing, unless it says so. */
  hear(from: ReplicaId, body: Body, done = 0): readonly PaxosEffect[] {
    return this.input({ kind: 'Receive', from, message: { group, done: at(done), ...body } as PaxosMessage });
  }

  propose(...clients: readonly string[]): readonly PaxosEffect[] {
    const proposals = clients.map((client) => ({
      proposal: { client, request: 1 },
      payload: new Uint8Array(1),
    }));
    return this.input({ kind: 'Propose', proposals });
  }

  /** All that was handed to the log is durable. */
  flush(): readonly PaxosEffect[] {
    return this.input({ kind: 'Persisted', seq: this.seq });
  }

  tick(afterMs: number, random = 0.5): readonly PaxosEffect[] {
    this.nowMs += afterMs;
    return this.input({ kind: 'Tick', random });
  }

  effectsOf<Kind extends PaxosEffect['kind']>(kind: Kind): readonly EffectOf<Kind>[] {
    return this.effects.filter((effect): effect is EffectOf<Kind> => effect.kind === kind);
  }

  /** Messages of the last input: to whom, and what. */
  sent<Kind extends PaxosMessage['kind']>(
    kind: Kind,
  ): readonly { readonly to: ReplicaId; readonly message: Extract<PaxosMessage, { kind: Kind }> }[] {
    return this.effectsOf('send').flatMap(({ to, message }) =>
      message.kind === kind ? [{ to, message: message as Extract<PaxosMessage, { kind: Kind }> }] : [],
    );
  }

  /** Names of the actions of the last input. */
  actions(): readonly string[] {
    return this.effectsOf('trace').map(({ event }) => event.name);
  }

  /** `client`'s proposal is chosen in the next slot, with r2's help. Returns the slot. */
  choose(client: string): Slot {
    this.propose(client);
    const slot = this.effectsOf('proposed')[0]!.slot;
    const { message } = this.sent('SlotPrepare')[0]!;
    const { ballot: of } = message;
    this.flush();
    this.hear(r2, { kind: 'SlotPromise', slot, ballot: of, vote: null });
    this.flush();
    this.hear(r2, { kind: 'SlotAccepted', slot, ballot: of });
    return slot;
  }
}
