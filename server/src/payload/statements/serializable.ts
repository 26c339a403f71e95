/**
 * Which transactions may be SERIALIZABLE: of these one at a time is open.
 *
 * PostgreSQL finds out whether such transactions are in each other's way by pages and by what its planner has read, which are not the same at two replicas: one would refuse what the other commits. Those that do not overlap are
 * never in each other's way. Pure. What is said here may be true of too many: they wait without need.
 */
import type { ClientSession } from './client-session.ts';
import type { SessionState } from './session-state.ts';

const word = /serializable/i;
const known = new WeakMap<SessionState, boolean>();

/** The transaction that the request of this text begins, or is part of. */
export function mayBeSerializable(session: ClientSession, text: string): boolean {
  return isSoAtFirst(session) || isSoSince(session.state) || word.test(text);
}

/** By its log-in, its role or its database. */
function isSoAtFirst({ login, given }: Pick<ClientSession, 'login' | 'given'>): boolean {
  return [...login.parameters, ...given].some(([, value]) => word.test(value));
}

/** By its settings, or a statement that it has prepared. */
function isSoSince(state: SessionState): boolean {
  const before = known.get(state);
  if (before !== undefined) return before;
  const { settings, prepares, parsed } = state;
  const is = [...settings.map(([, value]) => value), ...prepares, ...parsed.map(({ text }) => text)].some(
    (text) => word.test(text),
  );
  known.set(state, is);
  return is;
}
