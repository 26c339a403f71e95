/**
 * Finds out whether a client is who it says: by the rules of access, and by what PostgreSQL has on record about the role.
 *
 * Responsible for: proof of identity, and `VALID UNTIL`. Whether the role may log in, into this database, and as often as that, is PostgreSQL's to say when the session begins there.
 * Invariants: a client that does not prove itself hears the same, at the same step, whether there is such a role or not; no password is ever seen.
 */
import type { Socket } from 'node:net';
import type { LoginRecord } from '../../../ports/client-service.ts';
import {
  authenticationSasl,
  readSaslChoice,
  saslContinue,
  saslFinal,
} from '../codec/authentication-messages.ts';
import type { GatewayError } from '../../../pgwire/backend-messages.ts';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';
import { databaseOf, roleOf, type StartupMessage } from '../codec/startup.ts';
import * as errors from '../errors.ts';
import type { AccessRules } from './access-rules.ts';
import type { ClientLink } from './client-link.ts';
import { readAnswer } from './read-message.ts';
import { ScramExchange, scram, scramPlus } from './scram/scram-exchange.ts';
import { ScramRefusal } from './scram/scram-messages.ts';
import { mockScramSecret, readScramSecret } from './scram/scram-secret.ts';

/** `refused`: `reason` is for the operator alone. */
export type Proof =
  | { readonly code: 'proven' | 'gone' }
  | { readonly code: 'refused'; readonly error: GatewayError; readonly reason: string };

export interface Applicant {
  readonly client: Socket;
  readonly startup: StartupMessage;
  readonly link: ClientLink;
}

/** What rules and certificate say. Null: a password has to be proved. */
export function proofWithoutPassword({ startup, link }: Applicant, access: AccessRules): Proof | null {
  const question = {
    role: roleOf(startup),
    database: databaseOf(startup),
    address: link.address,
    isEncrypted: link.encryption !== null,
  };
  const method = access.methodFor(question);
  switch (method) {
    case 'scram':
      return null;
    case 'trust':
      return { code: 'proven' };
    case 'certificate': {
      if (link.encryption?.certificateName === question.role) return { code: 'proven' };
      const shown = link.encryption?.certificateName ?? null;
      const reason = shown === null ? 'it has shown no valid certificate' : `its certificate is for ${shown}`;
      return { code: 'refused', error: errors.wrongCertificate(question.role), reason };
    }
    case 'reject':
      return { code: 'refused', error: errors.rejectedByRule(question), reason: 'a rule rejects it' };
    case null:
      return { code: 'refused', error: errors.noRule(question), reason: 'no rule is for it' };
    default:
      return method satisfies never;
  }
}

/** Why nobody can log in with what PostgreSQL has on record; null: somebody can. */
function whyDoomed(record: LoginRecord): string | null {
  if (!record.isKnown) return 'there is no such role';
  if (record.secret === null) return 'the role has no password';
  if (record.isExpired) return 'the password is no longer valid (VALID UNTIL)';
  return readScramSecret(record.secret) === null
    ? 'the password is not kept for SCRAM-SHA-256 (perhaps for md5): set it again'
    : null;
}

/** `mockKey`: of the cluster. */
export async function provePassword(
  { client, startup, link }: Applicant,
  record: LoginRecord,
  mockKey: Buffer,
): Promise<Proof> {
  const role = roleOf(startup);
  const doomed = whyDoomed(record);
  const mock = mockScramSecret(mockKey, role, record.iterations);
  const own = record.secret === null ? null : readScramSecret(record.secret);
  const endpoint = link.encryption?.endpoint ?? null;
  try {
    client.write(authenticationSasl(endpoint === null ? [scram] : [scramPlus, scram]));
    const choice = await readChoice(client);
    if (choice === null) return { code: 'gone' };
    const { mechanism } = choice;
    if (mechanism !== scram && (mechanism !== scramPlus || endpoint === null)) {
      throw new ProtocolViolation('client selected an invalid SASL authentication mechanism');
    }
    const secret = doomed === null && own !== null ? own : mock;
    const exchange = new ScramExchange({ mechanism, secret, isDoomed: doomed !== null, endpoint });
    client.write(saslContinue(exchange.begin(choice.data)));
    const second = await readAnswer(client);
    if (second === null || isGone(client)) return { code: 'gone' };
    const { isProven, reply } = exchange.end(second);
    if (isProven) {
      client.write(saslFinal(reply));
      return { code: 'proven' };
    }
    return { code: 'refused', error: errors.wrongPassword(role), reason: doomed ?? 'the password is wrong' };
  } catch (error) {
    const told = whyRefused(error);
    if (told === null) throw error;
    return { code: 'refused', error: told, reason: told.detail ?? told.message };
  }
}

/** The mechanism, and the client's first message, for which a client may wait to be asked. */
async function readChoice(client: Socket): Promise<{ mechanism: string; data: Buffer } | null> {
  const answer = await readAnswer(client);
  if (answer === null || isGone(client)) return null;
  const { mechanism, data } = readSaslChoice(answer);
  if (data !== null) return { mechanism, data };
  client.write(saslContinue(Buffer.alloc(0)));
  const first = await readAnswer(client);
  return first === null || isGone(client) ? null : { mechanism, data: first };
}

function whyRefused(error: unknown): GatewayError | null {
  if (error instanceof ScramRefusal) return error.told;
  return error instanceof ProtocolViolation ? errors.protocolViolation(error.message) : null;
}

/** Of one that has ended the connection from its side. Last words that it has been sent may yet be read. */
export function letGo(client: Socket): void {
  if (!client.writableEnded) client.destroy();
}

/** It has closed the connection, or has its last words. */
export function isGone(client: Socket): boolean {
  return client.destroyed || client.writableEnded;
}
