/** Waits, for a bounded time, until somebody serves: this replica or a leader that it knows. */
import type { Agreement } from '../../../ports/agreement.ts';
import type { SessionSql } from '../../../ports/session-sql.ts';
import type { GatewayError } from '../codec/backend-messages.ts';
import { databaseDown, noLeader } from '../errors.ts';

export type Placement =
  | { readonly kind: 'here'; readonly generation: number; readonly sessionSql: SessionSql }
  | { readonly kind: 'at'; readonly host: string; readonly port: number; readonly leader: string }
  | { readonly kind: 'nowhere'; readonly error: GatewayError };

const pollMs = 50;

export const awaitService = async (options: {
  readonly agreement: Agreement;
  readonly sessionSql: () => SessionSql | null;
  /** The client came through a follower: it goes no further. */
  readonly tunnelled: boolean;
  readonly waitMs: number;
  readonly isGone: () => boolean;
}): Promise<Placement> => {
  const deadline = performance.now() + options.waitMs;
  for (;;) {
    const service = options.agreement.service();
    const sessionSql = options.sessionSql();
    if (service.kind === 'here' && sessionSql !== null) {
      return { kind: 'here', generation: service.generation, sessionSql };
    }
    if (service.kind === 'at' && !options.tunnelled) return service;
    if (performance.now() >= deadline || options.isGone()) {
      return {
        kind: 'nowhere',
        error: reason(service.kind === 'nowhere' ? service.reason : null, service.kind),
      };
    }
    await changeOrPoll(options.agreement);
  }
};

const reason = (why: string | null, kind: 'here' | 'at' | 'nowhere'): GatewayError => {
  if (kind === 'here') return databaseDown;
  return noLeader(why ?? 'the replica that this one took for the leader is not');
};

const changeOrPoll = (agreement: Agreement): Promise<void> =>
  new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const stop = agreement.onServiceChange(finish);
    const timer = setTimeout(finish, pollMs);
  });
