/**
 * Finds a client whose leader has gone another one, and a session there.
 *
 * Responsible for: trying until it succeeds, its time is over, or too many log-ins broke. So many try at the same time (Turns), so that a new leader is not flooded.
 */
import type { Duplex } from 'node:stream';
import type { ClientService } from '../../../ports/client-service.ts';
import type { GatewayError } from '../../../pgwire/backend-messages.ts';
import * as errors from '../errors.ts';
import { changeOrPoll } from '../front/await-service.ts';
import type { PgwireLimits } from '../limits.ts';
import { logIn, type LoggedIn } from './log-in.ts';
import type { Setting } from './login-defaults.ts';
import type { RestoreStep } from './restore.ts';
import type { Turns } from './turns.ts';
import { isSamePlace, type OpenUpstream, type Place, placeNow } from './upstream.ts';

export interface FindOptions {
  readonly service: Pick<ClientService, 'service' | 'door' | 'onServiceChange'>;
  readonly open: OpenUpstream;
  readonly steps: readonly RestoreStep[];
  /** Settings to log in with. */
  readonly settings: readonly Setting[];
  /** It is the client's role, and its database. */
  readonly isSame: (session: LoggedIn) => boolean;
  /** Those to log in with once more, because the session has other defaults than its client's had; null: it is as it should be. */
  readonly correct: (session: LoggedIn) => readonly Setting[] | null;
  readonly turns: Turns;
  /** Of the client: what holds up one role's sessions holds up no other's. */
  readonly role: string;
  readonly limits: Pick<PgwireLimits, 'keepWaitMs' | 'moveLogInMs' | 'brokenLogInsMax' | 'frameBytesMax'>;
  /** Aborted: the client is gone, or has its last words. */
  readonly signal: AbortSignal;
}

/** It is tried again so much later, or when another serves. */
const againMs = 100;

export type Found =
  | { readonly kind: 'found'; readonly place: Place; readonly upstream: Duplex; readonly session: LoggedIn }
  | { readonly kind: 'failed'; readonly error: GatewayError };

/** Never rejects. */
export async function findUpstream(options: FindOptions): Promise<Found> {
  const { service, turns, role, limits, signal } = options;
  const deadline = performance.now() + limits.keepWaitMs;
  let broken = 0;
  while (!signal.aborted && broken < limits.brokenLogInsMax && performance.now() < deadline) {
    if (placeNow(service) !== null) {
      const endTurn = await turns.take(role);
      // It may have waited for long.
      const place = signal.aborted ? null : placeNow(service);
      const tried = place === null ? null : await tryAt(options, place);
      endTurn();
      if (tried === 'broke') broken += 1;
      else if (tried !== null) return tried;
    }
    await changeOrPoll(service, againMs);
  }
  return { kind: 'failed', error: errors.leaderWentAway };
}

/** Null: it may succeed later. `broke`: so it may, but the log-in itself may be the reason. */
async function tryAt(
  { service, open, steps, settings, isSame, correct, limits, signal }: FindOptions,
  place: Place,
): Promise<Found | 'broke' | null> {
  // Another leads meanwhile: this one need not be waited for.
  const inVain = new AbortController();
  const giveUp = (): void => inVain.abort();
  const stop = service.onServiceChange((now) => {
    if (!isSamePlace(place, now)) giveUp();
  });
  signal.addEventListener('abort', giveUp);
  const { moveLogInMs: timeoutMs, frameBytesMax } = limits;
  const enter = async (more: readonly Setting[]): Promise<Found | 'broke' | null> => {
    const upstream = await open(place, inVain.signal, more);
    if (upstream.code === 'failed') return null;
    const result = await logIn(upstream.stream, { steps, timeoutMs, frameBytesMax, signal: inVain.signal });
    if (result.kind === 'again') return result.broke ? 'broke' : null;
    if (result.kind !== 'in') return { kind: 'failed', error: result.error };
    if (!isSame(result)) {
      upstream.stream.destroy();
      return { kind: 'failed', error: errors.leaderWentAway };
    }
    return { kind: 'found', place, upstream: upstream.stream, session: result };
  };
  let entered = await enter(settings);
  if (entered !== null && entered !== 'broke' && entered.kind === 'found') {
    const corrected = correct(entered.session);
    if (corrected !== null) {
      entered.upstream.destroy();
      entered = await enter(corrected);
    }
  }
  stop();
  signal.removeEventListener('abort', giveUp);
  return entered;
}
