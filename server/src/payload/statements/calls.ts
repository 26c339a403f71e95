/**
 * Requests of sessions that clients use at whichever replica they like ("calls"): which of them run, and what those are told that come again.
 *
 * Several replicas may give requests of one session at the same time, and what was given up may come into the log yet. So a replica numbers a call behind the last one that it has seen executed, and one that another has
 * come ahead of is passed over ("superseded"): whoever gave it looks at the session anew, and gives it again. Pure. Invariants: what is decided follows from the operations alone; a call that has a name is not executed again
 * while that is remembered (call-memory.ts).
 */
import type { ClientSession } from './client-session.ts';
import type { OperationResult, SessionFacts } from './executor.ts';
import type { RequestOperation } from './operation.ts';

const nothing = Buffer.alloc(0);

/** What it is told without being executed; null: it runs. */
export function toldAhead(session: ClientSession, request: RequestOperation): OperationResult | null {
  const { call, seq } = request;
  if (call === undefined) return null;
  const { status, calls } = session;
  const known = call.isNamed ? calls.told(call, seq) : null;
  if (known !== null)
    return { outcome: known, answer: calls.answerOf(call.name) ?? nothing, status, digest: null };
  const isMet = call.needs === 'any' || (call.needs === 'idle') === (status === 'I');
  return isMet ? null : { outcome: 'unmet', answer: nothing, status, digest: null };
}

export function superseded({ status }: ClientSession): OperationResult {
  return { outcome: 'superseded', answer: nothing, status, digest: null };
}

export function factsOf({ seq, status, settings, hadUncompared }: ClientSession): SessionFacts {
  return { seq, status, settings, hadUncompared };
}
