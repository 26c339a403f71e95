/** The statements that have taken most time at a replica since its PostgreSQL began, as pg_stat_statements counts them. */
import type { Activity } from '../../../../server/src/api/activity.ts';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { useRequests } from '../../components/run.tsx';
import { formatBytes, formatCount, formatMs } from '../../model/format.ts';

interface StatementTableProps {
  readonly told: Activity['statements'];
  readonly replica: string;
}

export function StatementTable({ told, replica }: StatementTableProps) {
  if (told.kind === 'untold') return <Untold told={told} replica={replica} />;
  const { statements } = told;
  if (statements.length === 0) return <p className="empty">No client has run a statement yet.</p>;
  const total = statements.reduce((sum, { totalMs }) => sum + totalMs, 0);
  return (
    <div className="activity-scroll" tabIndex={0} role="region" aria-label="Statements by total time">
      <table className="activity-table num" data-testid="statements">
        <thead>
          <tr>
            <th scope="col">Statement</th>
            <th scope="col">Total</th>
            <th scope="col">Share</th>
            <th scope="col">Calls</th>
            <th scope="col">Mean</th>
            <th scope="col">Longest</th>
            <th scope="col">Rows</th>
            <th scope="col">WAL</th>
          </tr>
        </thead>
        <tbody>
          {statements.map(({ sql, calls, totalMs, meanMs, maxMs, rows, walBytes }) => (
            <tr key={sql}>
              <th scope="row" className="mono activity-statement" title={sql}>
                {sql.replace(/\s+/g, ' ')}
              </th>
              <td>{formatMs(totalMs)}</td>
              <td>
                <meter min={0} max={total} value={totalMs} aria-label="Share of the time of these" />
              </td>
              <td>{formatCount(calls)}</td>
              <td>{formatMs(meanMs)}</td>
              <td>{formatMs(maxMs)}</td>
              <td>{formatCount(rows)}</td>
              <td>{formatBytes(walBytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface UntoldProps {
  readonly told: Extract<Activity['statements'], { readonly kind: 'untold' }>;
  readonly replica: string;
}

/** It is asked for by a person, for it writes; what comes of it is seen by the next look. */
function Untold({ told, replica }: UntoldProps) {
  const requests = useRequests();
  const [state, setState] = useState<{ readonly isAsked: boolean; readonly problem: string | null }>({
    isAsked: false,
    problem: null,
  });
  const count = async (): Promise<void> => {
    setState({ isAsked: true, problem: null });
    const outcome = await requests?.countStatements?.(replica);
    setState({ isAsked: false, problem: outcome?.ok === false ? outcome.error.message : null });
  };
  return (
    <div className="empty" data-testid="statements-untold">
      <p>{told.why}</p>
      {told.canCount ? (
        <Button
          asksServer
          disabled={state.isAsked}
          data-testid="statements-count"
          onClick={() => void count()}
        >
          Count statements
        </Button>
      ) : null}
      {state.problem === null ? null : <p role="status">{state.problem}</p>}
    </div>
  );
}
