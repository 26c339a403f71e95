/** What the executor of statements asks of this replica's PostgreSQL: sessions of clients, and questions of its own. */

/** The connection has ended, by whichever side. */
export interface SessionEnded extends Error {
  readonly name: 'SessionEnded';
}

/** Ends with the connection: PostgreSQL is away, or has ended the session. */
export interface StatementConnection {
  readonly processId: number;
  /** What PostgreSQL said at the login, from AuthenticationOk up to and with ReadyForQuery, without BackendKeyData. */
  readonly greeting: Buffer;
  /**
   * Sends `bytes`, and gives each message of the answer to `take` until that returns true. Of a message longer than the bound only the beginning is given; its length says so. `take` may send more by `say`.
   * @throws SessionEnded when the connection ends first
   */
  exchange(bytes: Uint8Array, take: (message: Buffer) => boolean): Promise<void>;
  /** Within an exchange. */
  say(bytes: Uint8Array): void;
  /** Messages that come between exchanges: notifications, and words at the end. */
  onOther(take: (message: Buffer) => void): void;
  /** Resolves when PostgreSQL has let go of what the session held. */
  close(): Promise<void>;
}

/** `refused`: PostgreSQL's answer, an ErrorResponse. */
export type ConnectResult =
  | { readonly code: 'connected'; readonly connection: StatementConnection }
  | { readonly code: 'refused'; readonly answer: Buffer };

export interface StatementLogin {
  readonly user: string;
  readonly database: string;
  /** Latin1, byte for byte. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

/** `step`: several transactions may end within a slot. `open`: so many transactions were open behind it: what they have done is not there. */
export interface Pointer {
  readonly slot: number;
  readonly step: number;
  readonly open: number;
}

export type Row = Readonly<Record<string, unknown>>;

export interface StatementDatabase {
  /** As the client's own role. What the executor needs is in that database when it resolves. */
  connect(login: StatementLogin): Promise<ConnectResult>;
  /** The replica's own, in the database `postgres`, in a transaction of each text's own; one after another. */
  query(sql: string, parameters?: readonly unknown[]): Promise<readonly Row[]>;
  /** An advisory lock in that database, for a connection of its own; its end lets go of it. It does not wait: others may have it. */
  lock(database: string, key: string): Promise<{ end(): Promise<void> }>;
  /** It takes connections: its main process is alive, and is not about to end. */
  isThere(): Promise<boolean>;
  /** The newest pointer in any database; slot 0 if there is none. */
  readPointer(): Promise<Pointer>;
  /** Older pointers are of no use any more. */
  forgetPointers(below: number): Promise<void>;
  /** PostgreSQL has come up from a crash, and some sequence may be ahead since. */
  areSequencesAhead(): Promise<boolean>;
  /** What pointers in any database say of sessions: the newest seq of each, by its number. */
  readSeqs(): Promise<ReadonlyMap<number, number>>;
  /** Proves to the function that advances the pointer who calls it. `seqs`: sessions and their seqs, `12:5 40:1`. */
  sign(pointer: Pointer, seqs: string): string;
  close(): Promise<void>;
}
