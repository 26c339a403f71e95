/**
 * The versions of the peers' protocol: which this build speaks, which one it speaks with a peer, and which messages belong to which.
 *
 * Responsible for: the numbers, and the words where two replicas have none in common. Opens no socket.
 * Invariants: both ends of a connection come to the same version, which is the greatest that both speak; what a peer of an older version does not know is not sent to it.
 *
 * Each side tells its range in the nonce with which it challenges the other (handshake.ts): nonces are covered by both sides' proofs, so nobody between them can
 * have them speak an older version than they could. A peer that tells no range is of a build from before there were any, and speaks the one version that it names.
 */
import type { Message } from '../../multipaxos/types/messages.ts';
import type { ControlMessage } from '../../ports/control.ts';

export interface VersionRange {
  readonly oldest: number;
  readonly newest: number;
}

/**
 * What this build speaks. `newest` goes up whenever a message is added or changed, or the bytes of one, or what a copy's channel carries; until all that has been released with `oldest` is out of
 * use, the older form is still spoken to those who know no other (docs/adr/0028).
 */
export const ownVersions: VersionRange = { oldest: 6, newest: 9 };

/** Those who have no range have versions of one or two digits; more than this is no number of a version. */
const versionMax = 999_999;

/** With which version each message came. Version 5, the last before the list was begun, stands for all before it, too. */
const cameWith: Readonly<Record<Message['kind'] | ControlMessage['kind'], number>> = {
  PreVote: 5,
  PreVoteReply: 5,
  Prepare: 5,
  Promise: 5,
  Reject: 5,
  Accept: 5,
  Accepted: 5,
  Heartbeat: 5,
  HeartbeatAck: 5,
  CatchUpRequest: 5,
  CatchUpReply: 5,
  Resigned: 6,
  JoinRequest: 5,
  JoinReply: 5,
  VerifyQuestion: 5,
  VerifyReport: 5,
  VerifyVerdict: 5,
  ReadIndexQuestion: 5,
  ReadIndexAnswer: 5,
  ShownQuestion: 5,
  ShownAnswer: 5,
  LeadQuestion: 6,
  LeadAnswer: 6,
  Carried: 7,
};

export function isKnownTo(version: number, kind: keyof typeof cameWith): boolean {
  return cameWith[kind] <= version;
}

/** The greatest that both speak, or null. */
export function commonVersion(one: VersionRange, other: VersionRange): number | null {
  const version = Math.min(one.newest, other.newest);
  return version >= Math.max(one.oldest, other.oldest) ? version : null;
}

/** What is wrong where there is no common one, short enough for the reason of a closed connection. */
export function versionsApart(own: VersionRange, others: VersionRange): string {
  const older = others.newest < own.oldest ? 'it' : 'this one';
  return `speaks ${inWords(others)} of the peers' protocol, this replica ${inWords(own)}: upgrade ${older} first`;
}

function inWords({ oldest, newest }: VersionRange): string {
  return oldest === newest ? `version ${oldest}` : `versions ${oldest} to ${newest}`;
}

/** Before a nonce's random part. */
export function rangeMark({ oldest, newest }: VersionRange): string {
  return `${oldest}-${newest}:`;
}

/** The range that a nonce tells; that of `version` alone where it tells none. Null: it tells one that is none. */
export function rangeIn(nonce: string, version: number): VersionRange | null {
  const told = /^(\d{1,6})-(\d{1,6}):/.exec(nonce);
  const range =
    told === null
      ? { oldest: version, newest: version }
      : { oldest: Number(told[1]), newest: Number(told[2]) };
  const isRange = Number.isSafeInteger(version) && range.oldest >= 1 && range.oldest <= range.newest;
  return isRange && range.newest <= versionMax ? range : null;
}
