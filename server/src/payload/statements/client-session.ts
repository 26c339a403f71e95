/** A client's session at this replica, as the executor knows it. Its connection to PostgreSQL is one of its own, at each replica. */
import { readParameterStatus } from '../../pgwire/backend-messages.ts';
import { FrameSplitter } from '../../pgwire/frame-splitter.ts';
import { back, type TransactionStatus } from '../../pgwire/message-types.ts';
import { rulesAfter, type TextRules, usualRules } from '../../pgwire/text-rules.ts';
import type { StatementConnection, StatementLogin } from '../../ports/statement-database.ts';
import { CallMemory } from './call-memory.ts';
import type { OperationResult, TextSettings } from './executor.ts';
import type { GivenSettings } from './login-settings.ts';
import type { RequestOperation, SessionId } from './operation.ts';
import type { StatementMeaning } from './request-plan.ts';
import { type KeptStatements, noStatements, type SessionState, stateAtFirst } from './session-state.ts';

export interface ClientSession {
  readonly id: SessionId;
  /** The slot of its `open`: its name where others may see it. */
  readonly number: number;
  readonly login: StatementLogin;
  /** By its role and its database, when it was opened first. */
  readonly given: GivenSettings;
  /** Which role and database these were (`identityOf`). */
  readonly identity: string;
  readonly connection: StatementConnection;
  status: TransactionStatus;
  rules: TextRules;
  /** Those that the rules follow from, as PostgreSQL has told them. */
  settings: TextSettings;
  readonly calls: CallMemory;
  hadUncompared: boolean;
  /** Of its last request. */
  seq: number;
  /** Of that; null: it is not known, or not finished. */
  last: OperationResult | null;
  statements: Map<string, StatementMeaning>;
  portals: Map<string, StatementMeaning>;
  /** What another backend needs to be like this one. */
  state: SessionState;
  /** Prepared statements of it that could not be made again: what they are about is gone, and may come back. */
  unmade: KeptStatements;
  /** It may have changed since. */
  stateIsOld: boolean;
  /** Of statements that it keeps prepared; while the state is old, at most. */
  preparedBytes: number;
  /** Its transaction may have made sessions unwelcome. */
  mayUnwelcome: boolean;
  /** In a block that has failed, and that holds nothing: its transaction was ended for others' sake. */
  isHollow: boolean;
  /** Its block may be SERIALIZABLE (serializable.ts). */
  isSerializable: boolean;
  /** Names of settings of the client's own. */
  readonly customNames: Set<string>;
  /** Requests that have come while one of it waits. */
  readonly queued: (readonly [slot: number, request: RequestOperation])[];
}

/** One that was opened just now. */
export function freshSession(
  opened: Pick<ClientSession, 'id' | 'number' | 'login' | 'given' | 'identity' | 'connection'>,
): ClientSession {
  const { greeting } = opened.connection;
  return {
    ...opened,
    status: 'I',
    rules: rulesBehind(usualRules, greeting),
    settings: settingsBehind(settingsAtFirst, greeting),
    calls: new CallMemory(),
    hadUncompared: false,
    seq: 0,
    last: null,
    statements: new Map(),
    portals: new Map(),
    state: stateAtFirst,
    unmade: noStatements,
    stateIsOld: false,
    preparedBytes: 0,
    mayUnwelcome: false,
    isHollow: false,
    isSerializable: false,
    customNames: new Set(),
    queued: [],
  };
}

/** After these messages of PostgreSQL. */
export function rulesBehind(rules: TextRules, answer: Buffer): TextRules {
  let after = rules;
  for (const { name, value } of settingsIn(answer)) after = rulesAfter(after, name, value);
  return after;
}

export function settingsBehind(settings: TextSettings, answer: Buffer): TextSettings {
  const told = [...settingsIn(answer)].filter(({ name }) => name in settings);
  return told.length === 0
    ? settings
    : { ...settings, ...Object.fromEntries(told.map(({ name, value }) => [name, value])) };
}

function* settingsIn(answer: Buffer): Generator<{ readonly name: string; readonly value: string }> {
  const splitter = new FrameSplitter(answer.length + 1);
  splitter.feed(answer);
  while (splitter.next())
    if (splitter.type === back.parameterStatus)
      yield readParameterStatus(answer.subarray(splitter.start, splitter.end));
}

const settingsAtFirst: TextSettings = { client_encoding: 'UTF8', standard_conforming_strings: 'on' };
