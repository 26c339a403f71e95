/**
 * What a leader's gateway tells a follower's, on a client's tunnelled connection, so that the follower can find out what became of a transaction if the leader goes away before its answer: under which leadership the session runs,
 * and what the transaction is that it has open.
 *
 * Pure. The leadership is told as a setting is (ParameterStatus), which a follower that does not know it passes on. A transaction has a message of its own, which no client gets. Its payload is strings, each ended by a zero byte: round and replica of the leadership, then `x` and the transaction's id, or `n` and database, owner and name
 * of a named request (all in UTF-8).
 */
import type { Ballot, ReplicaId } from '../../../multipaxos/types/names.ts';
import type { NamedRequest, OpenTransaction } from '../../../ports/client-service.ts';
import { frameOf } from '../../../pgwire/backend-messages.ts';
import { headerBytes } from '../../../pgwire/frame-splitter.ts';
import { back } from '../../../pgwire/message-types.ts';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';

/** The name of the setting that tells the leadership. */
export const leadershipParameter = 'barista.leadership';

/** A session runs under this leadership. */
export function leadershipFrame({ round, replica }: Ballot): Buffer {
  return frameOf(back.parameterStatus, Buffer.from(`${leadershipParameter}\0${round} ${replica}\0`, 'utf8'));
}

/** Of that setting's value. Null: it is none. */
export function readLeadership(value: string): Ballot | null {
  const [, round, replica] = /^(\d{1,15}) (\S+)$/.exec(value) ?? [];
  return round === undefined ? null : { round: Number(round), replica: replica as ReplicaId };
}

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
  return [String(leadership.round), leadership.replica, 'n', request.database, request.owner, request.name];
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
    const [database, owner, name] = rest as [string, string, string];
    return { kind: 'request', request: { database, owner, name }, leadership };
  }
  throw malformed();
}

function malformed(): ProtocolViolation {
  return new ProtocolViolation('malformed message between replicas');
}
