/** Alterations of what is told of the databases in the runs of groups of seed 1 that may be accepted, each with why: as explained.ts. */
export const applyExplanations: ReadonlyMap<string, string> = new Map([]);
