/** Replicas at a border of segments: taken down when the segment opens or closes, and told when its slots are known. */
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { Held } from './spec-message.ts';
import { watchChanges, type ReplicaState, type SpecState } from './spec-state.ts';

/** One replica at a border of segments; the logs hold the segment's slots, in their order. */
export interface FrozenReplica
  extends Pick<
    ReplicaState,
    | 'role'
    | 'promised'
    | 'config'
    | 'commitPoint'
    | 'durablePromised'
    | 'buffer'
    | 'promises'
    | 'startSlot'
    | 'backlog'
    | 'serving'
  > {
  readonly acks: readonly (readonly [slot: number, from: ReplicaId])[];
  readonly log: readonly HeldOrNot[];
  readonly durableLog: readonly HeldOrNot[];
}

/** `settled`: it holds what was chosen before the trace began. */
export type HeldOrNot = Held | 'nothing' | 'settled';

/** Takes down the state as it is now; the logs are read when the slots are known, and may change until then. */
export function freezer(state: SpecState): (slots: readonly number[]) => FrozenReplica[] {
  const frozen = [...state.replicas.values()].map(freezeReplica);
  return (slots) => frozen.map((freeze) => freeze(slots));
}

function freezeReplica(replica: ReplicaState): (slots: readonly number[]) => FrozenReplica {
  const { role, promised, config, commitPoint, durablePromised, startSlot, serving, base } = replica;
  const backlog = [...replica.backlog];
  const acks = [...replica.acks].flatMap(([slot, voters]) =>
    [...voters].map((from) => [slot, from] as const),
  );
  const [buffer, promises] = [[...replica.buffer], [...replica.promises]];
  const view = watchChanges(replica);
  const held = (read: (slot: number) => Held | undefined) => (slot: number) =>
    read(slot) ?? (slot <= base ? 'settled' : 'nothing');
  return (slots) => ({
    role,
    promised,
    config,
    commitPoint,
    durablePromised,
    startSlot,
    backlog,
    serving,
    acks,
    buffer,
    promises,
    log: role === 'down' ? slots.map((): HeldOrNot => 'nothing') : slots.map(held(view.log)),
    durableLog: slots.map(held(view.durable)),
  });
}
