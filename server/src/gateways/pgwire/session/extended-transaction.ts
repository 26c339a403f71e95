/** COMMIT, ROLLBACK and savepoints in the extended protocol, and the end of an implicit transaction. */
import { unreachable } from '../unreachable.ts';
import { commandComplete, warning } from '../codec/backend-messages.ts';
import * as errors from '../errors.ts';
import { commit } from './commit.ts';
import type { SessionContext } from './context.ts';
import { type Batch, fail, keepUnnamed, sendWithSync, settle } from './extended-batch.ts';
import { type ExtendedMessage, registerStep } from './extended-messages.ts';
import { tellCommittedBefore } from './request.ts';
import { endSteps } from './wrapper.ts';

export const runCommit = async (context: SessionContext, batch: Batch, chain: boolean): Promise<boolean> => {
  const implicit = batch.block === 'wrapped';
  if (batch.block === 'none' || (batch.block === 'explicit' && context.status === 'E')) {
    return passEnd(context, batch, 'COMMIT', chain);
  }
  if (implicit && chain) return fail(context, batch, errors.chainOutsideBlock('COMMIT'));
  return finish(context, batch, { chain, clientCommits: !implicit, sayCommit: implicit });
};

export const finish = async (
  context: SessionContext,
  batch: Batch,
  options: {
    readonly chain: boolean;
    /** The client's own block. */
    readonly clientCommits: boolean;
    /** COMMIT where the client is in no block: with PostgreSQL's warning. */
    readonly sayCommit: boolean;
  },
): Promise<boolean> => {
  const before = batch.steps;
  batch.steps = [];
  batch.synced = true;
  const outcome = await commit(context, { ...options, before, keepUnnamed });
  batch.block = context.block;
  switch (outcome.kind) {
    case 'committed':
      context.prepared.portals.clear();
      context.output.release();
      if (options.sayCommit) {
        sayNoTransaction(context);
        context.output.answer(commandComplete('COMMIT'));
      }
      batch.chosen = outcome.chosen;
      return true;
    case 'clientError':
      return settle(context, batch, outcome.result);
    case 'repeated': {
      context.prepared.portals.clear();
      const { answeredRows } = outcome;
      const told = tellCommittedBefore(context, outcome.request, { ...options, answeredRows });
      if (!told || !options.sayCommit) return told;
      sayNoTransaction(context);
      context.output.answer(commandComplete('COMMIT'));
      return true;
    }
    case 'failed':
      context.output.discard();
      context.output.answer(outcome.error);
      context.prepared.portals.clear();
      return false;
    default:
      return unreachable(outcome);
  }
};

const sayNoTransaction = (context: SessionContext): void => {
  context.output.aside(warning(errors.noTransactionInProgress));
};

export const runRollback = async (
  context: SessionContext,
  batch: Batch,
  chain: boolean,
): Promise<boolean> => {
  if (batch.block === 'wrapped') {
    if (chain) return fail(context, batch, errors.chainOutsideBlock('ROLLBACK'));
    if (!(await sendWithSync(context, batch))) return false;
    context.output.release();
    sayNoTransaction(context);
  }
  return passEnd(context, batch, 'ROLLBACK', chain);
};

/** PostgreSQL itself says what the client is to hear of it. */
const passEnd = async (
  context: SessionContext,
  batch: Batch,
  command: 'COMMIT' | 'ROLLBACK',
  chain: boolean,
): Promise<boolean> => {
  batch.steps.push(...endSteps({ command, chain, keepUnnamed, answersClient: true }));
  const going = await sendWithSync(context, batch);
  context.output.release();
  return going;
};

/** In a failed block ROLLBACK TO may mend it: PostgreSQL is asked how things stand. */
export const runSavepoint = async (
  context: SessionContext,
  batch: Batch,
  message: ExtendedMessage,
): Promise<boolean> => {
  if (batch.block === 'wrapped') return fail(context, batch, errors.savepointOutsideBlock);
  batch.steps.push(registerStep(context, message));
  return batch.block === 'explicit' && context.status === 'E' ? sendWithSync(context, batch) : true;
};
