/** What the parts of a session that names its transactions have in common: the way to PostgreSQL and back to the client. */
import type { GatewayError } from '../../../../pgwire/backend-messages.ts';
import type { Attempt } from './attempt.ts';
import type { RequestRow } from './request-row.ts';
import type { FlightAnswers } from './flight-answers.ts';
import type { NameInForce } from './name-in-force.ts';

export interface NamedWire {
  readonly answers: FlightAnswers;
  readonly name: NameInForce;
  readonly attempt: Attempt;
  /** To PostgreSQL. */
  readonly send: (...messages: readonly Buffer[]) => void;
  /** The name of the transaction that is open: if its leader goes away, what became of it can be asked. */
  readonly learn: (row: Exclude<RequestRow, { kind: 'none' }>) => void;
  /** A transaction was committed under its name. */
  readonly used: () => void;
  /** Ends the session. */
  readonly fail: (error: GatewayError) => void;
  /** The functions for named transactions are not there. */
  readonly missing: () => void;
}
