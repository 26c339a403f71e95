/** What makes a new session of PostgreSQL like one that is gone. Pure. */
import { becomeRole } from '../../../pgwire/become-role.ts';
import { ownQuestions } from '../../../pgwire/own-questions.ts';
import { frameOf } from '../../../pgwire/backend-messages.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import { effectsElsewhere } from '../../../pgwire/effects-elsewhere.ts';
import { functionsMark } from '../../../pgwire/functions-question.ts';
import { front } from '../../../pgwire/message-types.ts';
import { failedBlock } from './failed-block.ts';
import { askLogin } from './login-defaults.ts';
import type { SessionState } from './session-state.ts';

/** So long a step waits for a lock of others, which may be a prepared transaction's, and stay for ever: its backend would stay, too. Then the session is made later. */
const lockMs = 500;
/** So long one takes by itself: what parsing it runs may sleep. */
const stepMs = 2_000;
/** In the transaction of what follows, whatever the client has set. To parse a statement reads its constants, which may run code of clients, as the checks of domains are: what that writes was written when the client prepared it. */
export const restrained = `SELECT pg_catalog.set_config('lock_timeout', '${lockMs}', true), pg_catalog.set_config('statement_timeout', '${stepMs}', true), pg_catalog.set_config('transaction_read_only', 'on', true)`;

/** Is answered with one ReadyForQuery. */
export interface RestoreStep {
  readonly bytes: Buffer;
  /** `end`: then the session cannot be made. `forget`: then it lacks this statement, if it was not made before. `expected`: it may fail. */
  readonly onError: 'end' | 'forget' | 'expected';
  readonly statement: string;
  /** Its answer is kept. */
  readonly asks?: 'effects' | 'functions' | 'login' | 'reads';
}

/**
 * The encoding comes first: all that follows is in it. Then the settings, which whoever logs in may have been allowed to set, and not whom it has become. Statements come behind that, for a role may use what others may not, and
 * before that, too, for the same reason; that without a name is the last of all, for what sets anything takes its place.
 */
export function restoreSteps(state: Pick<SessionState, 'snapshot' | 'statements'>): RestoreStep[] {
  const { settings, authorization, role, channels } = state.snapshot;
  const encoding = settings.filter(([name]) => name === 'client_encoding');
  const others = settings.filter(([name]) => name !== 'client_encoding');
  const become: Buffer[] = [];
  if (authorization !== null) become.push(becomes('session_authorization', authorization));
  if (role !== null) become.push(role === 'none' ? setAll([['role', role]]) : becomes('role', role));
  const isAnother = authorization !== null || (role !== null && role !== 'none');
  const statements = statementSteps(state);
  const steps: RestoreStep[] = [];
  if (encoding.length > 0) steps.push(must(setAll(encoding)));
  if (others.length > 0) steps.push(must(setAll(others)));
  for (const name of channels) steps.push(must(query(`LISTEN "${name.replaceAll('"', '""')}"`)));
  if (isAnother) steps.push(...statements.map((step): RestoreStep => ({ ...step, onError: 'expected' })));
  steps.push(...become.map(must));
  steps.push(...statements);
  return steps;
}

const restrains = send.runsAs('barista_restrained', restrained);

function statementSteps({
  snapshot,
  statements,
}: Pick<SessionState, 'snapshot' | 'statements'>): RestoreStep[] {
  // Each by a message of its own: what PostgreSQL shows as the text of a statement, and what is made at the next leader, is all that was sent in one.
  const made = snapshot.prepares.map(
    (text): RestoreStep => ({
      bytes: Buffer.concat([restrains, runs(Buffer.from(text, 'latin1')), send.sync]),
      onError: 'expected',
      statement: '',
    }),
  );
  const parsed = statements.all.map(
    ([statement, frame]): RestoreStep => ({
      bytes: Buffer.concat([restrains, frame, send.sync]),
      onError: 'forget',
      statement,
    }),
  );
  return [...made, ...parsed];
}

/** It is in a block that has failed. */
export const failStep: RestoreStep = { bytes: failedBlock, onError: 'expected', statement: '' };

/** Whether the session may act elsewhere: `t` or `f`. Ahead of all others, whose settings might keep it from being answered. */
export const askElsewhere: RestoreStep = {
  bytes: Buffer.concat([send.runsAs(ownQuestions.effects, effectsElsewhere('session_user')), send.sync]),
  onError: 'expected',
  statement: '',
  asks: 'effects',
};

/** The mark of the functions that it may call. */
export const askFunctions: RestoreStep = {
  bytes: Buffer.concat([send.runsAs(ownQuestions.functions, functionsMark), send.sync]),
  onError: 'expected',
  statement: '',
  asks: 'functions',
};

/** Who the session is, and what defaults it has, ahead of all that it is given. */
export const askNewLogin: RestoreStep = {
  bytes: askLogin,
  onError: 'expected',
  statement: '',
  asks: 'login',
};

function must(bytes: Buffer): RestoreStep {
  return { bytes, onError: 'end', statement: '' };
}

/** Without a name: one that fails leaves none behind. */
function runs(sql: Buffer): Buffer {
  return Buffer.concat([send.parse('', sql), send.bind({ portal: '', statement: '' }), send.execute('')]);
}

function query(sql: string): Buffer {
  return frameOf(front.query, Buffer.from(`${sql}\0`, 'latin1'));
}

function becomes(setting: 'role' | 'session_authorization', oid: string): Buffer {
  return Buffer.concat([runs(Buffer.from(becomeRole(setting, oid), 'latin1')), send.sync]);
}

function setAll(settings: readonly (readonly [string, string])[]): Buffer {
  const sets = settings.flatMap((setting) => {
    const parameters = setting.map((text) => Buffer.from(text, 'latin1'));
    return [send.bind({ portal: '', statement: '', parameters }), send.execute('')];
  });
  const parse = send.parse('', 'SELECT pg_catalog.set_config($1, $2, false)');
  return Buffer.concat([parse, ...sets, send.sync]);
}
