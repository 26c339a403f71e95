/**
 * How two replicas prove to each other that they know the cluster's secret, before any message passes.
 *
 *   listener -> dialer   Challenge { version, nonce }
 *   dialer -> listener   Answer    { version, group, cluster, id, to, purpose, nonce, mac("dial", ...) }
 *   listener -> dialer   Welcome   { cluster, mac("listen", ...) }
 *
 * The version of a Challenge is the oldest that the listener speaks, that of an Answer the one that both will speak; each nonce begins with the range of its sender (versions.ts).
 *
 * Responsible for: the three texts and their checks. Opens no socket. Invariants: the secret never leaves; each side's nonce is in
 * both codes, so neither can be replayed, nor the range in it changed; the roles differ, so neither can be reflected; codes are compared in constant time; two
 * replicas that both know which cluster they belong to are connected only if it is the same.
 * Does not encrypt: that is for the connection below (`peerTls`), if it does.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { GroupId, ReplicaId } from '../../multipaxos/types/names.ts';
import { commonVersion, rangeIn, rangeMark, type VersionRange, versionsApart } from './versions.ts';

/** No text of the handshake is longer. */
export const handshakeBytesMax = 2048;

export interface Identity {
  readonly group: GroupId;
  /** The replica, whatever its incarnation. */
  readonly id: ReplicaId;
  readonly secret: string;
  /** Which founding of the group this replica belongs to; null until it knows. */
  readonly cluster: string | null;
  /** Of the peers' protocol, that it speaks. */
  readonly versions: VersionRange;
}

/** What a connection is for. */
export type Purpose = 'messages' | 'copy';

export interface Challenge {
  readonly version: number;
  readonly nonce: string;
}
/** `cluster`: empty while it is not known. */
export interface Answer {
  readonly version: number;
  readonly group: string;
  readonly cluster: string;
  readonly id: string;
  readonly to: string;
  readonly purpose: string;
  readonly nonce: string;
  readonly mac: string;
}
export interface Welcome {
  readonly cluster: string;
  readonly mac: string;
}

export interface Admitted {
  readonly peer: ReplicaId;
  readonly cluster: string | null;
  readonly purpose: Purpose;
  /** Of the peers' protocol, that both speak on this connection. */
  readonly version: number;
  /** No member any more, or not yet, but of this cluster: let in to learn that it was removed. */
  readonly guest: boolean;
}
export type Verdict =
  | ({ readonly code: 'ok' } & Admitted)
  | { readonly code: 'refused'; readonly reason: string };

function newNonce({ versions }: Pick<Identity, 'versions'>): string {
  return `${rangeMark(versions)}${randomBytes(32).toString('hex')}`;
}

export function newChallenge(self: Identity): Challenge {
  return { version: self.versions.oldest, nonce: newNonce(self) };
}

type Said = Omit<Answer, 'mac'> & { readonly challenge: string };

/** `listener`: the cluster of the listener, in its own code only. */
function codeOf(role: 'dial' | 'listen', secret: string, said: Said, listener = ''): string {
  const { version, group, cluster, id, to, purpose, challenge, nonce } = said;
  const text = JSON.stringify([role, version, group, cluster, id, to, purpose, challenge, nonce, listener]);
  return createHmac('sha256', secret).update(text).digest('hex');
}

function sameCode(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

export interface Question {
  readonly to: ReplicaId;
  readonly purpose: Purpose;
}

/** The version that the two will speak, or why there is none. */
export function agreeOnVersion(
  self: Identity,
  { version, nonce }: Pick<Challenge | Answer, 'version' | 'nonce'>,
): { readonly version: number } | { readonly reason: string } {
  const others = rangeIn(nonce, version);
  if (others === null) return { reason: "names no version of the peers' protocol" };
  const common = commonVersion(self.versions, others);
  return common === null ? { reason: versionsApart(self.versions, others) } : { version: common };
}

/** `version`: what was agreed on. */
export function answerChallenge(
  self: Identity,
  { to, purpose }: Question,
  challenge: Challenge,
  version: number,
): Answer {
  const { group, id, cluster } = self;
  const said = { version, group, cluster: cluster ?? '', id, to, purpose, nonce: newNonce(self) };
  return { ...said, mac: codeOf('dial', self.secret, { ...said, challenge: challenge.nonce }) };
}

/** The listener's check of an Answer. Says what is wrong with group or name only to one who knows the secret. */
export function checkAnswer(
  self: Identity,
  members: ReadonlySet<string>,
  nonce: string,
  answer: Answer,
): Verdict {
  const agreed = agreeOnVersion(self, answer);
  if ('reason' in agreed) return refused(agreed.reason);
  if (!sameCode(codeOf('dial', self.secret, { ...answer, challenge: nonce }), answer.mac)) {
    return refused('does not know the cluster secret');
  }
  if (answer.version !== agreed.version) {
    return refused(
      `chose version ${answer.version} of the peers' protocol, though both speak ${agreed.version}`,
    );
  }
  if (answer.group !== self.group) return refused(`is of group "${answer.group}", not "${self.group}"`);
  const cluster = answer.cluster === '' ? null : answer.cluster;
  const differs = clusterProblem(self.cluster, cluster);
  if (differs !== null) return refused(differs);
  if (answer.to !== self.id) return refused(`looks for "${answer.to}", and this is "${self.id}"`);
  const { id, purpose } = answer;
  if (purpose !== 'messages' && purpose !== 'copy') return refused(`asks for "${purpose}"`);
  const guest = !members.has(id);
  const formerMember = purpose === 'messages' && cluster !== null && cluster === self.cluster;
  if (id === self.id || (guest && !formerMember)) return refused(`"${id}" is not a peer of this group`);
  return { code: 'ok', peer: id as ReplicaId, cluster, purpose, version: agreed.version, guest };
}

/** Why two replicas of these clusters must not speak to each other, or null. */
export function clusterProblem(own: string | null, other: string | null): string | null {
  if (own === null || other === null || own === other) return null;
  return `belongs to another group of the same name (cluster ${short(other)}, not ${short(own)})`;
}

const short = (cluster: string): string => cluster.slice(0, 12);

function refused(reason: string): Verdict {
  return { code: 'refused', reason };
}

export function welcome(self: Identity, nonce: string, answer: Answer): Welcome {
  const cluster = self.cluster ?? '';
  return { cluster, mac: codeOf('listen', self.secret, { ...answer, challenge: nonce }, cluster) };
}

/** The dialler's check that the listener knows the secret too. Null: it does not. */
export function checkWelcome(
  self: Identity,
  challenge: Challenge,
  answer: Answer,
  said: Welcome,
): { readonly cluster: string | null } | null {
  const expected = codeOf('listen', self.secret, { ...answer, challenge: challenge.nonce }, said.cluster);
  return sameCode(expected, said.mac) ? { cluster: said.cluster === '' ? null : said.cluster } : null;
}

/** Reads a text of the handshake: an object with these keys, of these types. Null if it is anything else. */
function readTexts<Key extends string>(
  text: string,
  keys: readonly Key[],
): (Record<Key, string> & { version: number }) | null {
  if (text.length > handshakeBytesMax) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const fields = value as Record<string, unknown>;
  if (!keys.every((key) => typeof fields[key] === 'string')) return null;
  const version = typeof fields.version === 'number' ? fields.version : 0;
  const read = Object.fromEntries(keys.map((key) => [key, fields[key]])) as Record<Key, string>;
  return { ...read, version };
}

export const readChallenge = (text: string): Challenge | null => readTexts(text, ['nonce']);
export const readAnswer = (text: string): Answer | null =>
  readTexts(text, ['group', 'cluster', 'id', 'to', 'purpose', 'nonce', 'mac']);
export const readWelcome = (text: string): Welcome | null => readTexts(text, ['cluster', 'mac']);
