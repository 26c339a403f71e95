/**
 * What gateways need where statements travel: sessions that exist at every replica, and requests to them that are agreed on.
 *
 * Does nothing itself. The replica implements it; tests of the gateway implement it in memory.
 */
import type { FindLogin } from './client-service.ts';

/** 32 hexadecimal digits, drawn at random: whoever knows it may use the session, at any replica. */
export type SessionId = string & { readonly brand: 'SessionId' };

export interface SessionOpening {
  readonly user: string;
  readonly database: string;
  /** Of the startup packet, but for user and database. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
  /** Settings among these, by their names in lower case. */
  readonly settings?: readonly (readonly [name: string, value: string])[];
  /** `barista.acknowledge` among these, if it is there. */
  readonly acknowledge?: string;
}

/**
 * `answered`: what this replica's PostgreSQL said, in the messages of its protocol: up to and with the last ReadyForQuery, or an ErrorResponse that ends the session (then `ended`).
 * `wantsData`: nothing was submitted; the request copies into a table, and is to come again with the data behind it, by the same number. `refused`: it was not ordered, and never will be. `unknown`: it was not ordered in the time given, and may yet be; asking again with the same number is answered, and executed once.
 */
export type RequestAnswer =
  | { readonly code: 'answered'; readonly bytes: Buffer; readonly ended: boolean }
  | { readonly code: 'wantsData'; readonly isBinary: boolean }
  | { readonly code: 'refused' | 'unknown'; readonly reason: string };

/** `processId`: of the session, the same at every replica: what `pg_backend_pid()` says, and notifications. */
export type OpenAnswer = Exclude<RequestAnswer, { code: 'wantsData' }> & {
  readonly session: SessionId;
  readonly processId: number;
};

export interface StatementSessions {
  /** Null: sessions may be opened here. For people. */
  whyNot(): string | null;
  /** What this replica's PostgreSQL has on record. */
  readonly findLogin: FindLogin;
  readonly reservedUsers: readonly string[];
  /** Sessions may ask for a level of acknowledgement. */
  readonly hasLevels: boolean;
  /** Whoever opens one has proved who it is. `onNotified`: a message of PostgreSQL's that is no answer, such as a notification. Never rejects. */
  open(opening: SessionOpening, onNotified: (message: Buffer) => void): Promise<OpenAnswer>;
  /**
   * One request cycle of the client's own messages: a Query, or messages up to and with a Sync; behind what copies into a table its CopyData and what ends it. `seq` counts up
   * from 1 in each session; one request of a session at a time. Never rejects.
   */
  request(session: SessionId, seq: number, bytes: Buffer): Promise<RequestAnswer>;
  /** Ends what the session is at, where it waits. */
  cancel(session: SessionId): void;
  /** The session ends at all replicas, some time soon. */
  close(session: SessionId): void;
}

/** What is to be done on a session that its client uses at whichever replica it likes. */
export interface SharedCall {
  /** One request cycle in the messages of PostgreSQL's protocol. */
  readonly bytes: Buffer;
  /** Where the session has to stand: anywhere, outside of a transaction block, within one. */
  readonly needs: 'any' | 'idle' | 'block';
  /** 32 hexadecimal digits, of the client's own name for it: it is executed once. Null: it has none. */
  readonly name: string | null;
  /** Likewise, of what is asked for. */
  readonly digest: string;
  /** Its answers may differ between replicas. */
  readonly isCompared?: false;
}

/** As a request is answered; `unmet`: the session does not stand where it has to; `differs`: another call had the name; `notKept`: it was executed before, and its answer is not known any more; `copies`: it asks for data, and was not submitted. */
export type CallAnswer =
  | { readonly code: 'answered'; readonly bytes: Buffer; readonly ended: boolean }
  | { readonly code: 'unmet' | 'differs' | 'notKept' | 'copies' }
  | { readonly code: 'refused' | 'unknown'; readonly reason: string };

export interface SharedSession {
  readonly id: SessionId;
  /** One at a time, here; other replicas may have calls of it as well. Never rejects. */
  call(call: SharedCall): Promise<CallAnswer>;
  /** Ends it at all replicas. Never rejects. */
  close(): Promise<Exclude<Submitted, { code: 'answered' }> | { readonly code: 'closed' }>;
  /** The same some time soon, unless it is used meanwhile, wherever that is. */
  closeIfUnused(): void;
}

type Submitted = Exclude<RequestAnswer, { code: 'wantsData' }>;

/** Sessions that are known at every replica by what `id` tells. */
export interface SharedSessions {
  /** Whoever opens one has proved who it is. `answered`: PostgreSQL does not let it in, and says why. Never rejects. */
  open(
    opening: SessionOpening,
  ): Promise<{ readonly code: 'opened'; readonly session: SharedSession } | Submitted>;
  /** There need be none, which its first call tells. */
  at(id: SessionId): SharedSession;
}
