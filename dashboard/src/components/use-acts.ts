/** What people do to the group, with what takes the last of it back. What was asked of a server before it went away is given up. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { FaultRequest } from '../../../server/src/api/status.ts';
import type { Tone } from '../model/cluster-view.ts';
import { spellRequest } from '../model/fault-text.ts';
import type { FaultOutcome, SendFault } from '../run/requests.ts';
import type { RunStore } from '../run/run-store.ts';
import { undoOf } from '../stage/acts.ts';

export interface Acts {
  readonly onFault: SendFault;
  /** Several requests that people see as one act. */
  readonly act: (title: string, requests: readonly FaultRequest[]) => void;
  /** What would be undone; null: nothing can be. */
  readonly undoable: string | null;
  readonly undo: () => void;
  /** What was refused since it leaves no majority; null: nothing was. */
  readonly question: ActQuestion | null;
}

export interface ActQuestion {
  /** What it would do. */
  readonly text: string;
  readonly confirm: () => void;
  readonly leave: () => void;
}

interface Done {
  readonly title: string;
  readonly undo: readonly FaultRequest[];
}

const doneMax = 50;

interface Asked {
  readonly text: string;
  readonly title: string;
  readonly requests: readonly FaultRequest[];
}

export function useActs(store: RunStore, isAway: boolean, tell: (tone: Tone, text: string) => void): Acts {
  const [done, setDone] = useState<readonly Done[]>([]);
  const [question, setQuestion] = useState<Asked | null>(null);
  // What a server was asked before it went away must not be done when it comes back, long after it was meant.
  const asked = useRef(new AbortController());
  useEffect(() => {
    if (!isAway) return;
    asked.current.abort();
    asked.current = new AbortController();
  }, [isAway]);
  const send = useCallback(
    async (title: string, wanted: readonly FaultRequest[]): Promise<boolean> => {
      const { requests } = store.source;
      if (requests === null || wanted.length === 0) return false;
      const { signal } = asked.current;
      const outcomes = await Promise.all(wanted.map((request) => requests.fault(request, signal)));
      const failed = outcomes.find(({ ok }) => !ok);
      if (failed?.ok === false && isTooMuch(failed)) {
        const tooMuch = wanted.filter((_, index) => isTooMuch(outcomes[index]));
        setQuestion({ text: failed.error.message, title, requests: tooMuch });
      } else if (failed?.ok === false) tell('bad', failed.error.message);
      else tell('good', title);
      return failed === undefined;
    },
    [store, tell],
  );
  const act = useCallback(
    (title: string, requests: readonly FaultRequest[]): void => {
      const { cluster } = store.get().state;
      const undos = cluster === null ? [] : requests.map((request) => undoOf(request, cluster));
      void send(title, requests).then((isDone) => {
        const undo = undos.flatMap((one) => one ?? []).toReversed();
        if (isDone && undo.length > 0) setDone((all) => [...all, { title, undo }].slice(-doneMax));
      });
    },
    [store, send],
  );
  const onFault = useCallback<SendFault>((request) => act(spellRequest(request), [request]), [act]);
  const last = done.at(-1) ?? null;
  const undo = useCallback((): void => {
    if (last === null) return;
    setDone((all) => all.filter((one) => one !== last));
    void send(`Undone: ${last.title}`, last.undo);
  }, [last, send]);
  const leave = (): void => setQuestion(null);
  return {
    onFault,
    act,
    undoable: last?.title ?? null,
    undo,
    question:
      question === null
        ? null
        : { text: question.text, confirm: () => act(question.title, question.requests.map(forced)), leave },
  };
}

/** The same, though no majority is left: of what was refused for that. */
function forced(request: FaultRequest): FaultRequest {
  const { action } = request;
  return action === 'crash' || action === 'pause' || action === 'wipe'
    ? { ...request, force: true }
    : request;
}

function isTooMuch(outcome: FaultOutcome | undefined): boolean {
  return outcome?.ok === false && outcome.error.code === 'beyondMinority';
}
