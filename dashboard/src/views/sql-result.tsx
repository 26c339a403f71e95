/* oxlint-disable react/no-array-index-key -- columns and rows have no identity but their place; names may repeat */
/** What a statement gave: rows, a command tag, or PostgreSQL's error with its SQLSTATE and the place that it points at. */
import { formatCount, formatMs } from '../components/format.ts';
import type { SqlError, SqlOutcome, SqlResult } from '../run/requests.ts';
import { locate } from '../model/sql-history.ts';

interface SqlResultViewProps {
  readonly sql: string;
  readonly replica: string;
  readonly outcome: SqlOutcome | null;
  readonly busy: boolean;
}

export function SqlResultView({ sql, replica, outcome, busy }: SqlResultViewProps) {
  if (outcome === null) {
    return (
      <div
        className="sql-result"
        data-testid="sql-result"
        data-state={busy ? 'running' : 'idle'}
        aria-live="polite"
      >
        <p className="empty">{busy ? `Waiting for ${replica}…` : 'The result appears here.'}</p>
      </div>
    );
  }
  return (
    <div
      className="sql-result"
      data-testid="sql-result"
      data-state={outcome.ok ? 'ok' : 'error'}
      aria-live="polite"
    >
      {outcome.ok ? (
        <ResultTable result={outcome.result} replica={replica} />
      ) : (
        <ErrorText error={outcome.error} sql={sql} replica={replica} />
      )}
    </div>
  );
}

function ResultTable({ result, replica }: { readonly result: SqlResult; readonly replica: string }) {
  return (
    <>
      <p className="sql-tag">
        <span className="dot" data-tone="good" aria-hidden="true" />
        <span className="mono" data-testid="sql-command">
          {result.command}
        </span>
        <span className="quiet num">
          {formatMs(result.durationMs)} from {replica}
        </span>
        {result.truncated ? (
          <span className="badge" data-tone="warn">
            first {formatCount(result.rows.length)} rows
          </span>
        ) : null}
      </p>
      {result.columns.length === 0 ? null : (
        <div className="sql-table" tabIndex={0} role="region" aria-label="Rows">
          <table className="num">
            <thead>
              <tr>
                {result.columns.map((column, index) => (
                  <th key={index} scope="col">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {result.rows.map((row, index) => (
                <tr key={index}>
                  {row.map((value, column) => (
                    <td key={column}>{value === null ? <i className="quiet">null</i> : value}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
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
      {error.hint === undefined ? null : <p className="quiet">HINT: {error.hint}</p>}
    </div>
  );
}
