/**
 * Where a kept client's requests go: the gateway of the leader, or, where this replica leads, a session of its own.
 *
 * Responsible for: opening the way to whoever serves. Who the client is was found out when it came; here it is said again.
 */
import { type Duplex, duplexPair } from 'node:stream';
import type { ClientService, Service } from '../../../ports/client-service.ts';
import type { Placement } from '../front/await-service.ts';
import { type Arrival, type Front, openSession } from '../front/sessions.ts';
import { roleOf } from '../codec/startup.ts';
import { openUpstream } from '../login/upstream-login.ts';
import type { Setting } from './login-defaults.ts';

export type Place = Extract<Service, { kind: 'at' }> | Extract<Placement, { kind: 'here' }>;

/** `open`: it is paused, and has been told who logs in. `failed`: nobody is there. */
export type Upstream =
  | { readonly code: 'open'; readonly stream: Duplex }
  | { readonly code: 'failed'; readonly reason: string };

/** Opens a connection on which a certain client logs in, with these settings besides those of its startup packet. Never rejects. `signal` aborted: nobody wants it any more. */
export type OpenUpstream = (
  place: Place,
  signal: AbortSignal,
  settings?: readonly Setting[],
) => Promise<Upstream>;

/** Whoever serves now; null: nobody. */
export function placeNow(service: Pick<ClientService, 'service' | 'door'>): Place | null {
  const now = service.service();
  if (now.kind === 'at') return now;
  const door = service.door();
  return now.kind === 'here' && door !== null ? { kind: 'here', generation: now.generation, door } : null;
}

export function isSamePlace(one: Place, other: Service): boolean {
  if (one.kind === 'at') return other.kind === 'at' && other.leader === one.leader;
  return other.kind === 'here' && other.generation === one.generation;
}

/** Whoever is to be let in again has proved who it is when it came. */
export function upstreamOpener(front: Front, arrival: Arrival): OpenUpstream {
  return (place, signal, settings = []) => {
    const startup = { ...arrival.startup, parameters: [...arrival.startup.parameters, ...settings] };
    return place.kind === 'at'
      ? openThere(front, { ...arrival, startup }, place, signal)
      : Promise.resolve(openHere(front, { ...arrival, startup }, place));
  };
}

async function openThere(
  { keys, tls }: Front,
  { startup, link, isProven }: Arrival,
  place: Extract<Place, { kind: 'at' }>,
  signal: AbortSignal,
): Promise<Upstream> {
  const options = { tunnelKey: keys.tunnel, encrypts: tls !== null, signal };
  const upstream = await openUpstream(place, { startup, link, isProven }, options);
  return upstream.code === 'open' ? { code: 'open', stream: upstream.socket } : upstream;
}

function openHere(
  front: Front,
  { startup, link, isProven, connection: counted }: Arrival,
  place: Extract<Place, { kind: 'here' }>,
): Upstream {
  // PostgreSQL itself asks nobody who comes by its socket.
  if (!isProven) return { code: 'failed', reason: 'the client is not authenticated' };
  const [near, far] = duplexPair();
  near.on('close', () => far.destroy());
  far.on('close', () => near.destroy());
  far.on('error', () => {});
  // The client was counted when it came.
  const connection = {
    becomeClient: () => null,
    isClient: true,
    reachPostgres: () => counted.reachPostgres(),
  };
  const applicant = { role: roleOf(startup), address: link.address };
  openSession(front, { client: far, startup, connection, applicant, onLeft: null, takesDoubts: true }, place);
  return { code: 'open', stream: near };
}
