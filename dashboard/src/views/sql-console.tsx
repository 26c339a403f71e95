/** SQL against any replica: several lines, a history, the result as a table, errors as PostgreSQL gives them. */
import { memo, useRef, useState } from 'react';
import type { KeyboardEvent } from 'react';
import { Button } from '../components/button.tsx';
import { readStored, writeStored } from '../components/hooks.ts';
import { Icon } from '../components/icon.tsx';
import { Panel } from '../components/panel.tsx';
import { useRequests } from '../components/run.tsx';
import { Segmented } from '../components/segmented.tsx';
import { useServerAway } from '../components/server-away.tsx';
import type { SqlOutcome } from '../run/requests.ts';
import { parseHistory, remember } from '../model/sql-history.ts';
import type { HistoryItem } from '../model/sql-history.ts';
import { SqlResultView } from './sql-result.tsx';
import './sql-console.css';

const historyKey = 'barista.sqlHistory';
const statementMax = 100_000;

/** A first tour: each is one statement, and harmless to run twice. */
const examples = [
  {
    name: 'Create a table',
    sql: `CREATE TABLE IF NOT EXISTS orders (
  id bigserial PRIMARY KEY,
  drink text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);`,
  },
  { name: 'Insert a row', sql: `INSERT INTO orders (drink) VALUES ('flat white');` },
  { name: 'Read it back', sql: 'SELECT * FROM orders ORDER BY id DESC LIMIT 20;' },
  {
    name: 'Insert a thousand',
    sql: `INSERT INTO orders (drink)\nSELECT 'espresso' FROM generate_series(1, 1000);`,
  },
] as const;

interface Run {
  readonly sql: string;
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
}

export const SqlConsole = memo(function SqlConsole({
  ids,
  leader,
  silentKey,
  isLeaderless,
}: SqlConsoleProps) {
  const [sql, setSql] = useState<string>(examples[0].sql);
  const [chosen, setChosen] = useState<string | null>(null);
  const [run, setRun] = useState<Run | null>(null);
  const [history, setHistory] = useState<readonly HistoryItem[]>(() => parseHistory(readStored(historyKey)));
  const replica = chosen ?? ids[0] ?? '';
  const away = useServerAway();
  const requests = useRequests();
  const busy = run !== null && run.outcome === null;

  const execute = async (): Promise<void> => {
    if (requests === null || away || busy || sql.trim() === '' || replica === '') return;
    setRun({ sql, replica, outcome: null });
    const outcome = await requests.sql(replica, sql);
    setRun({ sql, replica, outcome });
    setHistory((current) => {
      const next = remember(current, { sql, replica, outcome: summaryOf(outcome), failed: !outcome.ok });
      writeStored(historyKey, JSON.stringify(next));
      return next;
    });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return;
    event.preventDefault();
    void execute();
  };

  return (
    <Panel
      title="SQL"
      className="sql-panel"
      actions={
        <>
          <Segmented
            label="Replica to ask"
            choices={ids.map((id) => ({
              value: id,
              testId: `sql-replica-${id}`,
              label: (
                <>
                  <span className="mono">{id}</span>
                  {id === leader ? <Icon name="crown" /> : null}
                </>
              ),
            }))}
            value={replica}
            onChange={setChosen}
          />
          <HistoryMenu history={history} onPick={setSql} />
        </>
      }
    >
      <div className="sql-editor">
        <textarea
          className="mono"
          value={sql}
          rows={6}
          maxLength={statementMax}
          spellCheck={false}
          autoCapitalize="off"
          autoCorrect="off"
          aria-label={`SQL for ${replica}`}
          data-testid="sql-input"
          onChange={(event) => setSql(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <div className="sql-bar">
          <span className="quiet">
            Ctrl+Enter runs it
            {wayOf(replica, isLeaderless ? replica : leader, silentKey.split(' ').includes(replica))}
          </span>
          <Button
            asksServer
            tone="primary"
            icon="play"
            disabled={busy || sql.trim() === ''}
            data-testid="sql-run"
            onClick={() => void execute()}
          >
            {busy ? 'Running' : 'Run'}
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

interface HistoryMenuProps {
  readonly history: readonly HistoryItem[];
  readonly onPick: (sql: string) => void;
}

function HistoryMenu({ history, onPick }: HistoryMenuProps) {
  const details = useRef<HTMLDetailsElement>(null);
  const close = (): void => details.current?.removeAttribute('open');
  return (
    <details
      className="history"
      ref={details}
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) close();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') close();
      }}
    >
      <summary className="button" data-testid="sql-history">
        <Icon name="history" />
        History
      </summary>
      <ol className="history-list">
        {history.length === 0 ? <li className="empty">Nothing was run yet.</li> : null}
        {history.map((item, index) => (
          <li key={`${history.length - index} ${item.sql}`}>
            <button
              type="button"
              onClick={() => {
                onPick(item.sql);
                close();
              }}
            >
              <span className="mono history-sql">{item.sql.replace(/\s+/g, ' ')}</span>
              <span className="history-outcome" data-failed={item.failed}>
                <span className="mono">{item.replica}</span> {item.outcome}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </details>
  );
}
