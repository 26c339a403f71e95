/** What has become slower since an earlier comparison, by more than the spread of either. Pure. */
import type { Comparison } from '../comparison.ts';
import type { Judged } from './goals.ts';
import { format } from './report.ts';

/** Rounds of one second differ by this much on a quiet machine, and by more on one that is shared. */
const withinShare = 0.1;

/** True if every round of `now` was worse than every round of `before`, and the figure by more than a tenth. */
export function isSlower(now: Judged, before: Judged): boolean {
  if (now.unit === 'ratio') {
    return now.figure.max < before.figure.min && now.figure.value < before.figure.value * (1 - withinShare);
  }
  return now.figure.min > before.figure.max && now.figure.value > before.figure.value * (1 + withinShare);
}

export function guardText(now: Comparison, before: Comparison): string {
  const { commit } = before.versions.barista;
  const than = `${commit ?? 'an unknown commit'} of ${before.startedAt.slice(0, 10)}`;
  const slower = now.judged.flatMap((each) => {
    const earlier = before.judged.find(({ id }) => id === each.id);
    return earlier !== undefined && isSlower(each, earlier) ? [{ each, earlier }] : [];
  });
  if (slower.length === 0) return `guard       nothing is slower than at ${than}, beyond the spread`;
  const lines = slower.map(
    ({ each, earlier }) => `warning: ${each.label}: ${withSpread(each)}, and was ${withSpread(earlier)}`,
  );
  return [`guard       slower than at ${than}, beyond the spread:`, ...lines].join('\n');
}

function withSpread({ figure, unit }: Judged): string {
  return `${format(figure.value, unit)} (${format(figure.min, unit)} to ${format(figure.max, unit)})`;
}
