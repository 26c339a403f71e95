/** Messages of authentication: those that the gateway writes as a server, and the client's answers (type `p`). Pure. */
import { frameOf } from '../../../pgwire/backend-messages.ts';
import { stringEnd } from '../../../pgwire/frontend-messages.ts';
import { back } from '../../../pgwire/message-types.ts';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';

const saslCode = 10;
const saslContinueCode = 11;
const saslFinalCode = 12;

/** The mechanisms of which the client is to choose one, the best first. */
export function authenticationSasl(mechanisms: readonly string[]): Buffer {
  return authentication(saslCode, Buffer.from(`${mechanisms.join('\0')}\0\0`, 'latin1'));
}

export function saslContinue(data: Buffer): Buffer {
  return authentication(saslContinueCode, data);
}

export function saslFinal(data: Buffer): Buffer {
  return authentication(saslFinalCode, data);
}

export function authentication(code: number, rest: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeInt32BE(code, 0);
  return frameOf(back.authentication, Buffer.concat([head, rest]));
}

export interface SaslChoice {
  readonly mechanism: string;
  /** Null: the client has nothing to say yet. */
  readonly data: Buffer | null;
}

/** `payload`: of the client's first answer. @throws ProtocolViolation */
export function readSaslChoice(payload: Buffer): SaslChoice {
  const end = stringEnd(payload, 0, payload.length);
  const from = end + 5;
  if (from > payload.length) throw new ProtocolViolation('malformed SASL response');
  const length = payload.readInt32BE(end + 1);
  const mechanism = payload.toString('latin1', 0, end);
  if (length === -1 && from === payload.length) return { mechanism, data: null };
  if (length !== payload.length - from) throw new ProtocolViolation('malformed SASL response');
  return { mechanism, data: payload.subarray(from) };
}
