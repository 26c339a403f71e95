/**
 * Replicas that come, go and are replaced, asked from the page, one change at a time. The demo's server carries a change out; the page asks how far it is, also of one that it did not ask for or has looked away from.
 *
 * Invariant: nothing that the page shows, of the past least of all, moves a change on.
 */
import { useEffect, useState } from 'react';
import type {
  ReplicaChangeRequest,
  ReplicaChangeStatus,
} from '../../../../server/src/api/replica-changes.ts';
import type { ClusterStatus } from '../../../../server/src/api/status.ts';
import { useRequests } from '../../components/run.tsx';
import { protocolTitle } from '../../model/protocol-view.ts';
import { mayAsk, type ReplicaChangeView, viewOfChange } from '../../model/replica-change.ts';

const lookMs = 1000;

export interface ReplicaChange {
  readonly state: ReplicaChangeView['state'];
  readonly text: string;
  /** Why replicas can neither come nor go here; null: they can. */
  readonly why: string | null;
  readonly may: (request: ReplicaChangeRequest) => boolean;
  readonly ask: (request: ReplicaChangeRequest) => void;
}

export function useReplicaChange(cluster: ClusterStatus): ReplicaChange {
  const requests = useRequests();
  const [status, setStatus] = useState<ReplicaChangeStatus | null>(null);
  const [sent, setSent] = useState<ReplicaChangeRequest | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const why = whyNot(requests?.changeReplicas === undefined, protocolTitle(cluster).leads === null);
  const { state, text, isUnderWay } = viewOfChange(status, sent, problem);

  useEffect(() => {
    if (why !== null || requests === null) return undefined;
    let isWanted = true;
    const look = async (): Promise<void> => {
      const outcome = await requests.replicaChange?.();
      if (isWanted && outcome?.ok === true) setStatus(outcome.status);
    };
    void look();
    // Often while something is under way; now and then otherwise, for it may be asked for elsewhere.
    const timer = setInterval(() => void look(), isUnderWay ? lookMs : 5 * lookMs);
    return () => {
      isWanted = false;
      clearInterval(timer);
    };
  }, [requests, why, isUnderWay]);

  const ask = async (request: ReplicaChangeRequest): Promise<void> => {
    setSent(request);
    setProblem(null);
    const outcome = await requests?.changeReplicas?.(request);
    const told = await requests?.replicaChange?.();
    setSent(null);
    if (told?.ok === true) setStatus(told.status);
    if (outcome?.ok === false) setProblem(outcome.error.message);
  };

  return {
    state,
    text,
    why,
    may: (request) => why === null && mayAsk(status, sent, request),
    ask: (request) => void ask(request),
  };
}

function whyNot(isMissing: boolean, isLeaderless: boolean): string | null {
  if (isMissing) return 'Here replicas neither come nor go: this is no live cluster.';
  return isLeaderless ? 'With this protocol the members are fixed.' : null;
}
