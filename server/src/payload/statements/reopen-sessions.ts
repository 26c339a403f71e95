/** Opens the sessions again that a replica had before it was restarted, as they were at its pointer. */
import { back } from '../../pgwire/message-types.ts';
import type { StatementDatabase } from '../../ports/statement-database.ts';
import { CallMemory } from './call-memory.ts';
import { type ClientSession, freshSession, rulesBehind, settingsBehind } from './client-session.ts';
import type { OperationResult } from './executor.ts';
import type { RequestRunner } from './request-runner.ts';
import type { RememberedSession } from './session-memory.ts';
import { givenTo, loginAsBefore } from './login-settings.ts';
import { preparedBytesOf, restoreSteps, withStatements } from './session-state.ts';
import { statementsOf } from './text-statements.ts';

/** Null: one of them cannot be what it was. */
export async function reopenSessions(
  remembered: ReadonlyMap<number, RememberedSession>,
  database: Pick<StatementDatabase, 'connect' | 'query'>,
  runner: RequestRunner,
  stopClocks: (session: ClientSession) => Promise<void>,
): Promise<readonly ClientSession[] | null> {
  const sessions: ClientSession[] = [];
  for (const [number, one] of remembered) {
    const session = await reopen(number, one, database, runner, stopClocks);
    if (session !== null) sessions.push(session);
    if (session === null || one.isUnsure || one.state.isBound) {
      await Promise.all(sessions.map(({ connection }) => connection.close()));
      return null;
    }
  }
  return sessions;
}

async function reopen(
  number: number,
  remembered: RememberedSession,
  database: Pick<StatementDatabase, 'connect' | 'query'>,
  runner: RequestRunner,
  stopClocks: (session: ClientSession) => Promise<void>,
): Promise<ClientSession | null> {
  const { id, login, seq, last, state, customNames, isHollow } = remembered;
  const given = remembered.given ?? (await givenTo(login, database));
  const opened = await database.connect(await loginAsBefore(login, given, database));
  if (opened.code === 'refused') return null;
  const { connection } = opened;
  const session: ClientSession = {
    ...freshSession({ id, number, login, given, connection }),
    calls: CallMemory.of(remembered.calls),
    // Nobody has written down whether.
    hadUncompared: true,
    seq,
    last: last === null ? null : keptResult(last),
    state,
    isHollow,
    customNames: new Set(customNames),
    preparedBytes: preparedBytesOf(state),
  };
  await stopClocks(session);
  const { ahead, statements, behind } = restoreSteps(state);
  const takes = async (step: Buffer): Promise<boolean> => {
    const messages = await runner.ask(session, step);
    if (messages.some(([type]) => type === back.errorResponse)) return false;
    const told = Buffer.concat(messages);
    session.rules = rulesBehind(session.rules, told);
    session.settings = settingsBehind(session.settings, told);
    return true;
  };
  for (const step of ahead) if (!(await takes(step))) return closeAgain(connection);
  for (const { step, kept } of statements)
    if (!(await takes(step))) session.unmade = withStatements(session.unmade, kept);
  for (const step of behind) if (!(await takes(step))) return closeAgain(connection);
  for (const { name, text } of state.parsed) {
    const [statement] = statementsOf(Buffer.from(text, 'latin1'), session.rules);
    if (statement !== undefined) session.statements.set(name, statement);
  }
  if (isHollow) {
    await runner.own(session, ['BEGIN', '"a failed block"']);
    session.status = 'E';
  }
  return session;
}

async function closeAgain(connection: ClientSession['connection']): Promise<null> {
  await connection.close();
  return null;
}

function keptResult({ answer, status }: NonNullable<RememberedSession['last']>): OperationResult {
  return { outcome: 'executed', answer: Buffer.from(answer, 'base64'), status, digest: null };
}
