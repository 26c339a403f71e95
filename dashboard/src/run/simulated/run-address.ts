/**
 * Which simulated run a page's address names: `#sim?seed=7&replicas=5&clients=4&acts=...&at=20000`.
 *
 * Pure. Invariant: whatever is in an address, what is read from it is within the bounds; null only if it names no simulated run.
 */
import { type Act, addressCharsMax, type Deed, readActs, writeActs } from './acts.ts';

export interface RunSetup {
  readonly seed: number;
  readonly replicas: number;
  readonly clients: number;
  readonly acts: readonly Act[];
}

export interface AddressedRun extends RunSetup {
  /** Null: it begins when the clients do; else it stands there, on the world's clock. */
  readonly atMs: number | null;
  /** Something in the address makes no sense, and was left out. */
  readonly problem: string | null;
}

export const setupBounds = {
  seed: { least: 0, most: 2 ** 32 - 1 },
  replicas: { least: 1, most: 7 },
  clients: { least: 0, most: 32 },
  atMs: { least: 0, most: 3_600_000 },
} as const;

export const firstRun: RunSetup = { seed: 1, replicas: 3, clients: 4, acts: [] };

export function readAddress(hash: string): AddressedRun | null {
  const [name = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  if (name !== 'sim') return null;
  const given = new URLSearchParams(query);
  const problems: string[] = [];
  const read = <Missing>(key: 'seed' | 'replicas' | 'clients' | 'at', missing: Missing): number | Missing => {
    const text = given.get(key);
    if (text === null) return missing;
    const { least, most } = setupBounds[key === 'at' ? 'atMs' : key];
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    problems.push(`${key} must be a whole number from ${least} to ${most}, not “${text.slice(0, 40)}”`);
    return missing;
  };
  const replicas = read('replicas', firstRun.replicas);
  const acts = actsOf(given.get('acts') ?? '', replicas, problems);
  return {
    seed: read('seed', firstRun.seed),
    replicas,
    clients: read('clients', firstRun.clients),
    atMs: read('at', null),
    acts,
    problem: problems.length === 0 ? null : `The address is not valid: ${problems.join('; ')}.`,
  };
}

/** None, if they are not all acts upon replicas of the group: without one of them it would be another run. */
function actsOf(text: string, replicas: number, problems: string[]): readonly Act[] {
  const acts = readActs(text);
  if (acts === null) {
    problems.push('acts is no list of what was done, as 7ps-w2b_9k0-h is');
    return [];
  }
  const stranger = acts.flatMap(([, deed]) => replicasOf(deed)).find((id) => !isOf(id, replicas));
  if (stranger === undefined) return acts;
  problems.push(`acts names ${stranger}, and the group has r1 to r${replicas}`);
  return [];
}

function replicasOf(deed: Deed): readonly string[] {
  if ('replica' in deed) return [deed.replica];
  return 'from' in deed ? [deed.from, deed.to] : [];
}

function isOf(id: string, replicas: number): boolean {
  const number = Number(id.slice(1));
  return number >= 1 && number <= replicas;
}

export function writeAddress(
  { seed, replicas, clients, acts }: RunSetup,
  atMs: number | null = null,
): string {
  const parts = [`seed=${seed}`, `replicas=${replicas}`, `clients=${clients}`];
  if (atMs !== null) parts.push(`at=${Math.floor(atMs)}`);
  const text = writeActs(acts, addressCharsMax - 200);
  if (text !== '') parts.push(`acts=${text}`);
  return `#sim?${parts.join('&')}`;
}
