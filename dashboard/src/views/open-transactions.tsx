/** The transactions that clients of the leader have open, and which of their commits wait to be chosen. */
import { formatMs } from '../components/format.ts';
import { Panel } from '../components/panel.tsx';
import type { RunningTransaction } from '../../../server/src/api/wal-summary.ts';
import { runningAt } from '../model/running.ts';
import { plural } from '../model/slot-text.ts';
import type { TraceModel } from '../model/trace-model.ts';
import './open-transactions.css';

interface OpenTransactionsProps {
  readonly trace: TraceModel;
  readonly leader: string | null;
}

export function OpenTransactions({ trace, leader }: OpenTransactionsProps) {
  const sample = runningAt(trace.running, leader, trace.lastAtUs);
  const transactions = sample?.transactions ?? [];
  const more = sample?.more ?? 0;
  return (
    <Panel
      title="Open transactions"
      className="open-panel"
      note={<span className="quiet">{leader === null ? 'no leader' : `at ${leader}, sampled`}</span>}
    >
      {transactions.length === 0 ? (
        <p className="open-none quiet" data-testid="open-transactions" data-count={0}>
          {leader === null ? 'Nobody leads, so nothing is open.' : 'None was open when last looked.'}
        </p>
      ) : (
        <ul
          className="open-list"
          tabIndex={0}
          aria-label="Open transactions, the oldest first"
          data-testid="open-transactions"
          data-count={transactions.length}
        >
          {transactions.map((transaction) => (
            <OpenTransaction key={transaction.pid} transaction={transaction} />
          ))}
          {more > 0 ? <li className="quiet open-more">and {plural(more, 'more transaction')}</li> : null}
        </ul>
      )}
    </Panel>
  );
}

const states: Readonly<Record<RunningTransaction['state'], string>> = {
  running: 'runs',
  waiting: 'waits to be chosen',
  idle: 'client is silent',
};

function OpenTransaction({ transaction }: { readonly transaction: RunningTransaction }) {
  const { pid, xid, state, user, database, sql, sinceMs } = transaction;
  return (
    <li className="open-row" data-state={state} title={`Process ${pid}, ${user} in ${database}`}>
      <span className="open-xid num">{xid ?? '–'}</span>
      <span className="open-state">
        <OpenMark state={state} />
        {states[state]}
      </span>
      <span className="open-since num quiet">{formatMs(sinceMs)}</span>
      {sql === null ? (
        <span className="open-sql quiet">its statement is not told (http.statements)</span>
      ) : (
        <span className="open-sql mono">{sql}</span>
      )}
    </li>
  );
}

/** The shapes of the strips: what waits to be chosen is a ring, as an accepted slot is. */
function OpenMark({ state }: { readonly state: RunningTransaction['state'] }) {
  return (
    <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
      {state === 'waiting' ? (
        <circle className="cell-accepted" cx="5" cy="5" r="3.5" />
      ) : (
        <circle
          className={state === 'running' ? 'open-runs' : 'cell-empty'}
          cx="5"
          cy="5"
          r={state === 'running' ? 3.5 : 2}
        />
      )}
    </svg>
  );
}
