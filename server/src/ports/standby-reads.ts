/**
 * What a gateway needs of the replica for sessions that read at its own standby: the way to it, and whether it is current enough for a read, and when what a read has found may be told.
 *
 * Does nothing itself. Spec: FollowerReads.tla.
 */
import type { PostgresDoor } from './client-service.ts';

/** How current what is read must be. `linearizable`: it has everything that any client knew when the read was asked for; `bounded`: so long ago; `snapshot`: it is consistent. */
export type Freshness =
  | { readonly kind: 'linearizable' }
  | { readonly kind: 'bounded'; readonly stalenessMaxMs: number }
  | { readonly kind: 'snapshot' };

/** `life`: changes whenever another standby takes the place of this one, or it becomes something else. Sessions end with it. */
export interface StandbyDoor extends PostgresDoor {
  readonly life: number;
}

/**
 * `current`: what the standby shows from now on will do. `over`: that life has ended. `noAnswer`: no leader has answered in time; `behind`: one has, and the standby has not replayed that in time. `staleMs`: so long ago
 * everything that any client knew then was known to be in it; null: nothing is known.
 */
export type Currency =
  | { readonly code: 'current' | 'over' }
  | { readonly code: 'noAnswer' | 'behind'; readonly staleMs: number | null };

export interface StandbyReads {
  /** Null: this replica's PostgreSQL is no standby that anybody can read at. */
  standby(): StandbyDoor | null;
  /** Calls back when `standby()` changes, before the standby becomes anything else. Returns the way to stop. */
  onStandbyChange(listener: () => void): () => void;
  /** A read is asked for now: resolves when it may be run, or when `waitMs` are over. Never rejects. */
  beginRead(life: number, freshness: Freshness, waitMs: number): Promise<Currency>;
  /** As a linearizable `beginRead`, for the replica itself. Never rejects. */
  awaitCurrent(life: number, waitMs: number): Promise<Currency>;
  /** True if the leader's PostgreSQL certainly shows all that was read from this standby before the call. Cheap, as ClientService.mayAnswer is. */
  mayTell(life: number): boolean;
  /** Resolves true when it does; false if that life has ended, or `waitMs` are over. Never rejects. */
  awaitTold(life: number, waitMs: number): Promise<boolean>;
}
