/** How long a cluster was away, by the times of what it acknowledged. Pure. */

export interface Silence {
  readonly fromUs: number;
  readonly lengthUs: number;
}

/** The longest time in which nothing was acknowledged, between two moments. */
export function longestSilence(acknowledgedUs: readonly number[], fromUs: number, toUs: number): Silence {
  const inside = acknowledgedUs.filter((at) => at >= fromUs && at <= toUs);
  const times = [fromUs, ...inside.sort((a, b) => a - b), toUs];
  let longest: Silence = { fromUs, lengthUs: 0 };
  for (const [index, at] of times.entries()) {
    const before = times[index - 1] ?? fromUs;
    if (at - before > longest.lengthUs) longest = { fromUs: before, lengthUs: at - before };
  }
  return longest;
}
