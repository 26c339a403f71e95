/** What a text of SQL gave: of each statement its command tag and its rows, or PostgreSQL's error with its SQLSTATE and the place that it points at. */
import { lazy, Suspense, useState } from 'react';
import type { SqlError, SqlResult, StatementResult } from '../../../../server/src/api/sql.ts';
import { formatBytes, formatCount, formatMs } from '../../model/format.ts';
import { locate } from '../../model/sql-history.ts';
import type { SqlOutcome } from '../../run/requests.ts';

const ResultTable = lazy(() =>
  import('./result-table.tsx').then(({ ResultTable: component }) => ({ default: component })),
);

interface SqlResultViewProps {
  readonly sql: string;
  readonly replica: string;
  readonly outcome: SqlOutcome | null;
  readonly busy: boolean;
}

export function SqlResultView({ sql, replica, outcome, busy }: SqlResultViewProps) {
  const state = outcome === null ? (busy ? 'running' : 'idle') : outcome.ok ? 'ok' : 'error';
  return (
    <div className="sql-result" data-testid="sql-result" data-state={state}>
      {outcome === null ? (
        <p className="empty" role="status">
          {busy ? `Waiting for ${replica}…` : 'The result appears here.'}
        </p>
      ) : outcome.ok ? (
        <Results result={outcome.result} replica={replica} />
      ) : (
        <ErrorText error={outcome.error} sql={sql} replica={replica} />
      )}
    </div>
  );
}

/** The last statement's, until another is chosen; of another text it is another component. */
function Results({ result, replica }: { readonly result: SqlResult; readonly replica: string }) {
  const all: readonly StatementResult[] = [...result.earlier, result];
  const [chosen, setChosen] = useState<readonly [SqlResult, number]>([result, all.length - 1]);
  const index = chosen[0] === result ? chosen[1] : all.length - 1;
  const shown = all[index]!;
  return (
    <>
      {all.length === 1 ? null : (
        <div className="sql-statements" role="group" aria-label="Results of the statements">
          {all.map((one, at) => (
            <button
              // oxlint-disable-next-line react/no-array-index-key -- a statement has no identity but its place
              key={at}
              type="button"
              className="chip"
              aria-pressed={at === index}
              data-testid={`sql-statement-${at + 1}`}
              onClick={() => setChosen([result, at])}
            >
              <span className="quiet num">{at + 1}</span> {one.command === '' ? 'empty' : one.command}
            </button>
          ))}
        </div>
      )}
      <p className="sql-tag" role="status">
        <span className="dot" data-tone="good" aria-hidden="true" />
        <span className="mono" data-testid="sql-command">
          {shown.command}
        </span>
        <span className="quiet num">
          {formatMs(result.durationMs)} from {replica}
        </span>
        {shown.truncated ? (
          <span className="badge" data-tone="warn">
            first {formatCount(shown.rows.length)} rows
          </span>
        ) : null}
      </p>
      {result.rolledBack === undefined ? null : (
        <p className="quiet" data-testid="sql-rolled-back">
          The transaction was still open at the end, and was rolled back: each run has a session of its own.
          Add COMMIT to keep what it did.
        </p>
      )}
      {shown.binaryBytes === undefined ? null : (
        <p className="quiet" data-testid="sql-binary">
          {formatBytes(shown.binaryBytes)} were copied in the binary format, which is not shown. Copy as text
          or CSV to see the rows.
        </p>
      )}
      {shown.columns.length === 0 ? null : (
        <Suspense fallback={<p className="empty">Drawing the rows…</p>}>
          <ResultTable result={shown} />
        </Suspense>
      )}
    </>
  );
}

interface ErrorTextProps {
  readonly error: SqlError;
  readonly sql: string;
  readonly replica: string;
}

function ErrorText({ error, sql, replica }: ErrorTextProps) {
  const place = error.position === undefined ? null : locate(sql, error.position);
  return (
    <div className="sql-error" role="alert" data-testid="sql-error">
      <p>
        <span className="badge mono" data-tone="bad" data-testid="sql-sqlstate" title="SQLSTATE">
          {error.code}
        </span>
        <span className="quiet">from {replica}</span>
      </p>
      <p className="sql-error-message">ERROR: {error.message}</p>
      {place === null ? null : (
        <pre className="mono">
          LINE {place.line}: {place.text}
          {'\n'}
          {' '.repeat(`LINE ${place.line}: `.length + place.column)}^
        </pre>
      )}
      {error.detail === undefined ? null : <p>DETAIL: {error.detail}</p>}
      {error.hint === undefined ? null : <p>HINT: {error.hint}</p>}
    </div>
  );
}
