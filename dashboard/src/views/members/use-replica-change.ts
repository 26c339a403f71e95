/**
 * Replicas that come and go, asked from the page, one change at a time: a replacement lets the new one vote before the old one goes, as the command does.
 *
 * Invariant: of a replacement the old replica is removed only when the new one votes; the page may be left before that, and then both are members.
 */
import { useEffect, useState } from 'react';
import type { ClusterStatus } from '../../../../server/src/api/status.ts';
import { useRequests } from '../../components/run.tsx';
import { newestMembership } from '../../model/members-view.ts';
import { protocolTitle } from '../../model/protocol-view.ts';

type Change =
  | { readonly state: 'idle' }
  | { readonly state: 'asked'; readonly text: string }
  /** Until `added` votes; then `replaced` goes, if it was a replacement. */
  | { readonly state: 'joining'; readonly added: string; readonly replaced: string | null }
  | { readonly state: 'done' | 'failed'; readonly text: string };

export interface ReplicaChange {
  readonly state: Change['state'];
  readonly text: string;
  readonly isBusy: boolean;
  /** Why replicas can neither come nor go here; null: they can. */
  readonly why: string | null;
  readonly add: () => void;
  readonly remove: (replica: string) => void;
  readonly replace: (replica: string) => void;
}

export function useReplicaChange(cluster: ClusterStatus): ReplicaChange {
  const requests = useRequests();
  const [change, setChange] = useState<Change>({ state: 'idle' });
  const members = newestMembership(cluster)?.members ?? [];
  const isLeaderless = protocolTitle(cluster).leads === null;

  const begin = async (replaced: string | null): Promise<void> => {
    setChange({ state: 'asked', text: 'The leader is asked to let another replica in…' });
    const outcome = await requests?.changeReplicas?.({ action: 'add' });
    if (outcome === undefined) return;
    if (outcome.ok) setChange({ state: 'joining', added: outcome.replica, replaced });
    else setChange({ state: 'failed', text: outcome.error.message });
  };
  const remove = async (replica: string): Promise<void> => {
    setChange({ state: 'asked', text: `${replica} is taken from the members…` });
    const outcome = await requests?.changeReplicas?.({ action: 'remove', replica });
    if (outcome === undefined) return;
    if (outcome.ok) setChange({ state: 'done', text: `${outcome.message}.` });
    else setChange({ state: 'failed', text: outcome.error.message });
  };
  const joining = change.state === 'joining' ? change : null;
  const isVoter = members.some(({ replica, role }) => replica === joining?.added && role === 'voter');
  useEffect(() => {
    if (joining === null || !isVoter) return;
    if (joining.replaced === null) setChange({ state: 'done', text: `${joining.added} votes.` });
    else void remove(joining.replaced);
    // oxlint-disable-next-line react/exhaustive-deps -- once, when it votes
  }, [joining, isVoter]);

  return {
    state: change.state,
    text: textOf(change, members),
    isBusy: change.state === 'asked' || change.state === 'joining',
    why: whyNot(requests?.changeReplicas === undefined, isLeaderless),
    add: () => void begin(null),
    remove: (replica) => void remove(replica),
    replace: (replica) => void begin(replica),
  };
}

function whyNot(isMissing: boolean, isLeaderless: boolean): string | null {
  if (isMissing) return 'Here replicas neither come nor go: this is no live cluster.';
  return isLeaderless ? 'With this protocol the members are fixed.' : null;
}

function textOf(
  change: Change,
  members: readonly { readonly replica: string; readonly role: string; readonly incarnation: number }[],
): string {
  if (change.state === 'idle') return 'A new replica is a learner until it has caught up; then it votes.';
  if (change.state !== 'joining') return change.text;
  const { added, replaced } = change;
  const member = members.find(({ replica }) => replica === added);
  const now =
    member === undefined || member.incarnation === 0
      ? `${added} was started, and is expected`
      : `${added} is a learner: it copies a database and catches up`;
  return replaced === null ? `${now}; then it votes.` : `${now}; when it votes, ${replaced} goes.`;
}
