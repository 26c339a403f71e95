/** The leader's end of a tunnel: has a follower's gateway prove that it is one, and say who its client is (tunnel-proof.ts). */
import type { Socket } from 'node:net';
import { type StartupMessage, startupForBackend, tunnelChallenge } from '../codec/startup.ts';
import { readAnswer } from './read-message.ts';
import {
  challengeOf,
  drawNonce,
  readTunnelAnswer,
  type TunnelContext,
  type TunnelWord,
} from './tunnel-proof.ts';

/** `startup` as it was read. Null: the other end is none that knows the secret; `gone`: it has closed the connection. @throws ProtocolViolation */
export async function acceptTunnel(
  client: Socket,
  startup: StartupMessage & { readonly tunnelNonce: Buffer },
  known: Pick<TunnelContext, 'key' | 'fingerprint'> & { readonly offersTls: boolean },
): Promise<TunnelWord | null | 'gone'> {
  const { key, fingerprint, offersTls } = known;
  const { tunnelNonce: followerNonce } = startup;
  const context = { key, fingerprint, startup: startupForBackend(startup), followerNonce };
  const leaderNonce = drawNonce();
  client.write(tunnelChallenge(challengeOf(context, { leaderNonce, offersTls })));
  const answer = await readAnswer(client);
  return answer === null ? 'gone' : readTunnelAnswer(context, leaderNonce, answer);
}
