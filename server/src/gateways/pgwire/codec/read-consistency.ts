/**
 * How a session wants its reads answered: `barista.read_consistency` and `barista.max_staleness`, in a startup packet or in a SET of its own.
 *
 * Pure. Where a text changes one of the two in any other way, that is said: what it would come to is known to PostgreSQL only.
 */
import type { Freshness } from '../../../ports/standby-reads.ts';
import type { StartupMessage } from './startup.ts';
import { startupSetting } from './startup-options.ts';

/** Each asks for more than the next. */
export const readModes = ['leader', 'linearizable', 'bounded', 'snapshot'] as const;
export type ReadMode = (typeof readModes)[number];

export interface ReadConsistency {
  readonly mode: ReadMode;
  readonly stalenessMaxMs: number;
}

const consistencyName = 'barista.read_consistency';
const stalenessName = 'barista.max_staleness';
type SettingName = typeof consistencyName | typeof stalenessName;

export const defaultConsistency: ReadConsistency = { mode: 'leader', stalenessMaxMs: 10_000 };

/** A value that the setting does not have. */
export interface WrongValue {
  readonly name: string;
  readonly value: string;
}

/** What a startup packet asks for. */
export function consistencyOf(startup: StartupMessage): ReadConsistency | WrongValue {
  let asked: ReadConsistency | WrongValue = defaultConsistency;
  for (const name of [consistencyName, stalenessName] as const) {
    const value = startupSetting(startup, name);
    if (value !== undefined && !('value' in asked)) asked = changed(asked, name, value);
  }
  return asked;
}

export function freshnessOf({ mode, stalenessMaxMs }: ReadConsistency): Freshness {
  if (mode === 'bounded') return { kind: 'bounded', stalenessMaxMs };
  return { kind: mode === 'snapshot' ? 'snapshot' : 'linearizable' };
}

/**
 * `change`: a SET or RESET of its own, for the rest of the session; `value` null: what the session began with. `all`: all settings become that; `perhapsAll`: among other things, or not at all. `other`: a setting is
 * changed in a way that is not followed. `end`: nothing but the end of a transaction, for which nothing is read. Null: nothing of the kind.
 */
export type ConsistencyMention =
  | { readonly kind: 'change'; readonly name: SettingName; readonly value: string | null }
  | { readonly kind: 'all' }
  | { readonly kind: 'perhapsAll' }
  | { readonly kind: 'end' }
  | { readonly kind: 'other' }
  | null;

const mentioned = /read_consistency|max_staleness/i;
const changing = /\b(?:set|set_config|reset)\b/i;
const perhapsAll = /\b(?:reset|discard)\s+all\b/i;
const ending = /^\s*(?:commit|end|rollback|abort)(?:\s+(?:work|transaction))?(?:\s*;)?\s*$/i;
const all = /^\s*(?:reset|discard)\s+all(?:\s*;)?\s*$/i;
const nameOf = String.raw`(?:barista\s*\.\s*"?|"barista"\s*\.\s*"?|"barista\.)(read_consistency|max_staleness)"?`;
/** What PostgreSQL takes without quotes: words, and numbers without a unit. */
const own = new RegExp(
  String.raw`^\s*(?:set\s+(?:session\s+)?${nameOf}(?:\s*=|\s+to\s)\s*(?:'([^']*)'|([a-z_]\w*|\d+(?:\.\d+)?))|reset\s+${nameOf})(?:\s*;)?\s*$`,
  'i',
);

/** `text`: that of one message. */
export function consistencyIn(text: string): ConsistencyMention {
  if (!mentioned.test(text)) {
    if (ending.test(text)) return { kind: 'end' };
    if (!perhapsAll.test(text)) return null;
    return { kind: all.test(text) ? 'all' : 'perhapsAll' };
  }
  if (!changing.test(text)) return null;
  const found = own.exec(text);
  if (found === null) return { kind: 'other' };
  const [, set, quoted, bare, reset] = found;
  const name: SettingName = `barista.${(set ?? reset ?? '').toLowerCase() as 'read_consistency' | 'max_staleness'}`;
  const isDefault = bare?.toLowerCase() === 'default';
  return { kind: 'change', name, value: isDefault ? null : (quoted ?? bare ?? null) };
}

/** What satisfies both. */
export function stricter(a: ReadConsistency, b: ReadConsistency): ReadConsistency {
  const mode = readModes.find((each) => each === a.mode || each === b.mode) ?? 'linearizable';
  return { mode, stalenessMaxMs: Math.min(a.stalenessMaxMs, b.stalenessMaxMs) };
}

export function changed(
  now: ReadConsistency,
  name: SettingName,
  value: string,
): ReadConsistency | WrongValue {
  if (name === consistencyName) {
    const mode = readModes.find((each) => each === value.toLowerCase());
    return mode === undefined ? { name, value } : { ...now, mode };
  }
  const stalenessMaxMs = millisecondsOf(value);
  return stalenessMaxMs === null ? { name, value } : { ...now, stalenessMaxMs };
}

/** `begun`: with what the session began. */
export function followed(
  now: ReadConsistency,
  begun: ReadConsistency,
  { name, value }: Extract<ConsistencyMention, { kind: 'change' }>,
): ReadConsistency | WrongValue {
  if (value !== null) return changed(now, name, value);
  if (name === consistencyName) return { ...now, mode: begun.mode };
  return { ...now, stalenessMaxMs: begun.stalenessMaxMs };
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** As PostgreSQL reads times: milliseconds without a unit. */
function millisecondsOf(value: string): number | null {
  const [, count = '', unit = 'ms'] = /^\s*(\d+(?:\.\d+)?)(?:\s*(ms|s|min|h|d))?\s*$/.exec(value) ?? [];
  const ms = Number(count) * unitMs[unit]!;
  return count !== '' && ms >= 1 && Number.isFinite(ms) ? ms : null;
}
