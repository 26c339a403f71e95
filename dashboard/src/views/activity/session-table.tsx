/** The sessions of a replica's clients: what each is at, what it waits for and for whom, how old its transaction is, and how to end it. */
import { useState } from 'react';
import type { Activity, EndSessionRequest, SessionActivity } from '../../../../server/src/api/activity.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { useRequests } from '../../components/run.tsx';
import { ageText } from '../../model/activity-text.ts';

interface SessionTableProps {
  readonly activity: Activity;
  readonly replica: string;
}

type Ending = EndSessionRequest & { readonly sql: string };

export function SessionTable({ activity, replica }: SessionTableProps) {
  const requests = useRequests();
  const [ending, setEnding] = useState<Ending | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const end = async ({ pid, how }: EndSessionRequest): Promise<void> => {
    const outcome = await requests?.endSession?.(replica, { pid, how });
    setProblem(outcome === undefined || outcome.ok ? null : outcome.error.message);
  };
  return (
    <>
      <p className="activity-note" role="status">
        {problem ??
          (activity.sessions.length === 0
            ? `No client has a session at the PostgreSQL of ${replica}, ${activity.database === 'standby' ? 'a standby: clients that write are at the leader’s' : 'the primary'}.`
            : `${activity.sessions.length} ${activity.sessions.length === 1 ? 'session' : 'sessions'} at the ${activity.database}; a commit waits at the gate until its WAL is chosen.`)}
      </p>
      {activity.sessions.length === 0 ? null : (
        <div className="activity-scroll" tabIndex={0} role="region" aria-label={`Sessions at ${replica}`}>
          <table className="activity-table num" data-testid="sessions">
            <thead>
              <tr>
                <th scope="col">Process</th>
                <th scope="col">User</th>
                <th scope="col">State</th>
                <th scope="col">Waits for</th>
                <th scope="col">Transaction</th>
                <th scope="col">Statement</th>
                <th scope="col">End</th>
              </tr>
            </thead>
            <tbody>
              {activity.sessions.map((session) => (
                <SessionRow
                  key={session.pid}
                  session={session}
                  onEnd={(how) => setEnding({ pid: session.pid, how, sql: session.sql })}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <ConfirmDialog
        isOpen={ending !== null}
        title={
          ending?.how === 'cancel'
            ? `Cancel what ${ending.pid} runs?`
            : `Terminate the session ${ending?.pid ?? ''}?`
        }
        confirm={ending?.how === 'cancel' ? 'Cancel the statement' : 'Terminate the session'}
        onClose={() => setEnding(null)}
        onConfirm={() => {
          if (ending !== null) void end(ending);
        }}
      >
        <p>
          {ending?.how === 'cancel'
            ? 'Its client is told 57014, and its transaction is aborted.'
            : 'Its client is told 57P01 and loses its connection; what it had not committed is gone.'}
        </p>
        <pre className="mono activity-sql">{ending?.sql}</pre>
      </ConfirmDialog>
    </>
  );
}

interface SessionRowProps {
  readonly session: SessionActivity;
  readonly onEnd: (how: EndSessionRequest['how']) => void;
}

function SessionRow({ session, onEnd }: SessionRowProps) {
  const { pid, user, database, application, state, wait, blockedBy, transactionMs, stateMs, sql } = session;
  return (
    <tr data-testid={`session-${pid}`} data-wait={wait?.kind ?? ''}>
      <th scope="row">{pid}</th>
      <td>
        {user}{' '}
        <span className="quiet">{[database, application].filter((word) => word !== '').join(' · ')}</span>
      </td>
      <td>
        {state} <span className="quiet">{ageText(stateMs)}</span>
      </td>
      <td>
        {wait === null ? (
          <span className="quiet">–</span>
        ) : (
          <span
            className="badge"
            data-tone={wait.kind === 'lock' ? 'bad' : wait.kind === 'gate' ? 'warn' : 'plain'}
          >
            {wait.kind === 'gate' ? 'gate' : wait.text}
          </span>
        )}
        {blockedBy.length === 0 ? null : <span className="quiet"> held by {blockedBy.join(', ')}</span>}
      </td>
      <td>{transactionMs === null ? <span className="quiet">–</span> : ageText(transactionMs)}</td>
      <td className="mono activity-statement" title={sql}>
        {sql.replace(/\s+/g, ' ')}
      </td>
      <td className="activity-ends">
        <Button asksServer aria-label={`Cancel what ${pid} runs`} onClick={() => onEnd('cancel')}>
          Cancel
        </Button>
        <Button
          asksServer
          tone="danger"
          aria-label={`Terminate the session ${pid}`}
          onClick={() => onEnd('terminate')}
        >
          Terminate
        </Button>
      </td>
    </tr>
  );
}
