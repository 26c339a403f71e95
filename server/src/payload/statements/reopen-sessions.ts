/** Opens the sessions again that a replica had before it was restarted, as they were at its pointer. */
import { back } from '../../pgwire/message-types.ts';
import type { StatementDatabase } from '../../ports/statement-database.ts';
import { CallMemory } from './call-memory.ts';
import { type ClientSession, freshSession, rulesBehind, settingsBehind } from './client-session.ts';
import type { OperationResult } from './executor.ts';
import type { RequestRunner } from './request-runner.ts';
import type { RememberedSession } from './session-memory.ts';
import { givenTo, identityOf, loginAsBefore } from './login-settings.ts';
import { preparedBytesOf, restoreSteps, withStatements } from './session-state.ts';
import { statementsOf } from './text-statements.ts';

/** `lost`: those that PostgreSQL does not open again, or not as they were: their roles, databases or settings are not what they were, or others have got their names. They hold nothing, and are to be closed at all replicas. */
export interface Reopened {
  readonly sessions: readonly ClientSession[];
  readonly lost: ReadonlyMap<number, RememberedSession>;
}

/** Null: of one of them it is not known what it was, or it held what nothing gives back. */
export async function reopenSessions(
  remembered: ReadonlyMap<number, RememberedSession>,
  database: Pick<StatementDatabase, 'connect' | 'query'>,
  runner: RequestRunner,
  stopClocks: (session: ClientSession) => Promise<void>,
): Promise<Reopened | null> {
  const sessions: ClientSession[] = [];
  const lost = new Map<number, RememberedSession>();
  for (const [number, one] of remembered) {
    if (one.isUnsure || one.state.isBound) {
      await Promise.all(sessions.map(({ connection }) => connection.close()));
      return null;
    }
    const session = await reopen(number, one, database, runner, stopClocks);
    if (session === null) lost.set(number, one);
    else sessions.push(session);
  }
  return { sessions, lost };
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
  const identity = await identityOf(login, database);
  if ((remembered.identity ?? identity) !== identity) return null;
  const opened = await database.connect(await loginAsBefore(login, given, database));
  if (opened.code === 'refused') return null;
  const { connection } = opened;
  const session: ClientSession = {
    ...freshSession({ id, number, login, given, identity, connection }),
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
