/**
 * The run for React: whoever draws something takes what it needs by a selector, and is rendered when that has changed, and not before.
 *
 * A selector that makes a new object each time needs an equality.
 */
import { createContext, useContext, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { RunRequests } from '../run/requests.ts';
import type { RunStore, RunView } from '../run/run-store.ts';

const Run = createContext<RunStore | null>(null);

export const RunProvider = Run.Provider;

/** @throws Error outside of a provider */
export function useRun(): RunStore {
  const store = useContext(Run);
  if (store === null) throw new Error('there is no run here');
  return store;
}

/** What can be asked of the run's replicas; null: nothing. */
export function useRequests(): RunRequests | null {
  return useRun().source.requests;
}

export function useSelected<T>(
  store: RunStore,
  selector: (view: RunView) => T,
  equal: (one: T, other: T) => boolean = Object.is,
): T {
  const last = useRef<{ readonly value: T } | null>(null);
  const get = (): T => {
    const value = selector(store.get());
    if (last.current !== null && equal(last.current.value, value)) return last.current.value;
    last.current = { value };
    return value;
  };
  return useSyncExternalStore(store.subscribe, get);
}

/** The moment that is looked at, on the run's clock, renewed every `everyMs`: ages are told by it. */
export function useMoment(everyMs: number): number {
  const store = useRun();
  const [ms, setMs] = useState(store.momentMs);
  useEffect(() => {
    const renew = (): void => setMs(store.momentMs());
    const timer = setInterval(renew, everyMs);
    let { playhead } = store.get();
    const stop = store.subscribe(() => {
      const next = store.get().playhead;
      if (next !== playhead) renew();
      playhead = next;
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [store, everyMs]);
  return ms;
}
