/**
 * Part of a pipeline of the extended protocol while it is being run: sends what has been added, and sets things right after errors.
 *
 * Invariant: after an error PostgreSQL has had a Sync of ours and takes commands again, and a wrapper of ours is rolled back.
 */
import { errorFromFields, errorResponse, type GatewayError } from '../codec/backend-messages.ts';
import { rollBack } from './commit.ts';
import { endTransaction, type SessionContext, type TransactionBlock } from './context.ts';
import type { ExtendedMessage } from './extended-messages.ts';
import { spoilBlock } from './spoil-block.ts';
import { type FlightResult, ownSync, type Step } from './step.ts';

export const keepUnnamed = true;
export const readOnlyViolation = '25006';

/** `full`: more than is looked at in one go. */
export type BatchEnd = 'sync' | 'flush' | 'full';

/** A batch being run. `steps` are still to be sent; `block` is what it will be once they are. */
export interface Batch {
  readonly messages: readonly ExtendedMessage[];
  readonly end: BatchEnd;
  readonly mayReadOnly: boolean;
  steps: Step[];
  block: TransactionBlock;
  readOnly: boolean;
  /** The transaction that has just been committed was agreed on. */
  chosen: boolean;
  /** PostgreSQL has had a Sync since the last step. */
  synced: boolean;
  /** Messages before this one belong to a group that has been planned. */
  plannedTo: number;
}

/** Sends what has been added, and a Sync of our own. False after an error; things are in order again then. */
export const sendWithSync = async (context: SessionContext, batch: Batch): Promise<boolean> => {
  const steps = batch.steps;
  batch.steps = [];
  batch.synced = true;
  return settle(context, batch, await context.link.send([...steps, ownSync]).done);
};

export const settle = async (
  context: SessionContext,
  batch: Batch,
  result: FlightResult,
): Promise<boolean> => {
  if (result.status !== null) noteStatus(context, result.status);
  batch.block = context.block;
  if (result.error === null) return true;
  await recover(context, batch, result);
  return false;
};

const noteStatus = (context: SessionContext, status: 'I' | 'T' | 'E'): void => {
  if (status === 'I') {
    context.prepared.portals.clear();
    endTransaction(context, status);
  } else {
    context.status = status;
    if (context.block === 'none') context.block = 'explicit';
  }
};

/** After an error: PostgreSQL takes commands again, and our wrapper is gone. */
const recover = async (context: SessionContext, batch: Batch, result: FlightResult): Promise<void> => {
  const { error } = result;
  if (error !== null && error.step.own) context.output.answer(errorFromFields(error.fields));
  if (error?.fields.get('C') !== readOnlyViolation) context.mayRunAgain = false;
  if (result.status === null) {
    const { status } = await context.link.send([ownSync]).done;
    noteStatus(context, status ?? 'I');
  }
  if (context.block === 'wrapped') await rollBack(context, keepUnnamed);
  batch.block = context.block;
};

/** An error of our own: what was added before it runs first. */
export const fail = async (context: SessionContext, batch: Batch, error: GatewayError): Promise<boolean> => {
  context.mayRunAgain = false;
  if (batch.steps.length > 0 && !(await sendWithSync(context, batch))) return false;
  context.output.release();
  context.output.answer(errorResponse('ERROR', error));
  if (context.block === 'wrapped') await rollBack(context, keepUnnamed);
  else if (context.block === 'explicit' && context.status === 'T') await spoilBlock(context);
  return false;
};
