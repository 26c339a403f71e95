/**
 * What becomes of a client's requests when its leader has gone: what the client is told, and what is sent to the next leader.
 *
 * Pure. Invariants: success is told only of what is committed; a request is sent again only if nothing of it was told and it is certain that it was not committed, and once; where nobody can know, the client hears so.
 */
import { errorResponse, type GatewayError, readyForQuery } from '../../../pgwire/backend-messages.ts';
import type { Doubt } from '../codec/doubt-frame.ts';
import type { TransactionStatus } from '../../../pgwire/message-types.ts';
import * as errors from '../errors.ts';
import type { RequestOutcome } from '../../../ports/client-service.ts';
import { committedAnswer } from '../session/farewell.ts';
import type { RequestTracker } from '../session/request-tracker.ts';
import type { Said } from './last-words.ts';

export interface Interrupted {
  readonly tracker: RequestTracker;
  /** What the client has been told: whether it ends between two messages, holds part of the answer that is due, or PostgreSQL's own reason for the end. */
  readonly told: { readonly atBoundary: boolean; readonly begun: boolean; readonly saidFatal: boolean };
  /** What is known of the transaction that is under way. */
  readonly doubt: Doubt | null;
  /** Of requests that are committed: all of their answer but ReadyForQuery; null: it is not known. */
  readonly answer: readonly Buffer[] | null;
  /** The requests say that they only read, and are a transaction of their own. */
  readonly isRead: boolean;
  /** The client was told the error of the first request, which began its transaction and has nothing committed. */
  readonly hasFailed: boolean;
  /** All that the client has sent and was not answered is at hand. */
  readonly hasRequests: boolean;
  /** Part of a message has come of the client that has to be answered, and is among them. */
  readonly isMidMessage: boolean;
  readonly said: Said | null;
  /** The request is not executed again: it was before. */
  readonly isSpent: boolean;
  /** What the session cannot be given back. */
  readonly lost: readonly string[];
}

/** How the session goes on. */
export interface Continuation {
  /** The client hears this, which holds so many ReadyForQuery messages, the last of which says this status. */
  readonly words: readonly Buffer[];
  readonly readies: number;
  readonly status: TransactionStatus;
  /** What was not answered is sent to the next leader; `reading`: in a block in which it cannot write. */
  readonly resends: 'no' | 'asItWas' | 'reading';
  /** In which PostgreSQL's session is to be: `none`; `failed`: one that has failed, as the client knows; `untold`: as it does not know yet. */
  readonly block: 'none' | 'failed' | 'untold';
  /** The batch that the client has begun fails with this, and is passed over up to its Sync. */
  readonly fails: GatewayError | null;
  /** The client hears what its session has lost. */
  readonly tellsLoss: boolean;
  /** It holds only if the session has changed nothing elsewhere: it is done again, or called not committed, because it is not committed here. Else its outcome is unknown. */
  readonly trustsAbsence: boolean;
}

/** `end`: the session ends as without this; `outcome`: if it is known already. `ask`: what became of the transaction must be found out, then `settleAfter` tells. */
export type Settlement =
  | { readonly kind: 'end'; readonly outcome: RequestOutcome | null }
  | { readonly kind: 'ask'; readonly doubt: Doubt }
  | { readonly kind: 'go'; readonly how: Continuation };

const end: Settlement = { kind: 'end', outcome: null };
const spent: Settlement = { kind: 'end', outcome: { code: 'notCommitted' } };

export function settle(interrupted: Interrupted): Settlement {
  const { tracker, told, doubt, hasRequests, said } = interrupted;
  if (told.saidFatal || !told.atBoundary || tracker.terminated) return end;
  if (tracker.owed.miscounts || tracker.mayHaveSurplus) return end;
  // Perhaps part of a message was sent.
  if (!tracker.outstanding) return hasRequests ? again(tracker) : end;
  if (interrupted.hasFailed && tracker.due === 1 && !tracker.open && !interrupted.isMidMessage)
    return go({ words: [readyForQuery('I')], readies: 1 });
  // Of data that have not ended nothing is committed.
  const isTaking = tracker.owed.isTaking && tracker.due <= 1;
  const rollsBack = tracker.status === 'E' && tracker.isLoneCommit;
  if (tracker.verdict === 'nothing' || said === 'notCommitted' || isTaking || rollsBack) {
    return settleAfter(interrupted, { code: 'notCommitted' });
  }
  if (tracker.verdict === 'several') return settleAfter(interrupted, { code: 'unknown' });
  if (said === 'committed') return settleAfter(interrupted, { code: 'committed', tag: null });
  if (doubt !== null) return { kind: 'ask', doubt };
  // If it has written all the same, and does so again, it is refused, and nobody knows of the first time.
  if (interrupted.isRead && hasRequests && !told.begun && !interrupted.isMidMessage)
    return interrupted.isSpent ? end : go({ resends: 'reading', trustsAbsence: true });
  return settleAfter(interrupted, { code: 'unknown' });
}

/** `outcome`: of the transaction that the requests end. */
export function settleAfter(interrupted: Interrupted, outcome: RequestOutcome): Settlement {
  const settlement = byOutcome(interrupted, outcome);
  // What is not sent again is answered, and the rest of a message cannot be.
  const cannot = settlement.kind === 'go' && settlement.how.resends === 'no' && interrupted.isMidMessage;
  return cannot ? end : settlement;
}

function byOutcome(interrupted: Interrupted, outcome: RequestOutcome): Settlement {
  const { tracker, told, hasRequests, lost } = interrupted;
  switch (outcome.code) {
    case 'committed': {
      const answer = told.begun ? null : committedAnswer(tracker, outcome.tag, interrupted.answer);
      if (answer === null) return failAll(tracker, errors.withLoss(errors.committedAnswerLost, lost), 1);
      return go({ words: [...answer, readyForQuery('I')], readies: 1 });
    }
    case 'notCommitted':
      if (!told.begun && hasRequests) return interrupted.isSpent ? spent : again(tracker);
      return failOne(tracker, errors.withLoss(errors.notCommittedHere, lost));
    case 'unknown':
      return failAll(tracker, errors.withLoss(errors.outcomeUnknownHere, lost), tracker.due);
    default:
      return outcome satisfies never;
  }
}

/** Nothing of it was told, and nothing is committed. */
function again(tracker: RequestTracker): Settlement {
  const { status } = tracker;
  const block = status === 'T' ? 'untold' : status === 'E' ? 'failed' : 'none';
  return go({
    resends: 'asItWas',
    block,
    tellsLoss: block === 'untold',
    trustsAbsence: mayHaveEffect(tracker),
  });
}

/** Something that PostgreSQL has got of it may have been committed, or done elsewhere. */
function mayHaveEffect({ outstanding, verdict, status, isLoneCommit }: RequestTracker): boolean {
  const rollsBack = status === 'E' && isLoneCommit;
  return outstanding && verdict !== 'nothing' && !rollsBack;
}

/** The one request that is under way fails: part of its answer was told, or it cannot be sent again. */
function failOne(tracker: RequestTracker, error: GatewayError): Settlement {
  const inBlock = tracker.status !== 'I';
  if (tracker.open) {
    return tracker.due > 0 ? end : go({ fails: error, block: inBlock ? 'failed' : 'none', tellsLoss: true });
  }
  if (tracker.due !== 1) return end;
  // A request that would have committed has ended the block.
  const status = inBlock && tracker.verdict === 'nothing' ? 'E' : 'I';
  return fail(error, { readies: 1, status, trustsAbsence: mayHaveEffect(tracker) });
}

/** Whatever is owed fails with this. */
function failAll(tracker: RequestTracker, error: GatewayError, dueMax: number): Settlement {
  return tracker.open || tracker.due > dueMax
    ? end
    : fail(error, { readies: tracker.due, status: 'I', trustsAbsence: false });
}

function fail(
  error: GatewayError,
  { readies, status, trustsAbsence }: Pick<Continuation, 'readies' | 'status' | 'trustsAbsence'>,
): Settlement {
  const one = [errorResponse('ERROR', error), readyForQuery(status)];
  const words = Array.from({ length: readies }, () => one).flat();
  const block = status === 'E' ? 'failed' : 'none';
  return go({ words, readies, status, block, tellsLoss: true, trustsAbsence });
}

const usual: Continuation = {
  words: [],
  readies: 0,
  status: 'I',
  resends: 'no',
  block: 'none',
  fails: null,
  tellsLoss: false,
  trustsAbsence: false,
};

function go(how: Partial<Continuation>): Settlement {
  return { kind: 'go', how: { ...usual, ...how } };
}
