/** A client's session at this replica, as the executor knows it. Its connection to PostgreSQL is one of its own, at each replica. */
import { readParameterStatus } from '../../pgwire/backend-messages.ts';
import { FrameSplitter } from '../../pgwire/frame-splitter.ts';
import { back, type TransactionStatus } from '../../pgwire/message-types.ts';
import { rulesAfter, type TextRules, usualRules } from '../../pgwire/text-rules.ts';
import type { StatementConnection, StatementLogin } from '../../ports/statement-database.ts';
import type { OperationResult } from './executor.ts';
import type { RequestOperation, SessionId } from './operation.ts';
import type { StatementMeaning } from './request-plan.ts';
import type { SessionState } from './session-state.ts';

export interface ClientSession {
  readonly id: SessionId;
  /** The slot of its `open`: its name where others may see it. */
  readonly number: number;
  readonly login: StatementLogin;
  readonly connection: StatementConnection;
  status: TransactionStatus;
  rules: TextRules;
  /** Of its last request. */
  seq: number;
  /** Of that; null: it is not known, or not finished. */
  last: OperationResult | null;
  statements: Map<string, StatementMeaning>;
  portals: Map<string, StatementMeaning>;
  /** What another backend needs to be like this one. */
  state: SessionState;
  /** It may have changed since. */
  stateIsOld: boolean;
  /** In a block that has failed, and that holds nothing: its transaction was ended for others' sake. */
  isHollow: boolean;
  /** Names of settings of the client's own. */
  readonly customNames: Set<string>;
  /** Requests that have come while one of it waits. */
  readonly queued: (readonly [slot: number, request: RequestOperation])[];
}

/** After these messages of PostgreSQL. */
export function rulesBehind(rules: TextRules, answer: Buffer): TextRules {
  let after = rules;
  const splitter = new FrameSplitter(answer.length + 1);
  splitter.feed(answer);
  while (splitter.next()) {
    if (splitter.type !== back.parameterStatus) continue;
    const { name, value } = readParameterStatus(answer.subarray(splitter.start, splitter.end));
    after = rulesAfter(after, name, value);
  }
  return after;
}

export const rulesAtFirst = usualRules;
