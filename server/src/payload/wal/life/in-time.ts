/** Whatever PostgreSQL is asked may hang without a word: nobody waits for it any longer than is said here. */
import type { Ballot } from '../../../multipaxos/types/names.ts';
import type { LifeContext } from './context.ts';

export interface TimeLimit {
  /** What is waited for, for people. */
  readonly what: string;
  /** By the clock of the replica's timers. */
  readonly untilMs: number;
  /** Nobody needs it any more. Looked at whenever the signal is given. */
  readonly isOver: () => boolean;
}

/** For what a new leader waits for before it serves: no longer than it leads. */
export function forLeader(context: LifeContext, ballot: Ballot, what: string, maxMs: number): TimeLimit {
  const untilMs = context.options.timers.nowMs() + maxMs;
  return { what, untilMs, isOver: () => !context.leads(ballot) || context.over() !== null };
}

/** What comes of the work later is nobody's. @throws Error if it fails, takes longer, or is not needed any more */
export async function inTime<T>(
  { options, signal }: LifeContext,
  { what, untilMs, isOver }: TimeLimit,
  work: Promise<T>,
): Promise<T> {
  const { timers } = options;
  const state = { isSettled: false };
  const settle = (): void => {
    state.isSettled = true;
    signal.notify();
  };
  work.then(settle, settle);
  while (!state.isSettled) {
    if (isOver()) throw new Error(`${what}: not needed any more`);
    const leftMs = untilMs - timers.nowMs();
    if (leftMs <= 0) throw new Error(`${what}: PostgreSQL took too long`);
    await signal.wait(leftMs);
  }
  return work;
}
