/**
 * The end of a transaction that may have written: harvest, agree, commit.
 *
 * Invariants: COMMIT is sent only if there is nothing to agree on, or the transaction has been chosen; the client hears of success
 * only afterwards, and of failure only what is true. Between proposal and commit no cancel reaches PostgreSQL and nothing
 * but the outcome ends the session. A chosen transaction that could not be committed here is reported (`commitFailed`).
 */
import type { TransactionPayload } from '../../../apply/effects.ts';
import type { AgreementOutcome } from '../../../ports/agreement.ts';
import {
  commandComplete,
  errorFromFields,
  errorResponse,
  type GatewayError,
  readyForQuery,
} from '../codec/backend-messages.ts';
import { doubtFrame } from '../codec/doubt-frame.ts';
import { back } from '../codec/message-types.ts';
import * as errors from '../errors.ts';
import { endTransaction, type SessionContext } from './context.ts';
import { createHarvest, type Harvest } from './harvest.ts';
import { committedBefore, type CommittedBefore, tagToKeep, undoRepetition } from './request.ts';
import { SessionEnded } from './session-ended.ts';
import { type FlightResult, ownCommand, ownSync, type Step, type StepError } from './step.ts';
import { endSteps, harvestSteps } from './wrapper.ts';

export interface CommitOptions {
  /** What the client sent before, in the same flight. */
  readonly before: readonly Step[];
  readonly chain: boolean;
  readonly keepUnnamed: boolean;
  /** COMMIT is the client's own: it gets the answer. Otherwise its statement's answer is being kept back. */
  readonly clientCommits: boolean;
}

/**
 * `clientError`: one of the `before` steps failed, which the client has been told. `repeated`: a transaction of this name had been committed before; this one
 * is rolled back. `failed`: rolled back; tell it `error`.
 */
export type CommitResult =
  | { readonly kind: 'committed'; readonly chosen: boolean }
  | { readonly kind: 'clientError'; readonly result: FlightResult }
  | { readonly kind: 'repeated'; readonly request: CommittedBefore; readonly answeredRows: boolean }
  | { readonly kind: 'failed'; readonly error: Buffer };

class CommitFailure extends Error {
  override readonly name = 'CommitFailure';
  readonly frame: Buffer;
  constructor(frame: Buffer) {
    super('the transaction cannot be committed');
    this.frame = frame;
  }
}

/** The transaction was committed before, under the name that the client gave it. */
class Repetition extends Error {
  override readonly name = 'Repetition';
  readonly request: CommittedBefore;
  constructor(request: CommittedBefore) {
    super('committed before');
    this.request = request;
  }
}

const failWith = (error: GatewayError): never => {
  throw new CommitFailure(errorResponse('ERROR', error));
};

export const commit = async (context: SessionContext, options: CommitOptions): Promise<CommitResult> => {
  const transaction = context.nextTransaction();
  const harvest = createHarvest({
    sessionSql: context.sessionSql,
    link: context.link,
    transaction,
    partBytesMax: context.agreement.partBytesMax,
    sentSql: context.sentSql,
  });
  const flight = context.link.send([
    ...options.before,
    ...harvestSteps(context, harvest, options.keepUnnamed),
    ownSync,
  ]);
  try {
    const first = await Promise.race([flight.done, harvest.large]);
    if (first === 'large') {
      await agreeOnLarge(context, { ...options, transaction, harvest, harvested: flight.done });
      return { kind: 'committed', chosen: true };
    }
    harvest.finish();
    if (first.error !== null && isClients(first.error)) return { kind: 'clientError', result: first };
    checkHarvest(context, harvest, first.error);
    if (harvest.isEmpty) {
      await commitUnagreed(context, options);
      return { kind: 'committed', chosen: false };
    }
    await beforeProposal(context, { ...options, transaction, harvest });
    await decide(context, {
      ...options,
      transaction,
      harvest,
      parts: only(harvest.lastPart(tagToKeep(context, options.clientCommits))),
    });
    return { kind: 'committed', chosen: true };
  } catch (error) {
    if (error instanceof Repetition) {
      const { answeredRows } = context;
      await undoRepetition(context, options);
      return { kind: 'repeated', request: error.request, answeredRows };
    }
    if (!(error instanceof CommitFailure)) throw error;
    await rollBack(context, options.keepUnnamed);
    return { kind: 'failed', error: error.frame };
  } finally {
    context.deciding = false;
    context.cancels.open();
  }
};

const isClients = ({ step }: StepError): boolean => !step.own || step.tells === true;

/** Ends whatever block is open. */
export const rollBack = async (context: SessionContext, keepUnnamed: boolean): Promise<void> => {
  const steps = ownCommand('ROLLBACK', { keepUnnamed });
  const { status } = await context.link.send([...steps, ownSync]).done;
  endTransaction(context, status ?? 'I');
};

const checkHarvest = (context: SessionContext, harvest: Harvest, error: StepError | null): void => {
  const before = error === null ? harvest.committedBefore : committedBefore(error);
  if (before !== null) throw new Repetition(before);
  if (error !== null) throw new CommitFailure(injectedError(context, error));
  if (harvest.refused !== null) failWith(harvest.refused);
  if (context.holdsCursor && !harvest.isEmpty) failWith(errors.holdCursorRefused);
};

/** What may be told of an injected statement's error: of those that carry the secret, no context and no query text. */
const injectedError = (context: SessionContext, error: StepError): Buffer => {
  if (error.step.speaks === true) return errorFromFields(error.fields);
  const { secret } = context.sessionSql;
  const told = [...error.fields].filter(
    ([letter, value]) => 'SVCMH'.includes(letter) && (secret === '' || !value.includes(secret)),
  );
  return errorFromFields(new Map(told));
};

/** Nothing was written. A cursor WITH HOLD runs its query now: read-only, so that it writes nothing either. */
const commitUnagreed = async (context: SessionContext, options: CommitOptions): Promise<void> => {
  const guard = context.holdsCursor
    ? ownCommand('SET TRANSACTION READ ONLY', { keepUnnamed: options.keepUnnamed })
    : [];
  const end = endSteps({
    command: 'COMMIT',
    chain: options.chain,
    keepUnnamed: options.keepUnnamed,
    answersClient: options.clientCommits,
  });
  context.output.hold();
  const { status, error } = await context.link.send([...guard, ...end, ownSync]).done;
  if (error !== null) throw new CommitFailure(errorFromFields(error.fields));
  endTransaction(context, status ?? 'I');
};

interface Deciding extends CommitOptions {
  readonly transaction: string;
  readonly harvest: Harvest;
}

/** From here on no cancel may strike; one that is on its way must strike before anything is proposed. */
const beforeProposal = async (context: SessionContext, options: Deciding): Promise<void> => {
  if (await context.cancels.close()) {
    const barrier = ownCommand('SELECT 1', { keepUnnamed: options.keepUnnamed, speaks: true });
    const { error } = await context.link.send([...barrier, ownSync]).done;
    if (error !== null) throw new CommitFailure(errorFromFields(error.fields));
  }
  if (context.isLost()) context.endWith(errors.notLeaderAnyMore);
  context.deciding = true;
  if (options.harvest.serializable) await prepareTransaction(context, options);
};

/** Where PostgreSQL may refuse as late as COMMIT, only PREPARE TRANSACTION settles it. */
const prepareTransaction = async (context: SessionContext, options: Deciding): Promise<void> => {
  const { keepUnnamed, transaction } = options;
  const { secret, recordTransaction } = context.sessionSql;
  const record = [
    ...recordRequest(context, options, ''),
    ...ownCommand(recordTransaction, { keepUnnamed, parameters: [secret, transaction] }),
  ];
  const prepare = ownCommand(`PREPARE TRANSACTION '${transaction}'`, { keepUnnamed, speaks: true });
  const { error } = await context.link.send([...record, ...prepare, ownSync]).done;
  if (error !== null) throw new CommitFailure(injectedError(context, error));
};

/** In the transaction itself. */
const recordRequest = (context: SessionContext, options: Deciding, slot: string): Step[] => {
  if (!options.harvest.named) return [];
  const { secret, recordRequest: sql } = context.sessionSql;
  const parameters = [secret, slot, tagToKeep(context, options.clientCommits)];
  return ownCommand(sql, { keepUnnamed: options.keepUnnamed, parameters });
};

const only = async function* (part: TransactionPayload): AsyncGenerator<TransactionPayload> {
  yield part;
};

/** Agreement begins while the harvest is still coming in. */
const agreeOnLarge = async (
  context: SessionContext,
  options: Deciding & { readonly harvested: Promise<FlightResult> },
): Promise<void> => {
  const failure: { error: unknown } = { error: null };
  const { harvest } = options;
  const harvested = options.harvested.finally(() => harvest.finish());
  harvested.catch(() => {});
  const parts = async function* (): AsyncGenerator<TransactionPayload> {
    try {
      yield* harvest.fullParts();
      checkHarvest(context, harvest, (await harvested).error);
      await beforeProposal(context, options);
    } catch (error) {
      failure.error = error;
      throw error;
    }
    yield harvest.lastPart(tagToKeep(context, options.clientCommits));
  };
  try {
    await decide(context, { ...options, parts: parts() });
  } catch (error) {
    harvest.abandon();
    await harvested;
    throw failure.error ?? error;
  }
};

const decide = async (
  context: SessionContext,
  options: Deciding & { readonly parts: AsyncIterable<TransactionPayload> },
): Promise<void> => {
  tellDoubt(context, options);
  const outcome = await context.agreement.agree(options.parts, context.generation);
  if (outcome.code === 'chosen') await commitChosen(context, options, outcome);
  else await giveUp(context, options, outcome);
};

/** A longer one is lost with the leader. */
const answerBytesMax = 16_384;

const tellDoubt = (context: SessionContext, options: Deciding): void => {
  if (!context.takesDoubts) return;
  const mark = context.agreement.mark(context.generation);
  if (mark === null) return;
  const told = options.clientCommits ? [commandComplete('COMMIT')] : context.output.peekHeld();
  const whole = told.some((frame) => frame[0] === back.commandComplete);
  const answer = Buffer.concat([...told, readyForQuery('I')]);
  context.output.tell(
    doubtFrame({
      mark: { ...mark, transaction: options.transaction },
      answer: whole && answer.length <= answerBytesMax ? answer : null,
    }),
  );
};

const giveUp = async (
  context: SessionContext,
  options: Deciding,
  outcome: Exclude<AgreementOutcome, { code: 'chosen' }>,
): Promise<void> => {
  context.deciding = false;
  if (outcome.code === 'unknown') context.endWith(errors.outcomeUnknown(outcome.reason));
  if (outcome.code === 'notLeader') context.endWith(errors.notProposed(outcome.reason));
  const error =
    outcome.code === 'superseded' ? errors.superseded(outcome.reason) : errors.overloaded(outcome.reason);
  if (context.isLost()) context.endWith(error);
  if (options.harvest.serializable) {
    const steps = ownCommand(`ROLLBACK PREPARED '${options.transaction}'`, {
      keepUnnamed: options.keepUnnamed,
    });
    await context.link.send([...steps, ownSync]).done;
  }
  failWith(error);
};

const commitChosen = async (
  context: SessionContext,
  options: Deciding,
  outcome: Extract<AgreementOutcome, { code: 'chosen' }>,
): Promise<void> => {
  context.output.hold();
  context.link.resumeAll();
  let reason = 'the session was lost';
  try {
    if (!context.isLost()) {
      const { status, error } = await context.link.send(commitSteps(context, options, outcome.slot)).done;
      if (error === null) {
        context.agreement.committed(outcome.slot);
        context.count('transactions');
        endTransaction(context, status ?? 'I');
        return;
      }
      reason = `${error.fields.get('C') ?? ''} ${error.fields.get('M') ?? ''}`;
    }
  } catch (error) {
    if (!(error instanceof SessionEnded)) throw error;
    reason = 'PostgreSQL went away';
  }
  context.agreement.commitFailed(outcome.slot, reason);
  context.deciding = false;
  // It will be applied from the log: the client is told what is true. Only ReadyForQuery makes it certain: an error after
  // CommandComplete alone may mean, in the extended protocol, that the commit failed.
  const told = options.clientCommits ? [commandComplete('COMMIT')] : context.output.takeHeld();
  context.endWith(errors.committedButEnding, [...context.output.takeWaiting(), ...told, readyForQuery('I')]);
};

const commitSteps = (context: SessionContext, options: Deciding, slot: number): Step[] => {
  const { keepUnnamed, clientCommits, chain, harvest, transaction } = options;
  if (!harvest.serializable) {
    const { secret, recordSlot } = context.sessionSql;
    return [
      ...recordRequest(context, options, String(slot)),
      ...ownCommand(recordSlot, { keepUnnamed, parameters: [secret, String(slot)] }),
      ...endSteps({ command: 'COMMIT', chain, keepUnnamed, answersClient: clientCommits }),
      ownSync,
    ];
  }
  const answer = (): void => {
    if (clientCommits) context.output.answer(commandComplete('COMMIT'));
  };
  return [
    ...ownCommand(`COMMIT PREPARED '${transaction}'`, { keepUnnamed, onComplete: answer }),
    ...(harvest.named ? ownCommand(context.sessionSql.forgetRequest, { keepUnnamed }) : []),
    ...(chain ? ownCommand('BEGIN ISOLATION LEVEL SERIALIZABLE', { keepUnnamed }) : []),
    ownSync,
  ];
};
