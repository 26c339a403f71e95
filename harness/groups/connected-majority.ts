/**
 * A minority that is cut off from the others, in one of the ways in which networks do that, while those reach each other.
 *
 * Responsible for: the cut, and what keeps it. What the others must do meanwhile is the schedule's to say.
 */
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { Random } from '../../server/src/ports/testing/random.ts';
import type { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';

const ways = ['is cut off', 'is not heard', 'hears nothing', 'comes and goes', 'reaches one other'] as const;

export interface CutOff {
  /** For people. */
  readonly how: string;
  readonly stop: () => void;
}

export function cutOffMinority(group: MemoryGroup, random: Random): CutOff {
  const { ids, network, time } = group;
  const least = Math.floor(ids.length / 2) + 1;
  const shuffled = random.shuffled(ids);
  const leader = group.serving()?.id;
  // Half of the time the leader is among them.
  const first = leader !== undefined && random.chance(0.5) ? [leader] : [];
  const minority = [...first, ...shuffled.filter((id) => !first.includes(id))].slice(0, ids.length - least);
  const majority = ids.filter((id) => !minority.includes(id));
  const way = random.pick(ways);
  const cut = (id: ReplicaId, other: ReplicaId): (() => void)[] => {
    if (way === 'reaches one other' && other === majority[0]) return [];
    const here = way === 'hears nothing' ? [] : [network.cut(id, other)];
    return way === 'is not heard' ? here : [...here, network.cut(other, id)];
  };
  const cutAll = (): (() => void)[] => minority.flatMap((id) => majority.flatMap((other) => cut(id, other)));
  let mends = cutAll();
  const turn = (): void => {
    const isCut = mends.length > 0;
    for (const mend of mends) mend();
    mends = isCut ? [] : cutAll();
  };
  const stopTurning =
    way === 'comes and goes' ? time.every(100 + random.next() * 1500, turn) : (): void => undefined;
  return {
    how: `${minority.join(', ')} ${way}`,
    stop: () => {
      stopTurning();
      for (const mend of mends) mend();
    },
  };
}
