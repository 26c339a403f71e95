/**
 * The extended protocol: what a client pipelines up to Sync is one implicit transaction, unless it says otherwise.
 *
 * Messages are collected up to Sync or Flush and looked at before they run. Where they are in no transaction block, a wrapper is
 * opened around them, read-only if they only read. COMMIT and ROLLBACK are run by the gateway. After an error everything up to
 * Sync is dropped, as PostgreSQL does. Inside our wrapper or the client's block we may send a Sync of our own to learn how things stand.
 *
 * Invariant: the client's unnamed statement survives what is injected; its unnamed portal is lost only where the transaction ends.
 */
import { unreachable } from '../unreachable.ts';
import { readyForQuery } from '../codec/backend-messages.ts';
import * as send from '../codec/frontend-messages.ts';
import { front } from '../codec/message-types.ts';
import type { ResolvedKind } from '../sql/statement.ts';
import type { ClientMessage } from './client-input.ts';
import { clientStatus, noteSql, type SessionContext, type TransactionBlock } from './context.ts';
import { feedCopy } from './copy-in.ts';
import { type Batch, type BatchEnd, fail, keepUnnamed, sendWithSync, settle } from './extended-batch.ts';
import { createMessageReader, type ExtendedMessage, kindOf, registerStep } from './extended-messages.ts';
import { planGroup } from './extended-plan.ts';
import { finish, runCommit, runRollback, runSavepoint } from './extended-transaction.ts';
import { beginRequestSteps } from './request.ts';
import { ownSync, type Step } from './step.ts';
import { alreadyInBlock, beginSteps, endSteps } from './wrapper.ts';

export interface ExtendedQuery {
  /** After an error: everything up to Sync is dropped. */
  readonly skipping: boolean;
  take(message: ClientMessage): Promise<void>;
}

export const createExtendedQuery = (context: SessionContext): ExtendedQuery => {
  const reader = createMessageReader(context);
  let messages: ExtendedMessage[] = [];
  let bytes = 0;
  /** Part of the pipeline has been run already. */
  let continued = false;
  let skipping = false;

  const runAll = async (end: BatchEnd): Promise<void> => {
    const batchMessages = messages;
    messages = [];
    bytes = 0;
    const carriedOn = continued;
    continued = end !== 'sync';
    const outcome = await runBatch(context, batchMessages, {
      end,
      mayReadOnly: end === 'sync' && !carriedOn,
    });
    if (outcome.failed && (end !== 'sync' || outcome.awaitsSync)) skipping = true;
    if (outcome.awaitsSync) continued = true;
    else if (end === 'sync') sayReady(outcome.chosen);
    if (end === 'sync') reader.forget();
  };

  const sayReady = (chosen: boolean): void => {
    context.output.release();
    if (chosen) context.output.markChosen();
    context.output.ready(readyForQuery(clientStatus(context)));
  };

  return {
    get skipping() {
      return skipping;
    },
    async take(message) {
      if (message.type === front.sync && skipping) {
        skipping = false;
        continued = false;
        reader.forget();
        sayReady(false);
      } else if (skipping) return;
      else if (message.type === front.sync) await runAll('sync');
      else if (message.type === front.flush) await runAll('flush');
      else {
        messages.push(reader.read(message));
        bytes += message.bytes.length;
        if (bytes > context.limits.batchBytesMax) await runAll('full');
      }
    },
  };
};

interface BatchOutcome {
  readonly failed: boolean;
  readonly chosen: boolean;
  /** COPY has used up the batch's Sync: the client sends another. */
  readonly awaitsSync: boolean;
}

const runBatch = async (
  context: SessionContext,
  messages: readonly ExtendedMessage[],
  options: { readonly end: BatchEnd; readonly mayReadOnly: boolean },
): Promise<BatchOutcome> => {
  const batch: Batch = {
    messages,
    ...options,
    steps: [],
    block: context.block,
    readOnly: false,
    chosen: false,
    synced: false,
    plannedTo: 0,
  };
  let going = true;
  let copied = false;
  for (let index = 0; going && index < messages.length; index += 1) {
    const message = messages[index] as ExtendedMessage;
    const last = index === messages.length - 1;
    if (isCopyIn(message)) {
      const fed = await runCopy(context, batch, message);
      going = fed.going;
      copied = fed.asked && last && options.end === 'sync';
    } else going = await addMessage(context, batch, index);
  }
  if (copied) return { failed: !going, chosen: false, awaitsSync: true };
  if (going) going = await endBatch(context, batch);
  if (!going && batch.readOnly && context.mayRunAgain) return runAgain(context, messages, options);
  context.mayRunAgain = false;
  return { failed: !going, chosen: batch.chosen, awaitsSync: false };
};

const isCopyIn = (message: ExtendedMessage): boolean =>
  message.kind === 'execute' && message.statement?.copyIn === true;

// ------------------------------------------------------------------------------------------------- adding messages

/** False: an error, which the client has been told. */
const addMessage = async (context: SessionContext, batch: Batch, index: number): Promise<boolean> => {
  const message = batch.messages[index] as ExtendedMessage;
  if (message.refused !== null) return fail(context, batch, message.refused);
  openWrapper(context, batch, index);
  if (message.kind === 'bind') addRefresh(batch, message);
  if (message.kind !== 'execute') {
    batch.steps.push(registerStep(context, message));
    return true;
  }
  const kind = kindOf(context, message.statement);
  if (kind !== null && isSpecial(kind)) {
    return addSpecial(context, batch, message, kind);
  }
  if (message.statement?.holdsCursor === true) context.holdsCursor = true;
  if (asksRequest(context, batch, index)) batch.steps.push(...beginRequestSteps(context));
  batch.steps.push(registerStep(context, message));
  return true;
};

/** A pipeline of a single statement, which ends with it: nothing but its success is left to be told. */
const asksRequest = (context: SessionContext, batch: Batch, index: number): boolean =>
  context.usesRequests &&
  batch.block === 'wrapped' &&
  !batch.readOnly &&
  batch.end === 'sync' &&
  index === batch.messages.length - 1 &&
  batch.messages.findIndex(({ kind }) => kind === 'execute') === index;

type SpecialKind = Exclude<ResolvedKind, { kind: 'read' | 'write' | 'bare' }>;

const isSpecial = (kind: ResolvedKind): kind is SpecialKind =>
  kind.kind !== 'read' && kind.kind !== 'write' && kind.kind !== 'bare';

const addSpecial = (
  context: SessionContext,
  batch: Batch,
  message: ExtendedMessage,
  kind: SpecialKind,
): Promise<boolean> | boolean => {
  switch (kind.kind) {
    case 'refused':
      return fail(context, batch, kind.error);
    case 'commit':
      return runCommit(context, batch, kind.chain);
    case 'rollback':
      return runRollback(context, batch, kind.chain);
    case 'savepoint':
      return runSavepoint(context, batch, message);
    case 'begin':
      batch.steps.push(beginStep(context, message, batch.block));
      batch.block = 'explicit';
      return true;
    default:
      return unreachable(kind);
  }
};

/** The first message of a group that runs queries in no block of its own is preceded by our BEGIN. */
const openWrapper = (context: SessionContext, batch: Batch, index: number): void => {
  if (batch.block !== 'none' || index < batch.plannedTo) return;
  const { plan, end } = planGroup(context, batch.messages, index, batch);
  batch.plannedTo = end;
  if (plan === 'bare') return;
  batch.readOnly = plan === 'ro';
  if (batch.readOnly) {
    context.output.hold();
    context.mayRunAgain = true;
  }
  batch.steps.push(...beginSteps(context, plan, keepUnnamed));
  batch.block = 'wrapped';
};

/**
 * A statement that runs in no transaction of ours was prepared in an earlier pipeline: SQL may have put another in its place
 * since, by DEALLOCATE and PREPARE. So it is prepared afresh.
 */
const addRefresh = (batch: Batch, message: Extract<ExtendedMessage, { kind: 'bind' }>): void => {
  const refresh = message.entry?.refresh ?? null;
  if (batch.block !== 'none' || message.fresh || refresh === null || message.statementName === '') return;
  const { statementName } = message;
  batch.steps.push(
    { kind: 'close', own: true, bytes: send.closeStatement(statementName) },
    { kind: 'parse', own: true, bytes: send.parse(statementName, refresh.sql, refresh.parameterTypes) },
  );
};

const beginStep = (context: SessionContext, message: ExtendedMessage, block: TransactionBlock): Step =>
  registerStep(context, message, {
    ...(block === 'wrapped' ? { dropNotice: alreadyInBlock } : {}),
    onComplete: () => {
      context.block = 'explicit';
    },
  });

// ------------------------------------------------------------------------------------------------------------ COPY

const runCopy = async (
  context: SessionContext,
  batch: Batch,
  message: ExtendedMessage,
): Promise<{ readonly going: boolean; readonly asked: boolean }> => {
  openWrapper(context, batch, batch.messages.indexOf(message));
  const steps = [...batch.steps, registerStep(context, message)];
  batch.steps = [];
  const { result, asked } = await feedCopy(context, context.link.send(steps));
  return { going: await settle(context, batch, result), asked };
};

// ------------------------------------------------------------------------------------------------- end of the batch

const endBatch = async (context: SessionContext, batch: Batch): Promise<boolean> => {
  noteTexts(context, batch);
  if (batch.end !== 'sync') return deliver(context, batch);
  if (batch.block !== 'wrapped') {
    return batch.steps.length === 0 && batch.synced ? true : sendWithSync(context, batch);
  }
  if (!batch.readOnly) {
    return finish(context, batch, { chain: false, clientCommits: false, sayCommit: false });
  }
  batch.steps.push(...endSteps({ command: 'COMMIT', chain: false, keepUnnamed, answersClient: false }));
  const going = await sendWithSync(context, batch);
  if (going) {
    context.mayRunAgain = false;
    context.count('reads');
  }
  return going;
};

/** Flush: the answers so far go to the client; the transaction, if any, stays open. */
const deliver = async (context: SessionContext, batch: Batch): Promise<boolean> => {
  if (batch.steps.length > 0) {
    const steps = batch.steps;
    batch.steps = [];
    if (!(await settle(context, batch, await context.link.send(steps).done))) {
      context.output.release();
      context.output.flush();
      return false;
    }
  }
  context.output.release();
  context.output.flush();
  return true;
};

const noteTexts = (context: SessionContext, batch: Batch): void => {
  if (batch.readOnly) return;
  for (const message of batch.messages) {
    if (message.kind === 'parse') noteSql(context, send.readParse(message.bytes).sql);
  }
};

/** A pipeline taken for a reading one writes, and nothing of its answer has left: once more, in a transaction that is harvested. */
const runAgain = async (
  context: SessionContext,
  messages: readonly ExtendedMessage[],
  options: { readonly end: BatchEnd },
): Promise<BatchOutcome> => {
  context.mayRunAgain = false;
  context.output.discard();
  context.count('retries');
  for (const message of messages) {
    if (message.kind === 'parse' && message.name !== '') {
      context.prepared.statements.delete(message.name);
      await context.link.send([
        { kind: 'close', own: true, bytes: send.closeStatement(message.name) },
        ownSync,
      ]).done;
    }
    if (message.kind === 'execute' && message.statement?.run.kind === 'read')
      message.statement.learnt.writes = true;
  }
  return runBatch(context, messages, { end: options.end, mayReadOnly: false });
};
