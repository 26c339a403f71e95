/**
 * Lets go of messages that nobody looks at any more, so that a run may go on for long.
 *
 * Proposals and votes of slots that every replica has settled, and commit points below, that were sent long ago: a network that would bring one of those again is no longer told from one that made it up. What is chosen is kept: whoever comes without
 * a log is told all of it.
 */
import { incarnationOf, replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import { messageName, type SpecMessage } from '../trace/spec-message.ts';
import type { ReplicaState, SpecState } from '../trace/spec-state.ts';

/** @returns how many. `before`: only those of earlier steps */
export function forgetSettled(state: SpecState, before: number): number {
  // A teller may have been sent before, by a message of the same name.
  const telling = new Set([...state.tellers.values()].map(messageName));
  const settled = Math.min(...livesIn(state).map(({ commitPoint }) => commitPoint));
  let forgotten = 0;
  for (const [name, { message, step }] of state.sent) {
    if (step >= before || telling.has(name) || !isSettled(message, settled)) continue;
    state.sent.delete(name);
    forgotten++;
  }
  return forgotten;
}

/** Of each replica its last life, if that has had a log. */
function livesIn({ replicas }: SpecState): ReplicaState[] {
  const last = new Map<string, { readonly incarnation: number; readonly replica: ReplicaState }>();
  for (const [id, replica] of replicas) {
    const incarnation = incarnationOf(id);
    if (incarnation > (last.get(replicaOf(id))?.incarnation ?? 0))
      last.set(replicaOf(id), { incarnation, replica });
  }
  return [...last.values()].flatMap(({ replica }) => (replica.hasLog ? [replica] : []));
}

/** The first one that told of a configuration speaks for all of them: it is kept. */
function isSettled(message: SpecMessage, settled: number): boolean {
  if (message.type === 'Accept' || message.type === 'Accepted') return message.slot <= settled;
  return message.type === 'Heartbeat' && message.commitPoint < settled;
}
