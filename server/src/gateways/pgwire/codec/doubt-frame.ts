/**
 * The one message that a leader's gateway sends to a follower's, on a client's tunnelled connection, and never to a client: what the transaction is that the
 * session has open. If the leader goes away before its answer, the follower can find out what became of it.
 *
 * Pure. The payload is strings, each ended by a zero byte: round and replica of the leadership, then `x` and the transaction's id, or `n` and database, role and name
 * of a named request (all in UTF-8).
 */
import type { Ballot, ReplicaId } from '../../../multipaxos/types/names.ts';
import type { NamedRequest, OpenTransaction } from '../../../ports/client-service.ts';
import { frameOf } from './backend-messages.ts';
import { headerBytes } from './frame-splitter.ts';
import { ProtocolViolation } from './protocol-violation.ts';

/** No message of PostgreSQL has this type. */
export const doubtType = 'b'.charCodeAt(0);

/** What is known of the transaction whose outcome may come into doubt: its id, or the name that its client gave it. */
export type Doubt =
  | { readonly kind: 'transaction'; readonly transaction: OpenTransaction }
  | { readonly kind: 'request'; readonly request: NamedRequest; readonly leadership: Ballot };

export function doubtFrame(doubt: Doubt): Buffer {
  return frameOf(
    doubtType,
    Buffer.from(
      textsOf(doubt)
        .map((text) => `${text}\0`)
        .join(''),
      'utf8',
    ),
  );
}

function textsOf(doubt: Doubt): readonly string[] {
  if (doubt.kind === 'transaction') {
    const { leadership, xid } = doubt.transaction;
    return [String(leadership.round), leadership.replica, 'x', String(xid)];
  }
  const { leadership, request } = doubt;
  return [String(leadership.round), leadership.replica, 'n', request.database, request.role, request.name];
}

/** @throws ProtocolViolation */
export function readDoubt(frame: Buffer): Doubt {
  const texts = frame.toString('utf8', headerBytes).split('\0');
  // What follows the last zero byte.
  if (texts.pop() !== '') throw malformed();
  const [round = '', replica = '', kind, ...rest] = texts;
  if (!/^\d{1,15}$/.test(round) || replica === '') throw malformed();
  const leadership: Ballot = { round: Number(round), replica: replica as ReplicaId };
  if (kind === 'x' && rest.length === 1 && /^\d{1,20}$/.test(rest[0]!)) {
    return { kind: 'transaction', transaction: { leadership, xid: BigInt(rest[0]!) } };
  }
  if (kind === 'n' && rest.length === 3) {
    const [database, role, name] = rest as [string, string, string];
    return { kind: 'request', request: { database, role, name }, leadership };
  }
  throw malformed();
}

function malformed(): ProtocolViolation {
  return new ProtocolViolation('malformed message between replicas');
}
