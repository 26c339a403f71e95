/**
 * How two replicas prove to each other that they know the cluster's secret, before any message passes.
 *
 *   listener -> dialer   Challenge { version, nonce }
 *   dialer -> listener   Answer    { group, id, to, nonce, mac("dial", ...) }
 *   listener -> dialer   Welcome   { mac("listen", ...) }
 *
 * Responsible for: the three texts and their checks. Opens no socket. Invariants: the secret never leaves; each side's nonce is in
 * both codes, so neither can be replayed; the roles differ, so neither can be reflected; codes are compared in constant time.
 * Does not encrypt: on a network that others can listen to, put the peers' port inside a tunnel.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { GroupId, ReplicaId } from '../../multipaxos/types.ts';

/** Changes whenever the messages or this handshake do, so that replicas of different builds never misread each other. */
export const protocolVersion = 1;
/** No text of the handshake is longer. */
export const handshakeBytesMax = 2048;

export interface Identity {
  readonly group: GroupId;
  readonly id: ReplicaId;
  readonly secret: string;
}

export interface Challenge {
  readonly version: number;
  readonly nonce: string;
}
export interface Answer {
  readonly version: number;
  readonly group: string;
  readonly id: string;
  readonly to: string;
  readonly nonce: string;
  readonly mac: string;
}
export interface Welcome {
  readonly mac: string;
}

export type Verdict =
  | { readonly code: 'ok'; readonly peer: ReplicaId }
  | { readonly code: 'refused'; readonly reason: string };

export function newNonce(): string {
  return randomBytes(32).toString('hex');
}

type Codes = Omit<Answer, 'mac'> & { readonly challenge: string };

function codeOf(role: 'dial' | 'listen', secret: string, said: Codes): string {
  const text = JSON.stringify([role, said.version, said.group, said.id, said.to, said.challenge, said.nonce]);
  return createHmac('sha256', secret).update(text).digest('hex');
}

function sameCode(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

export function answerChallenge(self: Identity, to: ReplicaId, challenge: Challenge, nonce: string): Answer {
  const said = { version: protocolVersion, group: self.group, id: self.id, to, nonce };
  return { ...said, mac: codeOf('dial', self.secret, { ...said, challenge: challenge.nonce }) };
}

/** The listener's check of an Answer. Says what is wrong with group or name only to one who knows the secret. */
export function checkAnswer(
  self: Identity,
  members: ReadonlySet<string>,
  nonce: string,
  answer: Answer,
): Verdict {
  if (answer.version !== protocolVersion) {
    return refused(`speaks version ${answer.version} of the peers' protocol, not ${protocolVersion}`);
  }
  if (!sameCode(codeOf('dial', self.secret, { ...answer, challenge: nonce }), answer.mac)) {
    return refused('does not know the cluster secret');
  }
  if (answer.group !== self.group) return refused(`is of group "${answer.group}", not "${self.group}"`);
  if (answer.to !== self.id) return refused(`looks for "${answer.to}", and this is "${self.id}"`);
  if (!members.has(answer.id) || answer.id === self.id)
    return refused(`"${answer.id}" is not a peer of this group`);
  return { code: 'ok', peer: answer.id as ReplicaId };
}

function refused(reason: string): Verdict {
  return { code: 'refused', reason };
}

export function welcome(self: Identity, nonce: string, answer: Answer): Welcome {
  return { mac: codeOf('listen', self.secret, { ...answer, challenge: nonce }) };
}

/** The dialler's check that the listener knows the secret too. */
export function checkWelcome(self: Identity, challenge: Challenge, answer: Answer, said: Welcome): boolean {
  return sameCode(codeOf('listen', self.secret, { ...answer, challenge: challenge.nonce }), said.mac);
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
  readTexts(text, ['group', 'id', 'to', 'nonce', 'mac']);
export const readWelcome = (text: string): Welcome | null => readTexts(text, ['mac']);
