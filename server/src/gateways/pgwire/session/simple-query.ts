/**
 * The simple protocol: one Query message, perhaps of several statements.
 *
 * The statements are sent one by one, so that each sees its own text (current_query) and each transaction command is met with.
 * Together they behave as PostgreSQL's implicit transaction block does: one transaction unless the string says otherwise, the rest
 * dropped at the first error, one ReadyForQuery at the end. A Query destroys the client's unnamed statement and portal, so
 * injected commands may use them.
 */
import { unreachable } from '../unreachable.ts';
import { isUtf8 } from 'node:buffer';
import {
  commandComplete,
  emptyQueryResponse,
  errorFromFields,
  errorResponse,
  type GatewayError,
  notice,
  readyForQuery,
  warning,
} from '../codec/backend-messages.ts';
import * as send from '../codec/frontend-messages.ts';
import * as errors from '../errors.ts';
import { type ResolvedKind, resolve, type Statement } from '../sql/statement.ts';
import { commit, rollBack } from './commit.ts';
import { clientStatus, endTransaction, noteSql, type SessionContext } from './context.ts';
import { feedCopy } from './copy-in.ts';
import { beginRequestSteps, tellCommittedBefore } from './request.ts';
import { spoilBlock } from './spoil-block.ts';
import { type FlightResult, ownSync, type Step } from './step.ts';
import { alreadyInBlock, beginSteps, endSteps } from './wrapper.ts';

const keepUnnamed = false;

/** One client string being run. */
interface Run {
  readonly context: SessionContext;
  readonly sql: Buffer;
  readonly frame: Buffer;
  readonly statements: readonly Statement[];
}

export const runSimpleQuery = async (context: SessionContext, frame: Buffer): Promise<void> => {
  const sql = send.querySql(frame);
  const parsed = context.parse(sql);
  if (parsed.kind === 'unparsable') await runUnparsable(context, sql, parsed.message);
  else if (parsed.statements.length === 0) context.output.answer(emptyQueryResponse);
  else await runStatements({ context, sql, frame, statements: parsed.statements });
  context.output.release();
  context.output.ready(readyForQuery(clientStatus(context)));
};

const runStatements = async (run: Run): Promise<void> => {
  const { statements, context } = run;
  const readsOnly = statements.every((statement) => kindOf(context, statement) === 'read');
  if (context.block === 'none' && readsOnly) {
    if (await runReads(run)) return;
    context.count('retries');
  }
  for (const [index, statement] of statements.entries()) {
    const last = index === statements.length - 1;
    if (!(await runStatement(run, statement, last))) {
      await abandonWrapper(context);
      return;
    }
  }
};

const resolved = (context: SessionContext, statement: Statement): ResolvedKind =>
  resolve(statement, context.prepared.executed);

const kindOf = (context: SessionContext, statement: Statement): ResolvedKind['kind'] =>
  resolved(context, statement).kind;

const abandonWrapper = async (context: SessionContext): Promise<void> => {
  if (context.block === 'wrapped') await rollBack(context, keepUnnamed);
};

// ----------------------------------------------------------------------------------------------------------- steps

const queryStep = (run: Run, statement: Statement, extra: Partial<Step> = {}): Step => {
  const { context, sql, statements } = run;
  const whole = statements.length === 1;
  const bytes = whole ? run.frame : send.query(sql.subarray(statement.start, statement.end));
  return {
    kind: 'query',
    own: false,
    bytes,
    ...(whole || statement.start === 0 ? {} : { positionShift: charactersBefore(sql, statement.start) }),
    onComplete: (tag) => {
      if (tag === null) return;
      context.prepared.afterCommand(tag);
      const { prepares } = statement;
      if (prepares !== null) {
        const name = Buffer.from(prepares.name, 'utf8').toString('latin1');
        const entry = { ...statement, run: prepares.run };
        context.prepared.statements.set(name, { statement: entry, refresh: null });
      }
    },
    ...extra,
  };
};

const charactersBefore = (sql: Buffer, end: number): number => {
  const before = sql.subarray(0, end);
  if (!isUtf8(before)) return end;
  let characters = 0;
  for (const byte of before) if ((byte & 0xc0) !== 0x80) characters += 1;
  return characters;
};

/** Sends, and learns the state of the block from PostgreSQL. False after an error, which the client has been told. */
const settle = (context: SessionContext, result: FlightResult): boolean => {
  const status = result.status ?? 'I';
  if (context.block === 'wrapped' && status !== 'I') context.status = status;
  else endTransactionIfOver(context, status);
  return result.error === null;
};

const endTransactionIfOver = (context: SessionContext, status: 'I' | 'T' | 'E'): void => {
  if (status === 'I') endTransaction(context, status);
  else {
    context.block = 'explicit';
    context.status = status;
  }
};

// ----------------------------------------------------------------------------------------------------------- reads

/** In a read-only transaction. False if one of them writes after all and nothing has left yet: rolled back, run them again. */
const runReads = async (run: Run): Promise<boolean> => {
  const { context, statements } = run;
  context.output.hold();
  context.mayRunAgain = true;
  let failed: FlightResult['error'] = null;
  for (const [index, statement] of statements.entries()) {
    const last = index === statements.length - 1;
    const { error, status } = await context.link.send([
      ...(index === 0 ? beginSteps(context, 'ro', keepUnnamed) : []),
      queryStep(run, statement),
      ...(last ? commitReads() : []),
    ]).done;
    context.status = status ?? 'I';
    failed = error;
    if (error === null) continue;
    if (error.fields.get('C') === readOnlyViolation) statement.learnt.writes = true;
    break;
  }
  const again = context.mayRunAgain && failed !== null && failed.fields.get('C') === readOnlyViolation;
  context.mayRunAgain = false;
  if (context.status === 'I') endTransaction(context, 'I');
  else await rollBack(context, keepUnnamed);
  if (again) context.output.discard();
  else context.count('reads');
  if (!again && failed !== null && failed.step.own) {
    context.output.discard();
    context.output.answer(errorFromFields(failed.fields));
  }
  return !again;
};

const readOnlyViolation = '25006';

const commitReads = (): Step[] => [
  ...endSteps({ command: 'COMMIT', chain: false, keepUnnamed, answersClient: false }),
  ownSync,
];

// ------------------------------------------------------------------------------------------------------ statements

/** False: an error, which the client has been told; the rest of the string is dropped. */
const runStatement = async (run: Run, statement: Statement, last: boolean): Promise<boolean> => {
  const { context, statements } = run;
  const kind = resolved(context, statement);
  if (kind.kind === 'refused') return fail(context, kind.error);
  if (statement.holdsCursor) context.holdsCursor = true;
  if (context.block === 'explicit') return runInBlock(run, statement, kind);
  const alone = context.block === 'none' && statements.length === 1;
  switch (kind.kind) {
    case 'begin':
      return context.block === 'none' ? plain(run, statement) : convertWrapper(run, statement);
    case 'commit':
      return context.block === 'none' ? plain(run, statement) : endWrapper(run, 'COMMIT', kind.chain);
    case 'rollback':
      return context.block === 'none' ? plain(run, statement) : endWrapper(run, 'ROLLBACK', kind.chain);
    case 'savepoint':
      return alone ? plain(run, statement) : fail(context, errors.savepointOutsideBlock);
    case 'bare':
      return alone ? plain(run, statement) : wrapped(run, statement, last);
    case 'read':
    case 'write':
      return wrapped(run, statement, last);
    default:
      return unreachable(kind);
  }
};

/** In no block of ours, or in one of the client's. */
const plain = async (run: Run, statement: Statement): Promise<boolean> => {
  const { context } = run;
  const steps = statement.byParse ? [...parsedSteps(run), ownSync] : [queryStep(run, statement)];
  const flight = context.link.send(steps);
  const result = statement.copyIn ? (await feedCopy(context, flight)).result : await flight.done;
  return settle(context, result);
};

/** The same answers as to a Query. */
const parsedSteps = ({ sql }: Run): Step[] => [
  { kind: 'parse', own: true, speaks: true, tells: true, bytes: send.parse('', sql) },
  { kind: 'bind', own: true, speaks: true, tells: true, bytes: send.bind({ portal: '', statement: '' }) },
  { kind: 'describe', own: false, dropNoData: true, bytes: send.describePortal('') },
  { kind: 'execute', own: false, bytes: send.execute('') },
];

const runInBlock = async (run: Run, statement: Statement, kind: ResolvedKind): Promise<boolean> => {
  const { context } = run;
  if (context.status === 'T') {
    if (kind.kind === 'commit') {
      return finish(run, { before: [], chain: kind.chain, keepUnnamed, clientCommits: true });
    }
    if (kind.kind !== 'rollback') noteSql(context, textOf(run, statement));
  }
  return plain(run, statement);
};

const textOf = (run: Run, statement: Statement): Buffer => run.sql.subarray(statement.start, statement.end);

/** In our wrapper, which is opened by the first and committed after the last. */
const wrapped = async (run: Run, statement: Statement, last: boolean): Promise<boolean> => {
  const { context } = run;
  const alone = context.block === 'none' && last && !statement.copyIn;
  noteSql(context, textOf(run, statement));
  const before = [
    ...(context.block === 'none' ? beginSteps(context, 'rw', keepUnnamed) : []),
    ...(alone && context.usesRequests ? beginRequestSteps(context) : []),
    ...(statement.byParse ? parsedSteps(run) : [queryStep(run, statement)]),
  ];
  if (last && !statement.copyIn)
    return finish(run, { before, chain: false, keepUnnamed, clientCommits: false });
  const flight = context.link.send(before);
  const result = statement.copyIn ? (await feedCopy(context, flight)).result : await flight.done;
  if (!settle(context, result)) return false;
  return last ? finish(run, { before: [], chain: false, keepUnnamed, clientCommits: false }) : true;
};

const finish = async (run: Run, options: Parameters<typeof commit>[1]): Promise<boolean> => {
  const { context } = run;
  const outcome = await commit(context, options);
  switch (outcome.kind) {
    case 'committed':
      context.output.release();
      if (outcome.chosen) context.output.markChosen();
      return true;
    case 'clientError':
      settle(context, outcome.result);
      return false;
    case 'repeated': {
      const { answeredRows } = outcome;
      return tellCommittedBefore(context, outcome.request, { ...options, answeredRows });
    }
    case 'failed':
      context.output.discard();
      context.output.answer(outcome.error);
      return false;
    default:
      return unreachable(outcome);
  }
};

/** BEGIN inside the implicit block: what came before belongs to the new block. */
const convertWrapper = async (run: Run, statement: Statement): Promise<boolean> => {
  const { context } = run;
  const { error, status } = await context.link.send([
    queryStep(run, statement, { dropNotice: alreadyInBlock }),
  ]).done;
  if (error === null) context.block = 'explicit';
  context.status = status ?? 'I';
  return error === null;
};

/** COMMIT or ROLLBACK inside the implicit block ends it, with PostgreSQL's warning. */
const endWrapper = async (run: Run, command: 'COMMIT' | 'ROLLBACK', chain: boolean): Promise<boolean> => {
  const { context } = run;
  if (chain) return fail(context, errors.chainOutsideBlock(command));
  context.output.release();
  let chosen = false;
  if (command === 'ROLLBACK') await rollBack(context, keepUnnamed);
  else {
    const outcome = await commit(context, { before: [], chain: false, keepUnnamed, clientCommits: false });
    if (outcome.kind === 'failed') context.output.answer(outcome.error);
    if (outcome.kind === 'failed' || outcome.kind === 'clientError') return false;
    if (outcome.kind === 'committed') chosen = outcome.chosen;
    else context.output.aside(notice(errors.committedBefore(outcome.request.slot)));
    context.output.release();
  }
  context.output.aside(warning(errors.noTransactionInProgress));
  context.output.answer(commandComplete(command));
  if (chosen) context.output.markChosen();
  return true;
};

/** An error of our own, which ends the client's transaction as one of PostgreSQL's would. */
const fail = async (context: SessionContext, error: GatewayError): Promise<boolean> => {
  context.output.release();
  context.output.answer(errorResponse('ERROR', error));
  if (context.block === 'explicit' && context.status === 'T') await spoilBlock(context);
  return false;
};

/** A Parse is never run, so PostgreSQL may say what is wrong with the text. */
const runUnparsable = async (context: SessionContext, sql: Buffer, reason: string): Promise<void> => {
  const step: Step = { kind: 'parse', own: false, bytes: send.parse('', sql) };
  const { error, status } = await context.link.send([{ ...step, own: true, speaks: true }, ownSync]).done;
  context.status = status ?? 'I';
  if (error !== null) context.output.answer(errorFromFields(error.fields));
  else await fail(context, errors.notUnderstood(reason));
};
