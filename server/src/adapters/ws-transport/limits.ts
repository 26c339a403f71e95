/** Every bound of the peers' transport, in one place. */
export interface TransportLimits {
  /** No frame is larger; a larger message is not sent, and a connection that brings one is closed. */
  readonly frameBytesMax: number;
  /** What may wait for one peer, the delayed messages of a faulty link included. Beyond it, messages are dropped. */
  readonly queueBytesMax: number;
  /** A connection that has not proved itself by then is closed. */
  readonly handshakeMs: number;
  /** Connections at a time that have not asked for anything; beyond it the oldest is ended. */
  readonly strangersMax: number;
  /** Unproved connections at a time; beyond it the oldest is ended. */
  readonly unprovedMax: number;
  /** Connections at a time of replicas that know the secret and are no members any more. */
  readonly guestsMax: number;
  /** How often a connection is probed, and how long an answer may take. */
  readonly probeMs: number;
  readonly silenceMsMax: number;
  /** Waits between attempts to connect: doubled from the first up to the second, with jitter. */
  readonly retryMsMin: number;
  readonly retryMsMax: number;
  /** Copies of the database that are given away at a time. */
  readonly copiesMax: number;
  /** A copy of which nothing moves for this long, by the fault of either side, is given up. */
  readonly copyStallMsMax: number;
}

export const defaultLimits: TransportLimits = {
  frameBytesMax: 48 * 1024 * 1024,
  queueBytesMax: 64 * 1024 * 1024,
  handshakeMs: 3000,
  strangersMax: 128,
  unprovedMax: 32,
  guestsMax: 8,
  probeMs: 1000,
  silenceMsMax: 5000,
  retryMsMin: 50,
  retryMsMax: 1000,
  copiesMax: 2,
  copyStallMsMax: 60_000,
};
