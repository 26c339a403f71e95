/**
 * Counts why clients were not let in, and why sessions were ended, by SQLSTATE.
 *
 * Bounded: what PostgreSQL says may be of a client's making (a trigger on log-ins raises what it likes), so that only so many SQLSTATEs are told apart, and what is none counts as `other`.
 */
import { readErrorFields } from '../../../pgwire/backend-messages.ts';

const statesMax = 64;
const other = 'other';

export class ToldErrors {
  readonly logins = new Map<string, number>();
  readonly sessions = new Map<string, number>();

  /** `isClient`: it was logged in. */
  note(isClient: boolean, sqlState: string | undefined): void {
    const counts = isClient ? this.sessions : this.logins;
    const isState = sqlState !== undefined && /^[0-9A-Z]{5}$/.test(sqlState);
    const isRoom = isState && (counts.has(sqlState) || counts.size < statesMax);
    const key = isRoom ? sqlState : other;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }

  /** The last words to a client: an error is the last of them, if there are any. */
  noteWords(isClient: boolean, words: readonly Buffer[]): void {
    const last = words.at(-1);
    if (last !== undefined) this.note(isClient, readErrorFields(last).get('C'));
  }
}
