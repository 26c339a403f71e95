/** What the checker's verdict means to whoever looks at the page. Pure. */
import type { CheckStatus } from '../../../server/src/api/check.ts';

export type CheckTone = 'good' | 'busy' | 'bad';

/** Events are judged a few seconds after they were recorded even if nothing is in the way. */
const USUAL_MS = 6000;

export function checkTone({ refused, ended, behindMs }: CheckStatus): CheckTone {
  if (refused !== null || ended !== null) return 'bad';
  return behindMs > USUAL_MS ? 'busy' : 'good';
}

/** What is wrong, in two parts: a headline and what it is about; null: nothing is. */
export function checkProblem({ refused, ended }: CheckStatus): { headline: string; text: string } | null {
  if (refused !== null) {
    const { action, replica, seq, reason } = refused;
    return { headline: `${action} of ${replica} is not as specified.`, text: `Event ${seq}: ${reason}.` };
  }
  return ended === null ? null : { headline: 'Nothing is checked any more.', text: `The checker: ${ended}.` };
}
