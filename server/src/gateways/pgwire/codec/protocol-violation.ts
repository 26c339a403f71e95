/** A peer broke the wire protocol: its connection, and no other, is closed with SQLSTATE 08P01. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
  readonly sqlState = '08P01';
}
