/** What keeps PostgreSQL from being found or started, told to the person who has to do something about it. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError';
}
