/** What a page is told of a check that it asked for: how far it is, and then a verdict, or why there will be none. */
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { FromChecker } from '../src/spec/check-protocol.ts';
import { verdictOn } from './verdict.ts';

export async function answer(
  events: readonly TraceEvent[],
  tell: (message: FromChecker) => void,
): Promise<void> {
  try {
    const verdict = await verdictOn(events, (done, all) => tell({ kind: 'progress', done, all }));
    tell({ kind: 'verdict', verdict });
  } catch (error) {
    tell({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
  }
}
