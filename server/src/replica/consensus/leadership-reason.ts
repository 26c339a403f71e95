/** Why nobody serves, in words for clients and logs. Pure. */
import type { StepDownReason } from '../../multipaxos/types/names.ts';

const texts: Readonly<Record<StepDownReason, string>> = {
  databaseFailed: "the leader's PostgreSQL failed, and another replica takes over",
  logFailed: "the leader's log cannot be written, and another replica takes over",
  quorumLost: 'a majority of the replicas cannot be reached from here',
  higherBallot: 'another replica takes over',
  requested: 'leadership was given up here',
  handedOver: 'another replica takes over, as it was asked to',
  removed: 'this replica is no voter any more',
};

export function leadershipReason(reason: StepDownReason | null): string {
  return reason === null ? 'there is no leader' : texts[reason];
}
