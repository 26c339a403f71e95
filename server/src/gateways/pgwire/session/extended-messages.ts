/**
 * Messages of the extended protocol with what the gateway must know of each before it is sent.
 *
 * Responsible for: reading them against the session's prepared statements and portals, those of the same pipeline included, which
 * PostgreSQL has not confirmed yet. Confirmed ones enter the table in `registerStep`.
 */
import { unreachable } from '../unreachable.ts';
import type { GatewayError } from '../codec/backend-messages.ts';
import * as send from '../codec/frontend-messages.ts';
import { front } from '../codec/message-types.ts';
import * as errors from '../errors.ts';
import { type ResolvedKind, resolve, type Statement, writes } from '../sql/statement.ts';
import type { ClientMessage } from './client-input.ts';
import type { SessionContext } from './context.ts';
import type { PreparedEntry } from './prepared-table.ts';
import { ownStatement, type Step } from './step.ts';

export type ExtendedMessage = (
  | { readonly kind: 'parse'; readonly name: string; readonly entry: PreparedEntry }
  | {
      readonly kind: 'bind';
      readonly portal: string;
      readonly statementName: string;
      readonly entry: PreparedEntry | null;
      /** Its Parse is in this pipeline. */
      readonly fresh: boolean;
    }
  | { readonly kind: 'describe' }
  | { readonly kind: 'execute'; readonly statement: Statement | null }
  | { readonly kind: 'close'; readonly target: send.Target }
) & {
  /** As it is to be sent. */
  readonly bytes: Buffer;
  /** It must not be sent at all. */
  readonly refused: GatewayError | null;
};

/**
 * Stands in PostgreSQL for a client's prepared COMMIT or ROLLBACK, which the gateway runs itself. It may be prepared in a failed
 * transaction, has neither parameters nor rows, and does nothing but fail if SQL's EXECUTE gets hold of it.
 */
const placeholder = 'ROLLBACK TO SAVEPOINT "barista:run by the gateway"';

/** Bound on the text of a statement that must be prepared afresh (see PreparedEntry.refresh). */
const refreshBytesMax = 65_536;

export interface MessageReader {
  read(message: ClientMessage): ExtendedMessage;
  /** The pipeline is over: what has not been confirmed does not exist. */
  forget(): void;
}

export const createMessageReader = (context: SessionContext): MessageReader => {
  const statements = new Map<string, PreparedEntry>();
  const portals = new Map<string, Statement | null>();

  const parse = (bytes: Buffer): ExtendedMessage => {
    const { statement: name, sql, parameterTypes } = send.readParse(bytes);
    const parsed = context.parse(sql);
    const statement = parsed.kind === 'statements' ? (parsed.statements[0] ?? null) : null;
    const run = statement?.run.kind;
    // What PostgreSQL finds no error in, though our parser does, must not be run.
    const known = parsed.kind === 'statements' ? statement : unreadable(errors.notUnderstood(parsed.message));
    const kept = run === 'begin' || run === 'bare';
    const tooLong = kept && sql.length > refreshBytesMax;
    const refresh = kept ? { sql: Buffer.from(sql), parameterTypes: Buffer.from(parameterTypes) } : null;
    const entry: PreparedEntry = { statement: known, refresh: tooLong ? null : refresh };
    statements.set(name, entry);
    return {
      kind: 'parse',
      name,
      entry,
      refused: tooLong ? errors.statementTooLong(refreshBytesMax) : refusedParse(context, name, statement),
      bytes: parseBytes(bytes, name, run),
    };
  };

  const bind = (bytes: Buffer): ExtendedMessage => {
    const { portal, statement: statementName } = send.readBind(bytes);
    const pipelined = statements.get(statementName);
    const entry = pipelined ?? context.prepared.statements.get(statementName) ?? null;
    portals.set(portal, entry === null ? unknownStatement : entry.statement);
    const full = context.prepared.portals.size >= context.limits.portalsMax && portal !== '';
    const refused = full ? errors.tooManyNames('portals', context.limits.portalsMax) : null;
    return { kind: 'bind', portal, statementName, entry, fresh: pipelined !== undefined, bytes, refused };
  };

  const execute = (bytes: Buffer): ExtendedMessage => {
    const name = send.executePortal(bytes);
    const known = portals.has(name) ? portals.get(name) : context.prepared.portals.get(name);
    return {
      kind: 'execute',
      statement: known === undefined ? unknownStatement : known,
      bytes,
      refused: null,
    };
  };

  const close = (bytes: Buffer): ExtendedMessage => {
    const target = send.readTarget(bytes);
    // Closed in PostgreSQL only later: until then a lookup must not find the old one and call it fresh.
    if (target.kind === 'statement') statements.delete(target.name);
    else portals.delete(target.name);
    return { kind: 'close', target, bytes, refused: null };
  };

  return {
    read({ type, bytes }) {
      if (type === front.parse) return parse(bytes);
      if (type === front.bind) return bind(bytes);
      if (type === front.execute) return execute(bytes);
      if (type === front.close) return close(bytes);
      send.readTarget(bytes);
      return { kind: 'describe', bytes, refused: null };
    },
    forget() {
      statements.clear();
      portals.clear();
    },
  };
};

const refusedParse = (
  context: SessionContext,
  name: string,
  statement: Statement | null,
): GatewayError | null => {
  const { statements } = context.prepared;
  const { preparedStatementsMax } = context.limits;
  if (name === ownStatement) return errors.reservedName(name);
  if (statement?.run.kind === 'refused') return statement.run.error;
  if (name !== '' && statements.size >= preparedStatementsMax && !statements.has(name)) {
    return errors.tooManyNames('prepared statements', preparedStatementsMax);
  }
  return null;
};

const parseBytes = (bytes: Buffer, name: string, run: string | undefined): Buffer =>
  run === 'commit' || run === 'rollback' ? send.parse(name, placeholder) : bytes;

const base = { copyIn: false, prepares: null, holdsCursor: false, start: 0, end: 0, byParse: false } as const;
/** Prepared in SQL: a query. */
const unknownStatement: Statement = { ...base, run: writes, learnt: { writes: true } };
const unreadable = (error: GatewayError): Statement => ({
  ...base,
  run: { kind: 'refused', error },
  learnt: { writes: false },
});

/** How an Execute or Bind is to be run; null for an empty statement. */
export const kindOf = (context: SessionContext, statement: Statement | null): ResolvedKind | null =>
  statement === null ? null : resolve(statement, context.prepared.executed);

/** The message as a step that enters what PostgreSQL confirms into the session's table. */
export const registerStep = (
  context: SessionContext,
  message: ExtendedMessage,
  extra: Partial<Step> = {},
): Step => {
  const { prepared } = context;
  const { bytes } = message;
  switch (message.kind) {
    case 'parse':
      return {
        kind: 'parse',
        own: false,
        bytes,
        onComplete: () => void prepared.statements.set(message.name, message.entry),
        ...extra,
      };
    case 'bind': {
      const statement = message.entry === null ? unknownStatement : message.entry.statement;
      return {
        kind: 'bind',
        own: false,
        bytes,
        onComplete: () => void prepared.portals.set(message.portal, statement),
        ...extra,
      };
    }
    case 'close':
      return {
        kind: 'close',
        own: false,
        bytes,
        onComplete: () => void tableOf(context, message.target.kind).delete(message.target.name),
        ...extra,
      };
    case 'describe':
      return { kind: 'describe', own: false, bytes, ...extra };
    case 'execute':
      return {
        kind: 'execute',
        own: false,
        bytes,
        onComplete: (tag) => afterExecute(context, message, tag),
        ...extra,
      };
    default:
      return unreachable(message);
  }
};

const tableOf = (context: SessionContext, kind: send.Target['kind']): Map<string, unknown> =>
  kind === 'statement' ? context.prepared.statements : context.prepared.portals;

const afterExecute = (
  context: SessionContext,
  message: Extract<ExtendedMessage, { kind: 'execute' }>,
  tag: string | null,
): void => {
  if (tag === null) return;
  context.prepared.afterCommand(tag);
  const prepares = message.statement?.prepares ?? null;
  if (prepares !== null && message.statement !== null) {
    const name = Buffer.from(prepares.name, 'utf8').toString('latin1');
    const statement = { ...message.statement, run: prepares.run, prepares: null };
    context.prepared.statements.set(name, { statement, refresh: null });
  }
};
