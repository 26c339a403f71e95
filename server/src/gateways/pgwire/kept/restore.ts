/** What makes a new session of PostgreSQL like one that is gone. Pure. */
import { frameOf } from '../codec/backend-messages.ts';
import * as send from '../codec/frontend-messages.ts';
import { front } from '../codec/message-types.ts';
import { failedBlock } from './failed-block.ts';
import type { SessionState } from './session-state.ts';

/** Is answered with one ReadyForQuery. */
export interface RestoreStep {
  readonly bytes: Buffer;
  /** `end`: then the session cannot be made. `forget`: then it lacks this statement. `expected`: it is to fail. */
  readonly onError: 'end' | 'forget' | 'expected';
  readonly statement: string;
}

/** The encoding comes first: all that follows is in it. The role comes last: it may not be allowed to do the rest. */
export function restoreSteps(state: Pick<SessionState, 'snapshot' | 'statements'>): RestoreStep[] {
  const { settings, role, channels, prepares } = state.snapshot;
  const encoding = settings.filter(([name]) => name === 'client_encoding');
  const others = settings.filter(([name]) => name !== 'client_encoding');
  const steps: RestoreStep[] = [];
  if (encoding.length > 0) steps.push(must(setAll(encoding)));
  if (others.length > 0) steps.push(must(setAll(others)));
  for (const text of prepares) steps.push({ bytes: query(text), onError: 'forget', statement: '' });
  for (const name of channels) steps.push(must(query(`LISTEN "${name.replaceAll('"', '""')}"`)));
  for (const [statement, frame] of state.statements.all) {
    steps.push({ bytes: Buffer.concat([frame, send.sync]), onError: 'forget', statement });
  }
  if (role !== null) steps.push(must(setAll([['role', role]])));
  return steps;
}

/** It is in a block that has failed. */
export const failStep: RestoreStep = { bytes: failedBlock, onError: 'expected', statement: '' };

function must(bytes: Buffer): RestoreStep {
  return { bytes, onError: 'end', statement: '' };
}

function query(sql: string): Buffer {
  return frameOf(front.query, Buffer.from(`${sql}\0`, 'latin1'));
}

function setAll(settings: readonly (readonly [string, string])[]): Buffer {
  const sets = settings.flatMap((setting) => {
    const parameters = setting.map((text) => Buffer.from(text, 'latin1'));
    return [send.bind({ portal: '', statement: '', parameters }), send.execute('')];
  });
  const parse = send.parse('', 'SELECT pg_catalog.set_config($1, $2, false)');
  return Buffer.concat([parse, ...sets, send.sync]);
}
