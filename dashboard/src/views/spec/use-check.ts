/** What is held to the specification, and what comes of it. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { TraceEvent } from '../../../../server/src/api/events.ts';
import type { Verdict } from '../../spec/check-protocol.ts';
import { type Check, startCheck } from '../../spec/start-checker.ts';

export interface Checked {
  /** What it is, for people. */
  readonly title: string;
  /** It is the run that the page shows. */
  readonly isOfPage: boolean;
  readonly events: readonly TraceEvent[];
  readonly state:
    | { readonly kind: 'running'; readonly done: number; readonly all: number }
    | { readonly kind: 'failed'; readonly message: string }
    | { readonly kind: 'done'; readonly verdict: Verdict };
}

type Subject = Pick<Checked, 'title' | 'isOfPage' | 'events'>;

export function useCheck(): readonly [Checked | null, (subject: Subject) => void] {
  const [checked, setChecked] = useState<Checked | null>(null);
  const running = useRef<Check | null>(null);
  useEffect(() => () => running.current?.stop(), []);
  const check = useCallback((subject: Subject) => {
    running.current?.stop();
    const show = (state: Checked['state']): void => setChecked({ ...subject, state });
    show({ kind: 'running', done: 0, all: 0 });
    const one = startCheck(subject.events, (done, all) => show({ kind: 'running', done, all }));
    running.current = one;
    one.verdict.then(
      (verdict) => show({ kind: 'done', verdict }),
      (error: unknown) =>
        show({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
    );
  }, []);
  return [checked, check];
}
