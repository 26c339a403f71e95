/** Lets a client in, if it is who it says: at a PostgreSQL of this replica, or on its way to the leader. */
import type { FindLogin, LoginRecord, PostgresDoor } from '../../../ports/client-service.ts';
import type { GatewayError } from '../../../pgwire/backend-messages.ts';
import { roleOf } from '../codec/startup.ts';
import { isGone, letGo, type Proof, proofWithoutPassword, provePassword } from '../login/authenticate.ts';
import type { Arrival, Front } from './sessions.ts';

/** Returns why not, or null: then it may have gone meanwhile. `unavailable`: what it is told where PostgreSQL cannot be asked. */
export async function letIn(
  front: Front,
  arrival: Arrival,
  door: Pick<PostgresDoor, 'findLogin'>,
  unavailable: GatewayError,
): Promise<GatewayError | null> {
  if (arrival.isProven) return null;
  const proof = byRule(front, arrival) ?? (await byPassword(front, arrival, door.findLogin));
  return proof.code === 'unanswered' ? (proof.error ?? unavailable) : judge(front, arrival, proof);
}

/** The same for one that the leader is to serve. Where this replica's own PostgreSQL cannot say what every other replica knows by now, the leader's gateway asks for the password. */
export async function letInForLeader(front: Front, arrival: Arrival): Promise<GatewayError | null> {
  if (arrival.isProven) return null;
  const proof = byRule(front, arrival) ?? (await byPassword(front, arrival, currentLogins(front)));
  return proof.code === 'unanswered' ? null : judge(front, arrival, proof);
}

/** Rules are of the gateway that the client has come to, and not of the one that it is passed on to. */
function byRule(front: Front, arrival: Arrival): Proof | null {
  return arrival.startup.tunnelNonce === null ? proofWithoutPassword(arrival, front.access) : null;
}

/** What the standby has on record once it has all that any client knew before: a password that was changed is changed. */
function currentLogins({ service, limits }: Front): FindLogin {
  return async (role) => {
    const door = service.reads.standby();
    if (door === null) throw new Error('there is no standby');
    const { code } = await service.reads.beginRead(door.life, { kind: 'linearizable' }, limits.loginReadMs);
    if (code !== 'current') throw new Error('the standby is not current');
    return door.findLogin(role);
  };
}

function judge(front: Front, arrival: Arrival, proof: Proof): Promise<GatewayError | null> {
  if (proof.code === 'proven') {
    arrival.isProven = true;
    return arrival.connection.enter();
  }
  if (proof.code === 'gone') letGo(arrival.client);
  if (proof.code !== 'refused') return Promise.resolve(null);
  const { address } = arrival.link;
  front.info({ role: roleOf(arrival.startup), address, reason: proof.reason }, 'a client is not let in');
  return Promise.resolve(proof.error);
}

async function byPassword(front: Front, arrival: Arrival, findLogin: FindLogin): Promise<Proof | Unanswered> {
  let record: LoginRecord | null = null;
  let error: GatewayError | null = null;
  try {
    record = await findLogin(roleOf(arrival.startup));
  } catch (thrown) {
    error = lackOf(thrown);
  }
  if (isGone(arrival.client)) return { code: 'gone' };
  if (record === null) return { code: 'unanswered', error };
  return provePassword(arrival, record, front.keys.mock);
}

/** PostgreSQL does not say what it has on record. `error`: its own words, where it serves and lacks something (class 53), such as room in its lock table. */
interface Unanswered {
  readonly code: 'unanswered';
  readonly error: GatewayError | null;
}

function lackOf(thrown: unknown): GatewayError | null {
  const { code, message, detail, hint } = thrown as Partial<Record<string, unknown>>;
  if (typeof code !== 'string' || !/^53[0-9A-Z]{3}$/.test(code)) return null;
  return {
    sqlState: code,
    message: String(message),
    ...(typeof detail === 'string' && { detail }),
    ...(typeof hint === 'string' && { hint }),
  };
}
