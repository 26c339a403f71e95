/** Every bound of the Thrift gateway in one place. */
export interface ThriftLimits {
  /** Longest request. Clients of Thrift take no longer frames either, unless told otherwise. */
  readonly messageBytesMax: number;
  /** The same on a connection that has shown no valid handle yet, and has opened none. */
  readonly strangerMessageBytesMax: number;
  /** Fields, and elements of lists, sets and maps, in one request. PostgreSQL takes 65,535 parameters. */
  readonly elementsMax: number;
  /** How deep structures of a request may lie in each other. */
  readonly depthMax: number;
  /** Requests that are not whole yet, or being answered, of all connections. */
  readonly requestBytesInAllMax: number;
  /** The same of connections that have shown no handle. */
  readonly strangerBytesInAllMax: number;
  /** Connections that have shown a valid handle or have opened one. */
  readonly membersMax: number;
  /** Other ones: beyond it the oldest is closed. */
  readonly strangersMax: number;
  /** Invalid handles on one connection; then it is closed. */
  readonly wrongHandlesMax: number;
  readonly handshakeTimeoutMs: number;
  readonly handshakesAtOnce: number;
  readonly handshakeEveryMs: number;
  readonly certificateLookMs: number;
  /** How long a connection that has shown no handle may say nothing. */
  readonly strangerIdleMs: number;
  /** How long any other may. */
  readonly memberIdleMs: number;
  /** From the first byte of a request to its last one. */
  readonly messageTimeoutMs: number;
  /** How long a client may take to read an answer. */
  readonly answerTimeoutMs: number;
  /** Longest answer, in bytes of its tuples. */
  readonly resultBytesMax: number;
  /** Answers that are being gathered or are kept, of all sessions. */
  readonly resultBytesInAllMax: number;
  /** Log-ins at the same time; so many more wait for their turn. */
  readonly loginsMax: number;
  readonly loginsWaitingMax: number;
  readonly loginTimeoutMs: number;
  /** Requests of one session that wait for those before them. */
  readonly waitingMax: number;
  /** Answers that are kept of one session, for requests that are repeated. */
  readonly keptAnswersMax: number;
  /** Longest answer that is kept. */
  readonly keptAnswerBytesMax: number;
  /** A session whose connection is there, and which does nothing, ends after so long. */
  readonly sessionIdleMs: number;
  /** One whose connection has gone, and which was not used on another one. */
  readonly sessionAloneMs: number;
  /** How long it is remembered why a session has ended. */
  readonly endRememberedMs: number;
  /** Sessions of which that is remembered. */
  readonly endsRememberedMax: number;
}

const MiB = 1_048_576;

export const defaultLimits: ThriftLimits = {
  messageBytesMax: 16_384_000,
  strangerMessageBytesMax: MiB,
  elementsMax: 70_000,
  depthMax: 16,
  requestBytesInAllMax: 256 * MiB,
  strangerBytesInAllMax: 32 * MiB,
  membersMax: 1_000,
  strangersMax: 500,
  wrongHandlesMax: 10,
  handshakeTimeoutMs: 10_000,
  handshakesAtOnce: 50,
  handshakeEveryMs: 5,
  certificateLookMs: 5_000,
  strangerIdleMs: 20_000,
  memberIdleMs: 3_600_000,
  messageTimeoutMs: 30_000,
  answerTimeoutMs: 60_000,
  resultBytesMax: 16_000_000,
  resultBytesInAllMax: 256 * MiB,
  loginsMax: 16,
  loginsWaitingMax: 200,
  loginTimeoutMs: 30_000,
  waitingMax: 16,
  keptAnswersMax: 4,
  keptAnswerBytesMax: 64 * 1024,
  sessionIdleMs: 1_800_000,
  sessionAloneMs: 60_000,
  endRememberedMs: 60_000,
  endsRememberedMax: 1_000,
};
