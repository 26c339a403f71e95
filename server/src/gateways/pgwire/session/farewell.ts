/**
 * What a client is told when its session has to end: what is true, and nothing that is not certain.
 *
 * Pure. The same for a client of the leader and for one of a follower, whose gateway has followed the session from outside.
 */
import {
  commandComplete,
  errorResponse,
  type GatewayError,
  readyForQuery,
} from '../../../pgwire/backend-messages.ts';
import type { Doubt } from '../codec/doubt-frame.ts';
import type { ClientService, RequestOutcome, SessionPlace } from '../../../ports/client-service.ts';
import * as errors from '../errors.ts';
import type { RequestTracker } from './request-tracker.ts';

export interface Situation {
  readonly tracker: RequestTracker;
  /** What the client has been told: whether it ends between two messages, holds part of the answer that is due, or PostgreSQL's own reason for the end. */
  readonly told: { readonly atBoundary: boolean; readonly begun: boolean; readonly saidFatal: boolean };
  /** What is known of the transaction that is under way. */
  readonly doubt: Doubt | null;
  /** Of one that is committed: all of its answer but ReadyForQuery, if it is known. */
  readonly answer?: readonly Buffer[] | null;
}

/** `words`: last messages, perhaps none. `ask`: what became of it must be found out first, then `wordsAfter` tells. */
export type Farewell =
  | { readonly kind: 'words'; readonly bytes: readonly Buffer[] }
  | { readonly kind: 'ask'; readonly doubt: Doubt };

export function farewell({ tracker, told, doubt }: Situation, reason: GatewayError): Farewell {
  if (told.saidFatal || !told.atBoundary) return { kind: 'words', bytes: [] };
  if (!tracker.outstanding) {
    return words(tracker.status === 'I' ? reason : errors.nothingCommitted(reason));
  }
  switch (tracker.verdict) {
    case 'nothing':
      return words(tracker.status === 'I' ? reason : errors.nothingCommitted(reason));
    case 'one':
      return doubt === null ? words(errors.outcomeUnknown(reason.message)) : { kind: 'ask', doubt };
    case 'several':
      return words(errors.outcomeUnknown(reason.message));
    default:
      return tracker.verdict satisfies never;
  }
}

/** That nothing is committed here says nothing of what a session may have done elsewhere. Never rejects, as the service does not. */
export async function askOutcome(
  service: Pick<ClientService, 'outcomeOf' | 'outcomeOfRequest' | 'mayActElsewhere'>,
  doubt: Doubt,
  { spokeOfElsewhere, ...session }: SessionPlace & { readonly spokeOfElsewhere: boolean },
  waitMs: number,
): Promise<RequestOutcome> {
  const outcome = await askHere(service, doubt, waitMs);
  if (outcome.code !== 'notCommitted') return outcome;
  const { leadership } = doubt.kind === 'request' ? doubt : doubt.transaction;
  if (spokeOfElsewhere) return { code: 'unknown' };
  const owner = doubt.kind === 'request' ? doubt.request.owner : session.owner;
  const isLocal = !(await service.mayActElsewhere({ ...session, owner }, leadership, waitMs));
  return isLocal ? outcome : { code: 'unknown' };
}

async function askHere(
  service: Pick<ClientService, 'outcomeOf' | 'outcomeOfRequest'>,
  doubt: Doubt,
  waitMs: number,
): Promise<RequestOutcome> {
  if (doubt.kind === 'request') return service.outcomeOfRequest(doubt.request, doubt.leadership, waitMs);
  const code = await service.outcomeOf(doubt.transaction, waitMs);
  return code === 'committed' ? { code, tag: null } : { code };
}

export function wordsAfter(
  { tracker, told, answer = null }: Omit<Situation, 'doubt'>,
  outcome: RequestOutcome,
  reason: GatewayError,
): readonly Buffer[] {
  switch (outcome.code) {
    case 'committed': {
      const isOrder = reason === errors.terminated;
      const success = told.begun ? null : committedAnswer(tracker, outcome.tag, answer);
      if (success === null)
        return [fatal(isOrder ? errors.committedUntoldFor(reason) : errors.committedUntold)];
      return [...success, readyForQuery('I'), fatal(isOrder ? reason : errors.committedButEnding)];
    }
    case 'notCommitted':
      return [fatal(errors.isFinal(reason) ? errors.nothingCommitted(reason) : errors.notCommitted)];
    case 'unknown':
      return [fatal(errors.outcomeUnknown(reason.message))];
    default:
      return outcome satisfies never;
  }
}

/** Of what is committed, but for ReadyForQuery; null: it is not known. */
export function committedAnswer(
  tracker: RequestTracker,
  kept: string | null,
  answer: readonly Buffer[] | null,
): readonly Buffer[] | null {
  const tag = successTag(tracker, kept);
  if (tag !== null) return [commandComplete(tag)];
  return tracker.due === 1 && !tracker.open ? answer : null;
}

/** How PostgreSQL would have told success, where the whole answer is known to consist of that. */
function successTag(tracker: RequestTracker, kept: string | null): string | null {
  if (tracker.isLoneCommit) return 'COMMIT';
  return tracker.loneText === null ? null : kept;
}

function words(error: GatewayError): Farewell {
  return { kind: 'words', bytes: [fatal(error)] };
}

function fatal(error: GatewayError): Buffer {
  return errorResponse('FATAL', error);
}
