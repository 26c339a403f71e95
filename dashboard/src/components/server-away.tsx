/**
 * Why nothing can be asked now; null: it can. What would ask is switched off meanwhile: a click on it would be carried out by a server that thaws, long after it was meant, or
 * would befall replicas of now, while the page shows those of a moment ago.
 */
import { createContext, useContext } from 'react';

const Away = createContext<string | null>(null);

export const ServerAway = Away.Provider;

export function useWhyAway(): string | null {
  return useContext(Away);
}

export function useServerAway(): boolean {
  return useWhyAway() !== null;
}
