/**
 * What a replica's PostgreSQL is at, asked again and again while somebody looks.
 *
 * Invariants: nothing is asked while the page is hidden, the panel is out of sight, or nothing can be asked; one question at a time, each `everyMs` after the answer to the one before.
 */
import { useEffect, useState } from 'react';
import type { ActivityOutcome, RunRequests } from '../../run/requests.ts';

const everyMs = 2000;

interface Looked {
  readonly replica: string;
  readonly outcome: ActivityOutcome;
}

export function useActivity(
  requests: RunRequests | null,
  replica: string,
  isLooking: boolean,
): ActivityOutcome | null {
  const [looked, setLooked] = useState<Looked | null>(null);
  useEffect(() => {
    if (!isLooking || replica === '' || requests?.activity === undefined) return undefined;
    const given = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      if (!document.hidden) {
        const outcome = await requests.activity!(replica, given.signal);
        if (given.signal.aborted) return;
        setLooked({ replica, outcome });
      }
      timer = setTimeout(() => void ask(), everyMs);
    };
    void ask();
    return () => {
      clearTimeout(timer);
      given.abort();
    };
  }, [requests, replica, isLooking]);
  return looked?.replica === replica ? looked.outcome : null;
}
