/**
 * What two gateways of one cluster say to each other before a client of a follower is served by the leader: each proves that it knows the cluster's secret, and the follower's word says who the client is.
 *
 * Responsible for: the texts and their checks. Opens no socket. Three messages: the follower's number, in its startup packet; the leader's number and proof; the follower's proof and word.
 * Invariants: a proof holds for one connection, since it is made with a number that the other end has drawn for it, so that nothing can be said again later, whatever the clocks show; it holds for one startup packet, one certificate and one
 * word; a proof of one end is none of the other; proofs are compared in a time that does not depend on them.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ClientLink } from './client-link.ts';

/** What the follower says of its client. */
export interface TunnelWord {
  readonly link: ClientLink;
  /** The follower has made sure who the client is. False: the leader has to. */
  readonly isProven: boolean;
}

const nonceBytes = 16;
const proofBytes = 32;

export function drawNonce(): Buffer {
  return randomBytes(nonceBytes);
}

/** What both ends know of the connection when they prove something. */
export interface TunnelContext {
  readonly key: Buffer;
  /** As PostgreSQL is to get it. */
  readonly startup: Buffer;
  readonly followerNonce: Buffer;
  /** Of the leader's certificate, where the connection is encrypted (else empty): with somebody in between the two ends see different ones. */
  readonly fingerprint: Buffer;
}

export interface Challenge {
  readonly leaderNonce: Buffer;
  /** The leader's gateway encrypts whoever asks for it. */
  readonly offersTls: boolean;
}

/** What the leader says. */
export function challengeOf(context: TunnelContext, { leaderNonce, offersTls }: Challenge): Buffer {
  const flags = Buffer.from([offersTls ? 1 : 0]);
  return Buffer.concat([leaderNonce, flags, proof('leader', context, leaderNonce, flags)]);
}

/** Null: the other end does not know the secret, or answers another connection. */
export function readChallenge(context: TunnelContext, challenge: Buffer): Challenge | null {
  if (challenge.length !== nonceBytes + 1 + proofBytes) return null;
  const leaderNonce = challenge.subarray(0, nonceBytes);
  const flags = challenge.subarray(nonceBytes, nonceBytes + 1);
  const expected = proof('leader', context, leaderNonce, flags);
  if (!timingSafeEqual(expected, challenge.subarray(nonceBytes + 1))) return null;
  return { leaderNonce, offersTls: flags[0] === 1 };
}

/** What the follower says to it. */
export function answerOf(context: TunnelContext, leaderNonce: Buffer, word: TunnelWord): Buffer {
  const { link, isProven } = word;
  const { address, encryption } = link;
  const text = Buffer.from(
    JSON.stringify({
      isProven,
      address,
      isEncrypted: encryption !== null,
      endpoint: encryption?.endpoint?.toString('base64') ?? null,
    }),
  );
  return Buffer.concat([proof('follower', context, leaderNonce, text), text]);
}

/** Null: the other end does not know the secret, or answers another connection. */
export function readTunnelAnswer(
  context: TunnelContext,
  leaderNonce: Buffer,
  answer: Buffer,
): TunnelWord | null {
  if (answer.length < proofBytes) return null;
  const text = answer.subarray(proofBytes);
  const expected = proof('follower', context, leaderNonce, text);
  if (!timingSafeEqual(expected, answer.subarray(0, proofBytes))) return null;
  // Who knows the secret says what is well-formed.
  const said = JSON.parse(text.toString()) as {
    readonly isProven: boolean;
    readonly address: string;
    readonly isEncrypted: boolean;
    readonly endpoint: string | null;
  };
  const endpoint = said.endpoint === null ? null : Buffer.from(said.endpoint, 'base64');
  const encryption = said.isEncrypted ? { endpoint, certificateName: null } : null;
  return { isProven: said.isProven, link: { address: said.address, encryption } };
}

function proof(
  end: 'leader' | 'follower',
  { key, startup, followerNonce, fingerprint }: TunnelContext,
  leaderNonce: Buffer,
  text: Buffer,
): Buffer {
  // Each part of a length that is known, but for the last.
  const hash = createHmac('sha256', key).update(`${end}\0`).update(followerNonce).update(leaderNonce);
  for (const part of [startup, fingerprint]) hash.update(createHash('sha256').update(part).digest());
  return hash.update(text).digest();
}
