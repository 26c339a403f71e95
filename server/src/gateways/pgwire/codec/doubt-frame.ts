/**
 * The one message that a leader's front end sends to another replica's, on a client's tunnelled connection, and never to a client: this
 * transaction is about to be proposed. If the leader goes away before its answer, the other replica can look up what became of it.
 *
 * Pure. Payload: transaction, round and owner of the leadership, slot (each a C string), then 1 and the answer that its client is to get if it
 * takes effect, or 0.
 */
import type { ReplicaId, Slot } from '../../../multipaxos/types.ts';
import type { ProposedMark } from '../../../ports/agreement.ts';
import { headerBytes } from './frame-splitter.ts';
import { ProtocolViolation } from './protocol-violation.ts';

/** No message of PostgreSQL has this type. */
export const doubtType = 'b'.charCodeAt(0);

export interface Doubt {
  readonly mark: ProposedMark;
  /** Whole messages; null where it is too long, or part of it has left. */
  readonly answer: Buffer | null;
}

export const doubtFrame = ({ mark, answer }: Doubt): Buffer => {
  const { transaction, leadership, above } = mark;
  const texts = [transaction, String(leadership.round), leadership.replica, String(above)];
  const payload = Buffer.concat([
    Buffer.from(texts.map((text) => `${text}\0`).join(''), 'utf8'),
    Buffer.from([answer === null ? 0 : 1]),
    ...(answer === null ? [] : [answer]),
  ]);
  const frame = Buffer.allocUnsafe(headerBytes + payload.length);
  frame[0] = doubtType;
  frame.writeInt32BE(payload.length + 4, 1);
  payload.copy(frame, headerBytes);
  return frame;
};

/** @throws ProtocolViolation */
export const readDoubt = (frame: Buffer): Doubt => {
  const texts: string[] = [];
  let at = headerBytes;
  while (texts.length < 4) {
    const end = frame.indexOf(0, at);
    if (end < 0) throw new ProtocolViolation('malformed message between replicas');
    texts.push(frame.toString('utf8', at, end));
    at = end + 1;
  }
  const [transaction = '', round, replica = '', above] = texts;
  const numbers = [Number(round), Number(above)];
  if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0) || at >= frame.length) {
    throw new ProtocolViolation('malformed message between replicas');
  }
  const leadership = { round: Number(round), replica: replica as ReplicaId };
  return {
    mark: { transaction, leadership, above: Number(above) as Slot },
    answer: frame[at] === 1 ? Buffer.from(frame.subarray(at + 1)) : null,
  };
};
