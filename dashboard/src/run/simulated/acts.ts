/**
 * What is done to a simulated world, and when: with the seed, that is the whole run. How a list of acts is written in an address, and read again.
 *
 * Pure. Invariants: what was written is read as it was; what is no act, or more than there may be, is no list of acts.
 */
import type { FaultRequest } from '../../../../server/src/api/status.ts';
import type { ReplicaId } from '../../../../server/src/multipaxos/types/names.ts';
import { unreachable } from '../../model/unreachable.ts';

export type Deed =
  | FaultRequest
  /** The data of all replicas are compared. */
  | { readonly action: 'verify'; readonly repair: boolean }
  /** What the model of PostgreSQL understands, through this replica. */
  | { readonly action: 'sql'; readonly replica: ReplicaId; readonly sql: string };

/** `atMs`: whole milliseconds of the world's clock, not before the act ahead of it. */
export type Act = readonly [atMs: number, deed: Deed];

export const actsMax = 500;
/** Of an act's SQL, in an address. */
const sqlCharsMax = 2_000;
/** Servers and programs that pass addresses on have bounds of their own. */
export const addressCharsMax = 8_000;

type OfReplica = Exclude<Extract<FaultRequest, { readonly replica: ReplicaId }>['action'], 'wipe'>;
type OfLink = Extract<FaultRequest, { readonly from: ReplicaId }>['action'];

/** As the server of a live group bounds them: milliseconds, and probabilities. */
export const amountsMax = { delay: 60_000, drop: 1, duplicate: 1 } as const;

const ofReplica: Readonly<Record<OfReplica, string>> = {
  crash: 'c',
  pause: 'p',
  resume: 'u',
  restart: 'r',
  killPostgres: 'k',
  isolate: 'i',
};
const ofLink: Readonly<Record<OfLink, string>> = { cut: 'x', delay: 'd', drop: 'l', duplicate: 't' };
const wiped = { log: 'l', database: 'd', both: 'b' } as const;

function keyOf<Key extends string>(codes: Readonly<Record<Key, string>>, code: string): Key | undefined {
  return (Object.keys(codes) as Key[]).find((key) => codes[key] === code);
}

const number = (id: ReplicaId): string => id.slice(1);
const replica = (digit: string): ReplicaId => `r${digit}` as ReplicaId;

function writeDeed(deed: Deed): string {
  switch (deed.action) {
    case 'heal':
      return 'h';
    case 'verify':
      return deed.repair ? 'vr' : 'v';
    case 'sql':
      return `q${number(deed.replica)}.${written(deed.sql)}`;
    case 'wipe':
      return `w${number(deed.replica)}${wiped[deed.what]}`;
    case 'cut':
      return `x${number(deed.from)}${number(deed.to)}${deed.amount === 0 ? '.0' : ''}`;
    case 'delay':
    case 'drop':
    case 'duplicate':
      return `${ofLink[deed.action]}${number(deed.from)}${number(deed.to)}.${deed.amount}`;
    case 'crash':
    case 'pause':
    case 'resume':
    case 'restart':
    case 'killPostgres':
    case 'isolate':
      return `${ofReplica[deed.action]}${number(deed.replica)}`;
    default:
      return unreachable(deed);
  }
}

/** Without what parts an address, or a list of acts. */
function written(sql: string): string {
  return encodeURIComponent(sql).replaceAll('~', '%7E').replaceAll('_', '%5F').replaceAll('%', '~');
}

function readDeed(text: string): Deed | null {
  if (text === 'h') return { action: 'heal' };
  if (text === 'v' || text === 'vr') return { action: 'verify', repair: text === 'vr' };
  const said = /^q(\d)\.(.+)$/s.exec(text);
  if (said !== null) {
    const sql = decoded(said[2]!.replaceAll('~', '%'));
    return sql === null || sql.length > sqlCharsMax
      ? null
      : { action: 'sql', replica: replica(said[1]!), sql };
  }
  const lost = /^w(\d)([ldb])$/.exec(text);
  const what = lost === null ? undefined : keyOf(wiped, lost[2]!);
  if (lost !== null && what !== undefined) return { action: 'wipe', replica: replica(lost[1]!), what };
  const linked = /^([xdlt])(\d)(\d)(?:\.(\d+(?:\.\d+)?(?:e-\d+)?))?$/.exec(text);
  if (linked !== null && linked[2] !== linked[3])
    return linkDeed(linked[1]!, replica(linked[2]!), replica(linked[3]!), linked[4]);
  const broken = /^([cpurki])(\d)$/.exec(text);
  const action = broken === null ? undefined : keyOf(ofReplica, broken[1]!);
  return broken === null || action === undefined ? null : { action, replica: replica(broken[2]!) };
}

function linkDeed(code: string, from: ReplicaId, to: ReplicaId, amount: string | undefined): Deed | null {
  const action = keyOf(ofLink, code);
  if (action === 'cut') {
    if (amount === undefined) return { action, from, to };
    return Number(amount) === 0 ? { action, from, to, amount: 0 } : null;
  }
  if (action === undefined || amount === undefined || Number(amount) > amountsMax[action]) return null;
  return { action, from, to, amount: Number(amount) };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The first of them, as many as fit: what is left out came last, so the run is the same up to there. */
export function writeActs(acts: readonly Act[], charsMax = addressCharsMax): string {
  let text = '';
  for (const [atMs, deed] of acts.slice(0, actsMax)) {
    const next = `${text === '' ? '' : '_'}${atMs.toString(36)}-${writeDeed(deed)}`;
    if (text.length + next.length > charsMax) break;
    text += next;
  }
  return text;
}

/** Null: it is no list of acts. */
export function readActs(text: string): readonly Act[] | null {
  if (text === '') return [];
  const parts = text.length > addressCharsMax ? [] : text.split('_');
  if (parts.length === 0 || parts.length > actsMax) return null;
  const acts: Act[] = [];
  for (const part of parts) {
    const [, at, code] = /^([0-9a-z]{1,8})-(.+)$/s.exec(part) ?? [];
    const deed = code === undefined ? null : readDeed(code);
    const atMs = Number.parseInt(at ?? '', 36);
    if (deed === null || atMs < (acts.at(-1)?.[0] ?? 0)) return null;
    acts.push([atMs, deed]);
  }
  return acts;
}
