/** Lets a client in whose statements travel: its session exists at every replica, so it is served by the one that it has come to, whoever leads. */
import type { StatementSessions } from '../../../ports/statement-sessions.ts';
import { type GatewayError, readyForQuery } from '../../../pgwire/backend-messages.ts';
import { authentication } from '../codec/authentication-messages.ts';
import { databaseOf, roleOf, type StartupMessage } from '../codec/startup.ts';
import { startupSetting, startupSettings } from '../codec/startup-options.ts';
import { databaseDown, notServing } from '../errors.ts';
import { isGone } from '../login/authenticate.ts';
import { ownSettingRefused } from '../statements/errors.ts';
import { StatementSession } from '../statements/statement-session.ts';
import { changeOrPoll } from './await-service.ts';
import { letIn } from './let-in.ts';
import { admissible, applicantOf, type Arrival, type Front, serve, type Served } from './sessions.ts';

const acknowledgeName = 'barista.acknowledge';
const acknowledge = /\bbarista\.acknowledge\b/gi;

/** In the startup packet: one that is not served. A backslash in `options` makes the next character an ordinary one. */
function hasOwnSetting({ parameters }: StartupMessage): boolean {
  return parameters.some(
    ([name, value]) =>
      (/^barista\./i.test(name) && name.toLowerCase() !== acknowledgeName) ||
      (name === 'options' && /\bbarista\./i.test(value.replaceAll('\\', '').replaceAll(acknowledge, ''))),
  );
}

/** Returns why the client cannot be served, or null. */
export async function placeStatementClient(
  front: Front,
  arrival: Arrival,
  sessions: StatementSessions,
): Promise<GatewayError | null> {
  const { client, startup, connection } = arrival;
  const why = await untilServed(front, sessions, () => isGone(client));
  if (isGone(client)) return null;
  if (why !== null) return notServing(why);
  if (hasOwnSetting(startup)) return ownSettingRefused;
  if (startupSetting(startup, acknowledgeName) !== undefined && !sessions.hasLevels) return ownSettingRefused;
  const refused =
    admissible(startup, sessions.reservedUsers) ?? (await connection.logIn(applicantOf(arrival)));
  if (refused !== null || isGone(client)) return refused;
  const failed = await letIn(front, arrival, sessions, databaseDown);
  if (failed !== null || isGone(client)) return failed;
  if (arrival.link.provesOnly === true)
    client.end(Buffer.concat([authentication(0, Buffer.alloc(0)), readyForQuery('I')]));
  else open(front, arrival, sessions);
  return null;
}

async function untilServed(
  front: Front,
  sessions: StatementSessions,
  gone: () => boolean,
): Promise<string | null> {
  const deadline = performance.now() + front.limits.leaderWaitMs;
  for (;;) {
    const why = sessions.whyNot();
    if (why === null || gone() || performance.now() >= deadline) return why;
    await changeOrPoll(front.service);
  }
}

function open(front: Front, { client, startup, connection }: Arrival, sessions: StatementSessions): void {
  let forgetKey = (): void => {};
  const { limits } = front;
  const level = startupSetting(startup, acknowledgeName);
  const session = new StatementSession({
    client,
    opening: {
      user: roleOf(startup),
      database: databaseOf(startup),
      parameters: startup.parameters.filter(([name]) => name !== 'user' && name !== 'database'),
      settings: startupSettings(startup),
      ...(level === undefined ? {} : { acknowledge: level }),
    },
    sessions,
    bounds: {
      frameBytesMax: limits.statementBytesMax,
      requestBytesMax: limits.statementBytesMax,
      copyBytesMax: limits.statementBytesMax,
    },
    lastWordsMs: limits.lastWordsMs,
    onAuthenticated: () => connection.becomeClient(),
    onKey: (key, cancel) => {
      forgetKey = front.cancels.addCall(key, cancel);
    },
    onWords: (words) => front.told.noteWords(connection.isClient, words),
  });
  client.on('close', () => forgetKey());
  const served: Served = {
    kind: 'statements',
    client,
    onService: () => undefined,
    end: (error) => session.end(error),
  };
  serve(front, served);
}
