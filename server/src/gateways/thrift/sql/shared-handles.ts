/**
 * Handles of connections that are valid at every replica: each can tell whether one of them has given it out, to whom, and for which session, without having heard of it.
 *
 * Behind the client's own client_id stand the session, a mark of the seq_id that it was opened with, and a proof of both and of client_id, user and database, by a key that the replicas of the cluster have in common and nobody else. Pure.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { SessionId } from '../../../ports/statement-sessions.ts';
import type { Connection } from '../codec/barista-api.ts';

const sessionBytes = 16;
const markBytes = 8;
const proofBytes = 16;
const token = /^[A-Za-z0-9_-]{54}$/;

export interface KnownHandle {
  readonly session: SessionId;
  /** Whether a request that is passed this seq_id has a name. */
  readonly isName: (seqId: string) => boolean;
}

export class SharedHandles {
  private readonly key: Buffer;

  constructor(clusterSecret: string) {
    this.key = createHmac('sha256', clusterSecret).update('barista thrift handles').digest();
  }

  make(session: SessionId, of: Required<Connection>): Connection {
    const mark = markOf(of.seqId);
    const proof = this.proofOf(session, mark, of);
    const secret = Buffer.concat([Buffer.from(session, 'hex'), mark, proof]).toString('base64url');
    return { ...of, clientId: `${of.clientId}:${secret}` };
  }

  /** Null: no replica has given it out so. */
  read({ clientId = '', user = '', database = '' }: Connection): KnownHandle | null {
    const at = clientId.lastIndexOf(':');
    const secret = clientId.slice(at + 1);
    if (at < 0 || !token.test(secret)) return null;
    const bytes = Buffer.from(secret, 'base64url');
    const session = bytes.toString('hex', 0, sessionBytes) as SessionId;
    const mark = bytes.subarray(sessionBytes, sessionBytes + markBytes);
    const proof = this.proofOf(session, mark, { clientId: clientId.slice(0, at), user, database });
    if (!timingSafeEqual(proof, bytes.subarray(sessionBytes + markBytes))) return null;
    return { session, isName: (seqId) => !markOf(seqId).equals(mark) };
  }

  private proofOf(
    session: SessionId,
    mark: Buffer,
    { clientId, user, database }: Omit<Required<Connection>, 'seqId'>,
  ): Buffer {
    const said = JSON.stringify([session, mark.toString('hex'), clientId, user, database]);
    return createHmac('sha256', this.key).update(said).digest().subarray(0, proofBytes);
  }
}

function markOf(seqId: string): Buffer {
  return createHash('sha256').update(seqId).digest().subarray(0, markBytes);
}
