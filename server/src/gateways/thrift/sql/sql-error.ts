/** What went wrong, as PostgreSQL or a gateway has told it. */
import type { GatewayError } from '../../../pgwire/backend-messages.ts';

export class SqlError extends Error implements GatewayError {
  override readonly name = 'SqlError';
  readonly sqlState: string;
  readonly detail?: string;
  readonly hint?: string;

  constructor({ sqlState, message, detail, hint }: GatewayError) {
    super(message);
    this.sqlState = sqlState;
    if (detail !== undefined) this.detail = detail;
    if (hint !== undefined) this.hint = hint;
  }
}
