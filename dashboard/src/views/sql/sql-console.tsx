/** SQL against any replica: the text, which replica is asked, a history, and what came of it. The editor is loaded when it is looked at. */
import { lazy, memo, Suspense, useMemo, useRef, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { readStored, writeStored } from '../../components/hooks.ts';
import { Panel } from '../../components/panel.tsx';
import { useRequests, useRun } from '../../components/run.tsx';
import { ReplicaChoice } from '../../components/replica-choice.tsx';
import { useServerAway } from '../../components/server-away.tsx';
import type { SqlOutcome } from '../../run/requests.ts';
import { isBlankSql } from '../../model/sql-blank.ts';
import { parseHistory, remember } from '../../model/sql-history.ts';
import type { HistoryItem } from '../../model/sql-history.ts';
import { errorPlace } from '../../model/error-place.ts';
import { HistoryMenu } from './history-menu.tsx';
import type { SqlSelection } from './sql-editor.tsx';
import { examplesOf } from './sql-examples.ts';
import { SqlResultView } from './sql-result.tsx';
import { useTables } from './use-tables.ts';
import './sql-console.css';

const SqlEditor = lazy(() =>
  import('./sql-editor.tsx').then(({ SqlEditor: component }) => ({ default: component })),
);

const historyKey = 'barista.sqlHistory';
const statementMax = 100_000;

interface Run {
  readonly sql: string;
  /** Where it begins in the text: a part of it may have been run. */
  readonly from: number;
  /** The whole text was another when the outcome came: nothing in it is at its place any more. */
  readonly isMoved: boolean;
  readonly replica: string;
  /** Null while it runs. */
  readonly outcome: SqlOutcome | null;
}

interface SqlConsoleProps {
  readonly ids: readonly string[];
  readonly leader: string | null;
  /** Replicas that do not answer, as one text: another list each time would have all of this rendered again. */
  readonly silentKey: string;
  /** Every replica orders what its own clients want. */
  readonly isLeaderless: boolean;
  /** Whatever is asked becomes an operation of the log. */
  readonly areOperations: boolean;
}

export const SqlConsole = memo(function SqlConsole({
  ids,
  leader,
  silentKey,
  isLeaderless,
  areOperations,
}: SqlConsoleProps) {
  const isSimulated = useRun().source.kind === 'simulated';
  const examples = examplesOf(isSimulated);
  const [sql, setSql] = useState<string>(examples[0].sql);
  const [chosen, setChosen] = useState<string | null>(null);
  const [run, setRun] = useState<Run | null>(null);
  const [history, setHistory] = useState<readonly HistoryItem[]>(() => parseHistory(readStored(historyKey)));
  const replica = chosen ?? ids[0] ?? '';
  const away = useServerAway();
  const requests = useRequests();
  const busy = run !== null && run.outcome === null;

  const [selection, setSelection] = useState<SqlSelection | null>(null);
  const [tables, tablesMayHaveChanged] = useTables(areOperations ? null : requests, replica, away);

  /** As it stands by when an outcome comes. */
  const newest = useRef(sql);
  newest.current = sql;

  const execute = async (): Promise<void> => {
    const { text, from } = selection ?? { text: sql, from: 0 };
    if (requests === null || away || busy || isBlankSql(text) || replica === '') return;
    setRun({ sql: text, from, replica, isMoved: false, outcome: null });
    const outcome = await requests.sql(replica, text);
    setRun({ sql: text, from, replica, isMoved: newest.current !== sql, outcome });
    if (outcome.ok) tablesMayHaveChanged(outcome.result);
    setHistory((current) => {
      const next = remember(current, {
        sql: text,
        replica,
        outcome: summaryOf(outcome),
        failed: !outcome.ok,
      });
      writeStored(historyKey, JSON.stringify(next));
      return next;
    });
  };
  const error = useMemo(() => errorPlace(run), [run]);

  return (
    <Panel
      title="SQL"
      className="sql-panel"
      actions={
        <>
          <ReplicaChoice
            label="Replica to ask"
            name="sql"
            ids={ids}
            leader={leader}
            value={replica}
            onChange={setChosen}
          />
          <HistoryMenu history={history} onPick={setSql} />
        </>
      }
    >
      <div className="sql-editor">
        <Suspense fallback={<pre className="mono sql-before">{sql}</pre>}>
          <SqlEditor
            value={sql}
            label={`SQL for ${replica}`}
            charsMax={statementMax}
            tables={tables}
            error={error}
            onChange={setSql}
            onSelect={setSelection}
            onRun={() => void execute()}
          />
        </Suspense>
        <div className="sql-bar">
          <span className="quiet">
            Ctrl+Enter runs it
            {wayOf(replica, isLeaderless ? replica : leader, silentKey.split(' ').includes(replica))}
          </span>
          <Button
            asksServer
            tone="primary"
            icon="play"
            disabled={busy || isBlankSql(sql)}
            data-testid="sql-run"
            onClick={() => void execute()}
          >
            {busy ? 'Running' : selection === null ? 'Run' : 'Run what is selected'}
          </Button>
        </div>
      </div>
      <div className="sql-examples" role="group" aria-label="Examples">
        {examples.map((example) => (
          <button key={example.name} type="button" className="chip" onClick={() => setSql(example.sql)}>
            {example.name}
          </button>
        ))}
      </div>
      <SqlResultView
        sql={run?.sql ?? ''}
        replica={run?.replica ?? ''}
        outcome={run?.outcome ?? null}
        busy={busy}
      />
    </Panel>
  );
});

/** What becomes of a statement behind the replica that is asked. */
function wayOf(replica: string, leader: string | null, isSilent: boolean): string {
  if (isSilent) return `; ${replica} does not answer now`;
  if (leader === null) return '; nobody leads, so it may be refused';
  return replica === leader ? '' : `; ${replica} passes it on to ${leader}`;
}

function summaryOf(outcome: SqlOutcome): string {
  return outcome.ok ? outcome.result.command : `${outcome.error.code} ${outcome.error.message}`;
}
