/** Whether the server can be asked anything now. What would ask it is switched off while it cannot: a click on it would be carried out by a server that thaws, long after it was meant. */
import { createContext, useContext } from 'react';

const Away = createContext(false);

export const ServerAway = Away.Provider;

export function useServerAway(): boolean {
  return useContext(Away);
}
