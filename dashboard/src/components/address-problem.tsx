/** What was wrong with the page's address when it was last followed, for React. It is read before anything else rewrites the address, and stays until somebody has read it or goes elsewhere. */
import { createContext, useContext, useSyncExternalStore } from 'react';
import { variants } from '../compare/variants.ts';
import { scenarios } from '../scenarios/all-scenarios.ts';
import { addressProblem } from '../model/address-problem.ts';
import { pageViews } from './use-view.ts';

export interface AddressWatch {
  readonly problem: () => string | null;
  readonly subscribe: (listener: () => void) => () => void;
  readonly dismiss: () => void;
}

const known = {
  views: pageViews,
  scenarios: scenarios.map(({ id }) => id),
  variants: variants.map(({ id }) => id),
};

export function watchAddress(): AddressWatch {
  const listeners = new Set<() => void>();
  let problem = addressProblem(location.hash, known);
  const become = (next: string | null): void => {
    problem = next;
    listeners.forEach((listener) => listener());
  };
  addEventListener('hashchange', () => become(addressProblem(location.hash, known)));
  return {
    problem: () => problem,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    dismiss: () => become(null),
  };
}

const Watch = createContext<AddressWatch | null>(null);

export const AddressProvider = Watch.Provider;

const none = { problem: () => null, subscribe: () => () => undefined, dismiss: () => undefined };

/** Null: nothing was wrong. */
export function useAddressProblem(): readonly [string | null, () => void] {
  const watch = useContext(Watch) ?? none;
  return [useSyncExternalStore(watch.subscribe, watch.problem), watch.dismiss];
}
