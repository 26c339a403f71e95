/** Which points of a line stand alone, a gap on both sides: a line that is drawn from point to point does not show them. Pure. */
export function lonePoints(values: ArrayLike<number | null | undefined>): number[] {
  return Array.from(values).flatMap((value, at) =>
    value != null && values[at - 1] == null && values[at + 1] == null ? [at] : [],
  );
}
