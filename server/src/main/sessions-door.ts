/** The door for SQL clients whose statements travel, open before there is a replica behind it: while this one waits to be let into its group, clients are told so. */
import { reservedUsers } from '../adapters/postgres/reserved-users.ts';
import type {
  SessionId,
  SharedSession,
  SharedSessions,
  StatementSessions,
} from '../ports/statement-sessions.ts';

export interface SessionsDoor extends StatementSessions {
  /** Of clients that come to whichever replica they like. */
  readonly shared: SharedSessions;
  lead(to: StatementSessions, shared: SharedSessions): void;
}

export function createSessionsDoor(whyNot: () => string): SessionsDoor {
  let behind: StatementSessions | null = null;
  let sharedBehind: SharedSessions | null = null;
  const refused = (): Promise<{ readonly code: 'refused'; readonly reason: string }> =>
    Promise.resolve({ code: 'refused', reason: whyNot() });
  return {
    reservedUsers,
    lead(to, shared) {
      behind = to;
      sharedBehind = shared;
    },
    shared: {
      open: async (opening) => sharedBehind?.open(opening) ?? refused(),
      at: (id) => lateSession(id, () => sharedBehind?.at(id) ?? null, refused),
    },
    get hasLevels() {
      return behind?.hasLevels ?? false;
    },
    whyNot: () => (behind === null ? whyNot() : behind.whyNot()),
    findLogin: (role) => behind?.findLogin(role) ?? Promise.reject(new Error(whyNot())),
    open: async (...asked) =>
      behind?.open(...asked) ?? { ...(await refused()), session: '' as never, processId: 0 },
    request: (...asked) => behind?.request(...asked) ?? refused(),
    cancel: (session) => behind?.cancel(session),
    close: (session) => behind?.close(session),
  };
}

/** Of a handle that was shown before there was a replica. */
function lateSession(
  id: SessionId,
  find: () => SharedSession | null,
  refused: () => Promise<{ readonly code: 'refused'; readonly reason: string }>,
): SharedSession {
  let found: SharedSession | null = null;
  const session = (): SharedSession | null => (found ??= find());
  return {
    id,
    call: async (call) => session()?.call(call) ?? refused(),
    close: async () => session()?.close() ?? refused(),
    closeIfUnused: () => session()?.closeIfUnused(),
  };
}
