import { describe, expect, it } from 'vitest';
import {
  answerOf,
  challengeOf,
  drawNonce,
  readChallenge,
  readTunnelAnswer,
  type TunnelContext,
  type TunnelWord,
} from './tunnel-proof.ts';

function context(change: Partial<TunnelContext> = {}): TunnelContext {
  return {
    key: Buffer.from('the key'),
    startup: Buffer.from('user anna, database shop'),
    followerNonce: Buffer.alloc(16, 1),
    fingerprint: Buffer.alloc(0),
    ...change,
  };
}
const leaderNonce = Buffer.alloc(16, 2);
const word: TunnelWord = {
  link: { address: '10.1.2.3', encryption: { endpoint: Buffer.from('hash'), certificateName: null } },
  isProven: true,
};
const others: readonly Partial<TunnelContext>[] = [
  { key: Buffer.from('another') },
  { startup: Buffer.from('user postgres, database shop') },
  { followerNonce: Buffer.alloc(16, 3) },
  { fingerprint: Buffer.alloc(32, 4) },
];

describe('between two gateways', () => {
  it('the word of the follower comes as it was said', () => {
    for (const offersTls of [true, false]) {
      const challenge = challengeOf(context(), { leaderNonce, offersTls });
      expect(readChallenge(context(), challenge)).toEqual({ leaderNonce, offersTls });
    }
    expect(readTunnelAnswer(context(), leaderNonce, answerOf(context(), leaderNonce, word))).toEqual(word);
    const plain: TunnelWord = { link: { address: '', encryption: null }, isProven: false };
    expect(readTunnelAnswer(context(), leaderNonce, answerOf(context(), leaderNonce, plain))).toEqual(plain);
  });

  it.each(others)('a proof of another key, startup packet or connection is none: %#', (other) => {
    const challenge = challengeOf(context(other), { leaderNonce, offersTls: false });
    expect(readChallenge(context(), challenge)).toBeNull();
    const answer = answerOf(context(other), leaderNonce, word);
    expect(readTunnelAnswer(context(), leaderNonce, answer)).toBeNull();
  });

  it('what was said once is of no use again', () => {
    const answer = answerOf(context(), leaderNonce, word);
    expect(readTunnelAnswer(context(), drawNonce(), answer)).toBeNull();
  });

  it('a word that was altered is none, nor is the proof of the other end', () => {
    const answer = answerOf(context(), leaderNonce, word);
    for (let at = 0; at < answer.length; at += 1) {
      const altered = Buffer.from(answer);
      altered[at]! ^= 1;
      expect(readTunnelAnswer(context(), leaderNonce, altered)).toBeNull();
    }
    const challenge = challengeOf(context(), { leaderNonce, offersTls: false });
    for (let at = 16; at < challenge.length; at += 1) {
      const altered = Buffer.from(challenge);
      altered[at]! ^= 1;
      expect(readChallenge(context(), altered)).toBeNull();
    }
    // Its own proof, of the flags that it has said.
    const reflected = Buffer.concat([challenge.subarray(17), challenge.subarray(16, 17)]);
    expect(readTunnelAnswer(context(), leaderNonce, reflected)).toBeNull();
    for (const length of [0, 16, 47]) {
      expect(readChallenge(context(), challenge.subarray(0, length))).toBeNull();
      expect(readTunnelAnswer(context(), leaderNonce, answer.subarray(0, Math.min(length, 31)))).toBeNull();
    }
  });
});
