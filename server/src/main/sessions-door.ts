/** The door for SQL clients whose statements travel, open before there is a replica behind it: while this one waits to be let into its group, clients are told so. */
import { reservedUsers } from '../adapters/postgres/founding.ts';
import type { StatementSessions } from '../ports/statement-sessions.ts';

export interface SessionsDoor extends StatementSessions {
  lead(to: StatementSessions): void;
}

export function createSessionsDoor(whyNot: () => string): SessionsDoor {
  let behind: StatementSessions | null = null;
  const refused = (): Promise<{ readonly code: 'refused'; readonly reason: string }> =>
    Promise.resolve({ code: 'refused', reason: whyNot() });
  return {
    reservedUsers,
    lead(to) {
      behind = to;
    },
    get hasLevels() {
      return behind?.hasLevels ?? false;
    },
    whyNot: () => (behind === null ? whyNot() : behind.whyNot()),
    findLogin: (role) => behind?.findLogin(role) ?? Promise.reject(new Error(whyNot())),
    open: async (...asked) => behind?.open(...asked) ?? { ...(await refused()), session: '' as never },
    request: (...asked) => behind?.request(...asked) ?? refused(),
    cancel: (session) => behind?.cancel(session),
    close: (session) => behind?.close(session),
  };
}
