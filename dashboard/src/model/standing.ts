/** What a replica is to its group, as the stage calls it: a follower counts, a learner does not yet, and one that waits to be let in is no member at all. Pure. */
import type { ClusterReplica } from '../../../server/src/api/status.ts';
import { freshStatus, roleOf, type ShownRole } from './cluster-view.ts';
import { incarnationName } from './incarnation.ts';
import { memberRole } from './members-view.ts';

export interface Standing {
  readonly text: string;
  /** Of the glossary; null: none explains it. */
  readonly word: string | null;
  /** Its vote counts, as far as anybody knows. */
  readonly counts: boolean;
  /** Of its log, where that is not its first: `r2.2`; null: it is. */
  readonly incarnation: string | null;
}

const texts: Readonly<Partial<Record<ShownRole, string>>> = {
  paused: 'frozen',
  unknown: 'silent',
  deposed: 'leads, it thinks',
};

export function standingOf(replica: ClusterReplica, leader: string | null): Standing {
  const role = roleOf(replica, leader);
  const status = freshStatus(replica);
  const incarnation =
    replica.status !== null && replica.status.incarnation > 1
      ? incarnationName(replica.id, replica.status.incarnation)
      : null;
  const plain = { text: texts[role] ?? role, word: null, counts: true, incarnation };
  // Others than followers are what they are by leave of a quorum.
  if (status === null || role !== 'follower') return plain;
  if (memberRole(status) === 'learner') return { ...plain, text: 'learner', word: 'learner', counts: false };
  if (status.state === 'joining') return { ...plain, text: 'not let in yet', word: 'member', counts: false };
  return status.state === 'removed' ? { ...plain, text: 'let out', word: 'member', counts: false } : plain;
}
