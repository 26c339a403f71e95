/**
 * Changing the members.
 *
 * Responsible for: reconfigure: whether a change may be made now. It is made by barrier.ts, as soon as everything that is proposed is chosen. One
 * change at a time, and only by a leader that serves.
 */
import { hasJoined, membersAfter, nameOf, votersOf } from './configuration.ts';
import { hasMajority } from './quorum.ts';
import type { Run } from './run.ts';
import type { Leadership, PeerProgress, State } from './state.ts';
import type { Effect } from './types/effects.ts';
import type { ConfigurationChange, Member } from './types/members.ts';
import type { ReplicaId } from './types/names.ts';

type Outcome = Extract<Effect, { kind: 'reconfigured' }>['code'];

export function reconfigure(run: Run, id: number, change: ConfigurationChange): void {
  run.effects.push({ kind: 'reconfigured', id, code: requestChange(run.state, change) });
}

export function requestChange(state: State, change: ConfigurationChange): Outcome {
  const { leadership, configuration } = state;
  if (leadership === null || !leadership.serving) return 'notLeader';
  const members = membersAfter(configuration, change);
  if (members === 'done') return members;
  const underWay = leadership.wanted ?? leadership.pending?.members;
  if (underWay !== undefined) return isAskedAgain(underWay, change) ? 'proposed' : 'busy';
  if (typeof members === 'string') return members;
  const gone = configuration.members.filter((member) => !members.includes(member)).map(nameOf);
  if (change.kind === 'join' && gone.some((name) => mayBeAlive(state, leadership, name))) return 'busy';
  if (losesQuorum(state, leadership, members)) return 'wouldLoseQuorum';
  leadership.wanted = members;
  return 'proposed';
}

/**
 * A life that is lost is silent. One that was heard just now is not, and the request is a late one of a life before it: it must not be replaced by a
 * life that is no more. A leader that has only begun has heard nobody yet, and cannot tell.
 */
function mayBeAlive(state: State, leadership: Leadership, name: ReplicaId): boolean {
  const hasJustBegun = state.nowMs - leadership.beganAtMs <= state.config.electionTimeoutMaxMs;
  return hasJustBegun || isAlive(state, leadership, name);
}

function isAlive(state: State, leadership: Leadership, name: ReplicaId): boolean {
  if (name === state.config.id) return true;
  const peer = leadership.peers.find(({ id }) => id === name);
  return peer !== undefined && state.nowMs - peer.ackedSentAtMs <= state.config.electionTimeoutMaxMs;
}

/** A replica that joins asks until it is admitted. */
function isAskedAgain(underWay: readonly Member[], change: ConfigurationChange): boolean {
  return (
    change.kind === 'join' &&
    underWay.some((member) => member.replica === change.replica && hasJoined(member, change.nonce))
  );
}

/**
 * A majority of the voters of now must choose the change, and a majority of those of then must be there to go on. One that is removed votes for it like the
 * others, and afterwards still tells the change to whoever asks; one that is replaced is silent, or the change is not made.
 *
 * Only who can come up to the change votes for it (barrier.ts). One that lacks what this log has let go of cannot before it has a copy of a database, and a copy is whole only when all in
 * it is chosen, for which nothing may wait at a barrier: such a change would be the last thing that is ever proposed.
 */
function losesQuorum(state: State, leadership: Leadership, members: readonly Member[]): boolean {
  const { id: self } = state.config;
  const heard = leadership.peers.filter(({ id }) => isAlive(state, leadership, id));
  const canVote = heard.filter(({ commitPoint }) => commitPoint >= state.purgedTo);
  const withSelf = (peers: readonly PeerProgress[]): Set<ReplicaId> =>
    new Set([self, ...peers.map(nameOfPeer)]);
  return (
    !hasMajority(state.roster.voters, withSelf(canVote)) ||
    !hasMajority(votersOf({ members }), withSelf(heard))
  );
}

function nameOfPeer({ id }: PeerProgress): ReplicaId {
  return id;
}
