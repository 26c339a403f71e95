/** What checkers find, and how it is told. Every checker is a pure function from a history to a verdict. */
import type { Call } from './history.ts';
import { describeTerms } from './read-terms.ts';

export interface Anomaly {
  /** One of the checker's names, such as `G-single`. */
  readonly kind: string;
  /** One line. */
  readonly summary: string;
  /** For people, in order. */
  readonly detail: readonly string[];
}

export interface Verdict {
  readonly anomalies: readonly Anomaly[];
  /** Why the checker could not decide. Counts as a failure: what is not checked is not known. */
  readonly gaveUp: string | null;
}

export const anomaliesShownMax = 5;

/** Operations by what became of them. */
export function countOutcomes(calls: readonly Call[]): Record<'ok' | 'fail' | 'info', number> {
  const counts = { ok: 0, fail: 0, info: 0 };
  for (const call of calls) counts[call.outcome]++;
  return counts;
}

export function describeCall(call: Call): string {
  const times = `${seconds(call.beginUs)} to ${Number.isFinite(call.endUs) ? seconds(call.endUs) : 'never'}`;
  const error = call.error === null ? '' : ` (${call.error})`;
  const asked = JSON.stringify(call.asked);
  const answer = JSON.stringify(call.answer);
  const what = answer === asked ? asked : `${asked} -> ${answer}`;
  const terms = call.terms === null ? '' : ` (${describeTerms(call.terms)})`;
  return `process ${call.process}, ${times}: ${call.f} ${what} ${call.outcome}${error}${terms}`;
}

export function seconds(us: number): string {
  return `${(us / 1e6).toFixed(3)} s`;
}
