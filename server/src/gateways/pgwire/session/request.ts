/**
 * Transactions that a client has named (`SET barista.request_id`): what it is told if one is repeated that had been committed before.
 *
 * Whether it had is found out by PostgreSQL: at the harvest and, for a single statement, before it is run at all, so that it does not fail on what
 * it has itself put there. Invariant: success is told only in the words in which it was told the first time; where rows were told, which
 * are not kept, the client gets an error that says so (RQ001), never other rows.
 */
import { commandComplete, type ErrorFields, errorResponse, notice } from '../codec/backend-messages.ts';
import * as send from '../codec/frontend-messages.ts';
import { back } from '../codec/message-types.ts';
import * as errors from '../errors.ts';
import { endTransaction, type SessionContext } from './context.ts';
import { ownCommand, ownStatement, ownSync, type Step, type StepError } from './step.ts';

/** The transaction had been committed before. `tag`: how success was told then; empty where rows were. */
export interface CommittedBefore {
  readonly slot: number | null;
  readonly tag: string;
}

export const committedBeforeState = 'RQ001';
const ownPortal = 'barista:request';

/** Whether the session may have named a transaction. Only a hint that saves looking: the harvest finds out for certain. */
export const mentionsRequestId = (text: Buffer): boolean =>
  text.includes('request_id') || text.includes('REQUEST_ID');

/** Looks whether a transaction of this name has been committed. Leaves the client's unnamed statement and portal alone. */
export const beginRequestSteps = (context: SessionContext): Step[] => {
  const { beginRequest, secret } = context.sessionSql;
  const bind = send.bind({ portal: ownPortal, statement: ownStatement, parameters: [secret] });
  return [
    { kind: 'close', own: true, bytes: send.closeStatement(ownStatement) },
    { kind: 'parse', own: true, bytes: send.parse(ownStatement, beginRequest) },
    { kind: 'bind', own: true, bytes: bind },
    { kind: 'execute', own: true, asksRequest: true, bytes: send.execute(ownPortal) },
  ];
};

/** What the look-up before a statement found. */
export const committedBefore = ({ step, fields }: StepError): CommittedBefore | null =>
  step.asksRequest === true && fields.get('C') === committedBeforeState ? readCommittedBefore(fields) : null;

const readCommittedBefore = (fields: ErrorFields): CommittedBefore => {
  const detail = fields.get('D') ?? '';
  const blank = detail.indexOf(' ');
  const slot = detail.slice(0, blank);
  return { slot: slot === '' ? null : Number(slot), tag: detail.slice(blank + 1) };
};

/** Takes back what the repetition did. Its name is used up, as it was the first time. */
export const undoRepetition = async (
  context: SessionContext,
  options: { readonly chain: boolean; readonly keepUnnamed: boolean },
): Promise<void> => {
  const { keepUnnamed } = options;
  const { status } = await context.link.send([
    ...ownCommand(options.chain ? 'ROLLBACK AND CHAIN' : 'ROLLBACK', { keepUnnamed }),
    ...ownCommand(context.sessionSql.forgetRequest, { keepUnnamed }),
    ownSync,
  ]).done;
  endTransaction(context, status ?? 'I');
};

/** False: an error was told. */
export const tellCommittedBefore = (
  context: SessionContext,
  request: CommittedBefore,
  options: { readonly clientCommits: boolean; readonly answeredRows: boolean },
): boolean => {
  const { output } = context;
  const untold = !options.clientCommits && (request.tag === '' || options.answeredRows);
  if (untold) {
    output.discard();
    output.answer(errorResponse('ERROR', errors.rowsNotKept(request.slot)));
    return false;
  }
  const held = output.takeHeld();
  const done = commandComplete(options.clientCommits ? 'COMMIT' : request.tag);
  output.aside(notice(errors.committedBefore(request.slot)));
  let told = false;
  for (const frame of held) {
    const completes = frame[0] === back.commandComplete;
    told ||= completes;
    output.answer(completes ? done : frame);
  }
  if (!told) output.answer(done);
  return true;
};

/** How success is told, to be told again: empty if rows go with it. */
export const tagToKeep = (context: SessionContext, clientCommits: boolean): string => {
  if (clientCommits) return 'COMMIT';
  return context.answeredRows ? '' : (context.lastTag ?? '');
};
