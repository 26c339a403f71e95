/** Where the run comes from, which one it is, and what can be done with it as a whole: another one begun, this one kept as a file, one taken from a file. */
import { createContext, useCallback, useContext, useEffect, useRef, useSyncExternalStore } from 'react';
import { Button } from '../components/button.tsx';
import { useRun } from '../components/run.tsx';
import { fileBounds, writeRun } from '../run/run-file.ts';
import type { RunChoice } from '../run/run-choice.ts';
import './source-menu.css';

const Choice = createContext<RunChoice | null>(null);

export const ChoiceProvider = Choice.Provider;

/** Null where the page has no choice. */
export function useRunChoice(): RunChoice | null {
  return useContext(Choice);
}

/** Nothing where the page has no choice. */
export function SourceMenu() {
  const choice = useContext(Choice);
  return choice === null ? null : <Menu choice={choice} />;
}

/** How far a run is that is made again; null: none is. */
function percentOf(choice: RunChoice): number | null {
  const underWay = choice.simulated()?.underWay() ?? null;
  return underWay === null ? null : Math.round((100 * underWay.atMs) / Math.max(1, underWay.toMs));
}

function Menu({ choice }: { readonly choice: RunChoice }) {
  const store = useRun();
  const { source } = store;
  const percent = useSyncExternalStore(choice.subscribe, () => percentOf(choice));
  const file = useRef<HTMLInputElement>(null);
  const take = useCallback(
    async (given: File | undefined) => {
      if (given === undefined) return;
      const text = given.size > fileBounds.bytesMax ? null : await given.text();
      choice.chooseFile(given.name, text);
    },
    [choice],
  );
  useDroppedFile(take);

  const choose = (kind: string): void => {
    if (kind === 'live') choice.chooseLive?.();
    else if (kind === 'file') file.current?.click();
    else choice.chooseSimulated(freshRun());
  };
  return (
    <div className="source-menu">
      {percent === null ? null : (
        <progress
          max={100}
          value={percent}
          aria-label="The run is made again"
          data-testid="source-progress"
        />
      )}
      <select
        aria-label="Where the run comes from"
        title={source.title}
        value={source.kind}
        data-kind={source.kind}
        data-testid="source-choice"
        onChange={(event) => choose(event.target.value)}
      >
        {choice.chooseLive === null ? null : <option value="live">Live cluster</option>}
        <option value="simulated">Simulated</option>
        <option value="file">From a file…</option>
      </select>
      {source.kind === 'simulated' ? (
        <Button
          tone="plain"
          icon="seed"
          data-testid="source-new"
          title="Begins another run, from another seed"
          onClick={() => choice.chooseSimulated(freshRun())}
        >
          <span className="top-words">New seed</span>
        </Button>
      ) : null}
      <Button
        tone="plain"
        icon="export"
        data-testid="source-export"
        title="Keeps what the page knows of this run as a file, which the page can show again"
        onClick={() => exportRun(store)}
      >
        <span className="top-words">Export</span>
      </Button>
      <input
        ref={file}
        type="file"
        hidden
        accept=".ndjson,.jsonl,application/x-ndjson"
        data-testid="source-file"
        onChange={(event) => {
          void take(event.target.files?.[0]);
          // The same file may be chosen again.
          event.target.value = '';
        }}
      />
    </div>
  );
}

export function freshRun() {
  const seed = 1 + Math.floor(Math.random() * 9_999);
  return { seed, replicas: 3, clients: 4, acts: [] };
}

function exportRun(store: ReturnType<typeof useRun>): void {
  const { source } = store;
  const group = store.get().state.cluster?.group ?? '';
  const lines = writeRun({
    group,
    source: `${source.kind}, ${source.title}`,
    moments: store.record().history.kept(),
  });
  const url = URL.createObjectURL(new Blob(lines, { type: 'application/x-ndjson' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `barista-run-${source.kind}.ndjson`;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Anywhere on the page. */
function useDroppedFile(take: (file: File | undefined) => Promise<void>): void {
  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
    };
    const drop = (event: DragEvent): void => {
      const file = event.dataTransfer?.files[0];
      if (file === undefined) return;
      event.preventDefault();
      void take(file);
    };
    window.addEventListener('dragover', over);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('drop', drop);
    };
  }, [take]);
}
