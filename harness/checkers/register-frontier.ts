/** What the search for an order of a register's operations keeps: configurations that may hold, without those that another one makes needless. Pure. */
export type RegisterValue = number | null;

export interface Configuration {
  readonly value: RegisterValue;
  /** Ids of open operations that have taken effect, ascending. Those that are known to end... */
  readonly done: readonly number[];
  /** ...and those of which nobody knows. */
  readonly unknown: readonly number[];
}

/** Configurations, without those that another one makes needless. */
export class Frontier {
  private readonly byKey = new Map<string, Configuration[]>();

  /** False if it is needless. */
  add(configuration: Configuration): boolean {
    const key = `${configuration.value}|${configuration.done.join(',')}`;
    const peers = this.byKey.get(key) ?? [];
    if (peers.some((peer) => isSubset(peer.unknown, configuration.unknown))) return false;
    const kept = peers.filter((peer) => !isSubset(configuration.unknown, peer.unknown));
    this.byKey.set(key, [...kept, configuration]);
    return true;
  }

  all(): readonly Configuration[] {
    return [...this.byKey.values()].flat();
  }
}

function isSubset(part: readonly number[], whole: readonly number[]): boolean {
  return part.length <= whole.length && part.every((id) => whole.includes(id));
}

export function insert(ids: readonly number[], id: number): readonly number[] {
  return [...ids, id].sort((a, b) => a - b);
}
