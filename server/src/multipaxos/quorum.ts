/**
 * Quorums: majorities of the voters of a configuration, counted by bit masks or by names.
 *
 * Responsible for: how many replicas are enough, and how many bits are set. Any two quorums share a member.
 */

/** A member of the group is one bit of a 32-bit integer whose sign bit stays clear. */
const membersMax = 31;
/** A change that is under way names one member more: another incarnation of a replica. */
export const replicasMax = membersMax - 1;

export function majority(memberCount: number): number {
  return Math.floor(memberCount / 2) + 1;
}

/** True if more than half of `voters` are in `heard`. */
export function hasMajority<Name>(voters: readonly Name[], heard: ReadonlySet<Name>): boolean {
  let count = 0;
  for (const voter of voters) if (heard.has(voter)) count += 1;
  return count >= majority(voters.length);
}

/** Number of members in a mask. Each member counts once, however often it was added. */
export function countMembers(mask: number): number {
  let rest = mask - ((mask >>> 1) & 0x55555555);
  rest = (rest & 0x33333333) + ((rest >>> 2) & 0x33333333);
  return (((rest + (rest >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

/** The highest value that at least `count` of `values` reach: with count 2 of [5, 9, 7] it is 7. */
export function reachedBy(values: readonly number[], count: number): number {
  let best = Number.NEGATIVE_INFINITY;
  for (const candidate of values) {
    if (candidate <= best) continue;
    let reached = 0;
    for (const value of values) if (value >= candidate) reached += 1;
    if (reached >= count) best = candidate;
  }
  return best;
}
