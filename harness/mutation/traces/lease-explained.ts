/** Alterations of what is told of leases in the runs of groups of seed 1 that may be accepted, each with why: as explained.ts. */
export const leaseExplanations: ReadonlyMap<string, string> = new Map([]);
