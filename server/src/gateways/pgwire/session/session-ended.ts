/** Unwinds whatever a session is doing once it has been ended; what the client is told has been told already. */
export class SessionEnded extends Error {
  override readonly name = 'SessionEnded';
}
