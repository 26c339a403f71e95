/**
 * Statements by which the gateway of a follower asks a client's session at the leader what it has: each in a batch of its own, outside of what the client does. They only read, and are no transactions of the client's: they take no name.
 */
export const ownQuestions = {
  state: 'barista_session_state',
  effects: 'barista_effects',
  functions: 'barista_functions',
  login: 'barista_login',
  reads: 'barista_reads',
} as const;

const names: ReadonlySet<string> = new Set(Object.values(ownQuestions));

export function isOwnQuestion(statement: string): boolean {
  return names.has(statement);
}
