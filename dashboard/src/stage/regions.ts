/**
 * A partition as regions: replicas that reach one another, directly or through others, are in one. Pure.
 *
 * Also what it takes to part a group in another way: cuts where two regions meet, and whole links within each. What else is wrong with a link stays.
 */
import type { FaultRequest, LinkFault } from '../../../server/src/api/status.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { linkKey } from '../model/trace-model.ts';

export type Regions = readonly (readonly string[])[];

/** In the order of their first replicas. A link that is cut one way only still joins. */
export function regionsOf(ids: readonly string[], faults: ReadonlyMap<string, LinkFault>): Regions {
  const isCut = (from: string, to: string): boolean => faults.get(linkKey(from, to))?.cut === true;
  const left = new Set(ids);
  const regions: string[][] = [];
  for (const id of ids) {
    if (!left.delete(id)) continue;
    const region = [id];
    for (const reached of region)
      for (const other of left) {
        if (isCut(reached, other) && isCut(other, reached)) continue;
        left.delete(other);
        region.push(other);
      }
    regions.push(ids.filter((one) => region.includes(one)));
  }
  return regions;
}

/** So that the group is parted like this. */
export function partingRequests(
  regions: Regions,
  faults: ReadonlyMap<string, LinkFault>,
): readonly FaultRequest[] {
  const all = regions.flatMap((region, index) => region.map((id) => ({ id, index })));
  return all.flatMap((from) =>
    all.flatMap((to): readonly FaultRequest[] => {
      if (from.id === to.id) return [];
      const isWanted = from.index !== to.index;
      const isCut = faults.get(linkKey(from.id, to.id))?.cut === true;
      if (isWanted === isCut) return [];
      const ends = { from: from.id as ReplicaId, to: to.id as ReplicaId };
      return [{ action: 'cut', ...ends, amount: isWanted ? 1 : 0 }];
    }),
  );
}

/** Once this one has gone over to that region; `into` null: to none, alone. */
export function movedTo(regions: Regions, id: string, into: number | null): Regions {
  const target = into === null ? null : regions[into]!;
  const moved = regions.map((region) =>
    region === target ? [...region.filter((one) => one !== id), id] : region.filter((one) => one !== id),
  );
  return [...moved, ...(into === null ? [[id]] : [])].filter((region) => region.length > 0);
}
