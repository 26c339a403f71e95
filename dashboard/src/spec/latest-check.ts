/**
 * What is held to the specification now: one subject at a time, and what comes of it.
 *
 * Invariant: nothing of a check that was stopped is shown, though a Worker may have said it before it ended.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { Verdict } from './check-protocol.ts';
import type { Check } from './start-checker.ts';

export interface Subject {
  /** What it is, for people. */
  readonly title: string;
  /** It is the run that the page shows. */
  readonly isOfPage: boolean;
  readonly events: readonly TraceEvent[];
}

export interface Checked extends Subject {
  readonly state:
    | { readonly kind: 'running'; readonly done: number; readonly all: number }
    | { readonly kind: 'failed'; readonly message: string }
    | { readonly kind: 'done'; readonly verdict: Verdict };
}

export type StartCheck = (
  events: readonly TraceEvent[],
  onProgress: (done: number, all: number) => void,
) => Check;

export interface LatestCheck {
  readonly check: (subject: Subject) => void;
  readonly stop: () => void;
}

export function latestCheck(start: StartCheck, onChange: (checked: Checked) => void): LatestCheck {
  let running: { readonly one: Check } | null = null;
  const stop = (): void => {
    running?.one.stop();
    running = null;
  };
  return {
    stop,
    check(subject) {
      stop();
      onChange({ ...subject, state: { kind: 'running', done: 0, all: 0 } });
      const show = (state: Checked['state']): void => {
        if (running?.one === one) onChange({ ...subject, state });
      };
      const one: Check = start(subject.events, (done, all) => show({ kind: 'running', done, all }));
      running = { one };
      one.verdict.then(
        (verdict) => show({ kind: 'done', verdict }),
        (error: unknown) =>
          show({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
      );
    },
  };
}
