/** What the parts of one session share. Only the session's own coroutine changes it. */
import type { Agreement } from '../../../ports/agreement.ts';
import type { SessionSql } from '../../../ports/session-sql.ts';
import type { GatewayError } from '../codec/backend-messages.ts';
import type { TransactionStatus } from '../codec/message-types.ts';
import type { PgwireLimits } from '../limits.ts';
import type { SqlParser } from '../sql/parse-sql.ts';
import type { BackendLink } from './backend-link.ts';
import type { CancelGuard } from './cancel-guard.ts';
import type { ClientInput } from './client-input.ts';
import type { ClientOutput } from './client-output.ts';
import type { PreparedTable } from './prepared-table.ts';

/** `wrapped`: a transaction block that the gateway opened and the client does not know of. */
export type TransactionBlock = 'none' | 'wrapped' | 'explicit';

export type Counter = 'transactions' | 'reads' | 'retries';

export interface SessionContext {
  readonly link: BackendLink;
  readonly input: ClientInput;
  readonly output: ClientOutput;
  readonly agreement: Agreement;
  readonly generation: number;
  readonly sessionSql: SessionSql;
  readonly parse: SqlParser;
  readonly limits: PgwireLimits;
  readonly prepared: PreparedTable;
  readonly cancels: CancelGuard;
  readonly count: (counter: Counter) => void;
  /** Names the session's next transaction: unique for ever. */
  readonly nextTransaction: () => string;
  /** Tells the client why, closes both connections, and unwinds. */
  readonly endWith: (error: GatewayError, before?: readonly Buffer[]) => never;
  /** True once leadership, PostgreSQL or the client is gone: a chosen transaction can no longer be committed here. */
  readonly isLost: () => boolean;
  /** Before a transaction is proposed, whom the client came through is told. */
  readonly takesDoubts: boolean;
  /** Between proposal and commit: nothing but the outcome may end the session. */
  deciding: boolean;
  block: TransactionBlock;
  /** What PostgreSQL said last. */
  status: TransactionStatus;
  /** An answer is kept back from its beginning, because the statement may be run again. */
  mayRunAgain: boolean;
  /** The transaction has declared a cursor WITH HOLD. */
  holdsCursor: boolean;
  /** The client may have named a transaction (request.ts). */
  usesRequests: boolean;
  /** Of the last statement that was answered in this transaction. */
  lastTag: string | null;
  /** Rows were answered in this transaction. */
  answeredRows: boolean;
  /** Texts of the transaction so far, shortened; bounded. */
  sentSql: string[];
}

/** ReadyForQuery's status as the client would see it without us. */
export const clientStatus = (context: SessionContext): TransactionStatus =>
  context.block === 'explicit' ? context.status : 'I';

export const noteSql = (context: SessionContext, sql: Buffer): void => {
  if (context.sentSql.length < 16) context.sentSql.push(sql.toString('utf8', 0, 400));
};

export const endTransaction = (context: SessionContext, status: TransactionStatus): void => {
  context.status = status;
  context.block = status === 'I' ? 'none' : 'explicit';
  context.holdsCursor = false;
  context.sentSql = [];
  context.lastTag = null;
  context.answeredRows = false;
};
