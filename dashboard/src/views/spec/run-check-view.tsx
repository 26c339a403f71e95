/** "Check this run": the verdict of the conformance check on what the page holds, or on a recorded trace, and the first event that the specification refuses, beside the text of the action that it claims to be. */
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { formatCount } from '../../model/format.ts';
import { useRun } from '../../components/run.tsx';
import type { RunStore } from '../../run/run-store.ts';
import type { Refusal } from '../../spec/check-protocol.ts';
import { standAtEvent } from '../../spec/stand-at-event.ts';
import type { Checked } from '../../spec/latest-check.ts';
import { refusedTrace } from '../../spec/spec-files.ts';
import { eventsIn, readTraceText } from '../../spec/trace-text.ts';
import { RecordedView } from './recorded-view.tsx';
import { useCheck } from './use-check.ts';
import { Verdicts } from './verdicts.tsx';

interface RunCheckViewProps {
  /** The choice among what the view shows. */
  readonly modes: ReactNode;
  readonly onLab: () => void;
}

function eventsOf(store: RunStore) {
  return store
    .record()
    .history.kept()
    .flatMap(({ frames }) => eventsIn(frames));
}

export function RunCheckView({ modes, onLab }: RunCheckViewProps) {
  const store = useRun();
  const [checked, check] = useCheck();
  const [problem, setProblem] = useState<string | null>(null);
  const file = useRef<HTMLInputElement>(null);
  const checkPage = (): void => {
    setProblem(null);
    check({ title: 'This run', isOfPage: true, events: eventsOf(store) });
  };
  const checkText = (title: string, text: string): void => {
    const read = readTraceText(text);
    setProblem(read.ok ? null : `${title}: ${read.message}`);
    if (read.ok) check({ title, isOfPage: false, events: read.events });
  };
  useEffect(() => {
    // Who comes here wants to know. Where React mounts twice the first check was stopped in between.
    if (store.record().history.lastMs === null) return;
    check({ title: 'This run', isOfPage: true, events: eventsOf(store) });
  }, [store, check]);
  const jump = ({ event }: Refusal): void => {
    if (event !== null && standAtEvent(store, event)) onLab();
  };
  return (
    <div className="spec" data-testid="spec-run">
      <section className="spec-models" aria-label="What is checked">
        {modes}
        <div className="spec-check">
          <Button tone="primary" data-testid="check-run" onClick={checkPage}>
            Check this run
          </Button>
          <Button data-testid="check-file" onClick={() => file.current?.click()}>
            A recorded trace…
          </Button>
          <Button
            data-testid="check-example"
            title="A group in simulated time in whose core a replica that starts again forgets its promise"
            onClick={() => {
              void refusedTrace().then(
                (text) => checkText('A replica forgets its promise', text),
                (error: unknown) => setProblem(String(error)),
              );
            }}
          >
            A run that is refused
          </Button>
          <input
            ref={file}
            type="file"
            hidden
            accept=".ndjson,.jsonl,application/x-ndjson"
            data-testid="check-file-input"
            onChange={(event) => {
              const given = event.target.files?.[0];
              event.target.value = '';
              void given?.text().then((text) => checkText(given.name, text));
            }}
          />
          {problem === null ? null : (
            <p className="spec-problem" role="alert">
              {problem}
            </p>
          )}
        </div>
        {checked === null ? (
          <p className="spec-words">
            Every event that replicas tell says which action of the specification it is, and what state it
            leads to. The check takes the specification’s own text, and sees whether each may come after those
            before it.
          </p>
        ) : (
          <State checked={checked} onJump={checked.isOfPage ? jump : null} />
        )}
      </section>
      {checked?.state.kind === 'done' ? (
        <RecordedView
          key={`${checked.title} ${checked.events.length}`}
          checked={checked}
          verdict={checked.state.verdict}
        />
      ) : (
        <p className="empty">{checked === null ? 'Nothing is checked yet.' : ''}</p>
      )}
    </div>
  );
}

function State({
  checked,
  onJump,
}: {
  readonly checked: Checked;
  readonly onJump: ((to: Refusal) => void) | null;
}) {
  const { state, title, events } = checked;
  return (
    <div
      className="spec-verdict"
      tabIndex={0}
      role="region"
      aria-label="Verdict"
      data-testid="verdict"
      data-state={state.kind}
      aria-live="polite"
    >
      <h2>{title}</h2>
      <p className="quiet num">{formatCount(events.length)} events are held</p>
      {state.kind === 'running' ? (
        <>
          <progress max={Math.max(1, state.all)} value={state.done} aria-label="Checked so far" />
          <p className="quiet num">
            {state.all === 0 ? 'The events are put in order…' : `${state.done} of ${state.all} pieces`}
          </p>
        </>
      ) : null}
      {state.kind === 'failed' ? <p className="spec-problem">{state.message}</p> : null}
      {state.kind === 'done' ? <Verdicts verdict={state.verdict} onJump={onJump} /> : null}
    </div>
  );
}
