/** A peer broke the wire protocol: its connection, and no other, is closed with SQLSTATE 08P01. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
  readonly sqlState = '08P01';
}

/** A first packet that cannot be one. Its sender is told nothing, as by PostgreSQL: it may speak another protocol, or say that it ends what it has not begun. */
export class UnreadableStart extends ProtocolViolation {}
