/** Whether all commits wait to be chosen, as far as the catalogs of the replica's PostgreSQL tell. */
export type CommitsLook =
  | { readonly code: 'clean' }
  /** For people: what has commits not wait without a session's naming it. It may have worked already: another look helps nothing. */
  | { readonly code: 'weakened'; readonly found: readonly string[] }
  /** It cannot be known now, for a reason that may pass. */
  | { readonly code: 'unclear'; readonly reason: string };

/**
 * Looks now, and remembers the looks before it. `isServed`: clients have sessions already, which may have got what somebody has taken back since; the first look is made before. @throws Error of PostgreSQL, which may pass, too
 */
export type LookAtCommits = (isServed: boolean) => Promise<CommitsLook>;
