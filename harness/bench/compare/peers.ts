/** Systems that others have written: what they fail at is told, and is not the end of the benchmark. */
import type { System } from './systems/system.ts';

interface Telling {
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/** Null: a peer has failed, and `leftOut` has been told why. @throws what any other system fails with; the signal's reason */
export async function unlessPeerFails<T>(
  system: System,
  { signal, progress }: Telling,
  attempt: () => Promise<T>,
  leftOut: (reason: string) => void,
): Promise<T | null> {
  try {
    signal.throwIfAborted();
    return await attempt();
  } catch (error) {
    signal.throwIfAborted();
    if (!system.isPeer) throw error;
    const reason = (error as Error).message;
    leftOut(reason);
    progress(`left out from here on: ${system.label}: ${reason}`);
    return null;
  }
}
