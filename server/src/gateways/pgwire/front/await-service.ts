/** Waits, for a bounded time, until somebody serves: this replica or a leader that it knows. */
import type { ClientService, PostgresDoor, Service } from '../../../ports/client-service.ts';
import type { GatewayError } from '../../../pgwire/backend-messages.ts';
import { databaseDown, noLeader } from '../errors.ts';

export type Placement =
  | { readonly kind: 'here'; readonly generation: number; readonly door: PostgresDoor }
  | Extract<Service, { kind: 'at' }>
  | { readonly kind: 'nowhere'; readonly error: GatewayError };

/** PostgreSQL's door opens and closes without a call. */
const pollMs = 50;

export interface WaitOptions {
  readonly service: Pick<ClientService, 'service' | 'door' | 'onServiceChange'>;
  /** The client came through a follower: it goes no further. */
  readonly tunnelled: boolean;
  readonly waitMs: number;
  readonly isGone: () => boolean;
}

export async function awaitService({ service, tunnelled, waitMs, isGone }: WaitOptions): Promise<Placement> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const now = service.service();
    const door = service.door();
    if (now.kind === 'here' && door !== null) return { kind: 'here', generation: now.generation, door };
    if (now.kind === 'at' && !tunnelled) return now;
    if (performance.now() >= deadline || isGone()) return { kind: 'nowhere', error: reasonOf(now) };
    await changeOrPoll(service);
  }
}

function reasonOf(service: Service): GatewayError {
  if (service.kind === 'here') return databaseDown;
  const taken = 'the supposed leader does not lead';
  return noLeader(service.kind === 'nowhere' ? service.reason : taken);
}

export function changeOrPoll(
  service: Pick<ClientService, 'onServiceChange'>,
  waitMs = pollMs,
): Promise<void> {
  return new Promise((resolve) => {
    const stop = service.onServiceChange(finish);
    const timer = setTimeout(finish, waitMs);
    function finish(): void {
      clearTimeout(timer);
      stop();
      resolve();
    }
  });
}
