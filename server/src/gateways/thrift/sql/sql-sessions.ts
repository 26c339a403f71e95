/**
 * Where the Thrift gateway's connections live. One implementation opens sessions of this replica's SQL gateway; another may know handles of all replicas.
 */
import type { ClientLink } from '../../pgwire/login/client-link.ts';
import type { Connection, ConnectionParams, ResultSet } from '../codec/barista-api.ts';

/** What is to be done on a session. */
export type SqlRequest =
  | {
      readonly kind: 'execute' | 'executeInTransaction';
      readonly query: Buffer;
      readonly params: readonly (Buffer | null)[];
    }
  | { readonly kind: 'begin' | 'commit' | 'rollback' | 'close' };

export interface SqlSession {
  /** What the client has to show, and is given back. */
  readonly connection: Connection;
  /** It can be used no more. */
  readonly isOver: boolean;
  /** Whether a request that is passed this has a name: what it was opened with is none. */
  isName(seqId: string): boolean;
  /**
   * Runs it behind those that came before. `seqId`: the client's name for the request, which is executed once; null: it has none. Null is answered by what returns nothing.
   * @throws SqlError
   */
  run(request: SqlRequest, seqId: string | null): Promise<ResultSet | null>;
  /** A connection of a client uses it from now on; the function that is returned says that it does not any more. */
  attach(): () => void;
}

export interface SqlSessions {
  /** `link`: how the client is connected. @throws SqlError */
  open(params: ConnectionParams, link: ClientLink): Promise<SqlSession>;
  /** Null: there is no such session, or it is another user's. */
  find(handle: Connection): SqlSession | null;
  readonly size: number;
  /** Ends all. */
  close(): void;
}
