/** What a slot holds, asked of the replicas when somebody picks it, and again while it is not chosen yet. */
import { useEffect, useState } from 'react';
import type { SlotAnswer } from '../../../server/src/api/wal-summary.ts';
import { useRequests } from './run.tsx';
import type { ApiError } from '../run/requests.ts';

export type SlotLoad =
  | { readonly kind: 'loading' }
  | { readonly kind: 'loaded'; readonly answer: SlotAnswer }
  | { readonly kind: 'refused'; readonly error: ApiError };

const againMs = 1000;
/** These may have another answer soon. */
const passing: ReadonlySet<string> = new Set(['notChosen', 'unavailable', 'noServer', 'noAnswer']);

const nobodyToAsk: ApiError = { code: 'nobody', message: 'This run has nobody who could be asked.' };

export function useSlot(slot: number): SlotLoad {
  const requests = useRequests();
  const [load, setLoad] = useState<SlotLoad & { readonly slot: number }>({ kind: 'loading', slot });
  useEffect(() => {
    const control = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    async function ask(): Promise<void> {
      if (requests === null) {
        setLoad({ kind: 'refused', slot, error: nobodyToAsk });
        return;
      }
      const outcome = await requests.slot(slot, control.signal);
      if (control.signal.aborted) return;
      if (outcome.ok) setLoad({ kind: 'loaded', slot, answer: outcome.answer });
      else {
        setLoad({ kind: 'refused', slot, error: outcome.error });
        if (passing.has(outcome.error.code)) timer = setTimeout(() => void ask(), againMs);
      }
    }
    void ask();
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [slot, requests]);
  // What was found of another slot is not this one's.
  return load.slot === slot ? load : { kind: 'loading' };
}
