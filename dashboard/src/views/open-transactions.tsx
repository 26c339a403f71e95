/** The transactions that clients of the leader have open, which of their commits wait to be chosen, and apart from them those that ended a moment ago. */
import { memo } from 'react';
import { formatCount, formatMs } from '../model/format.ts';
import { Panel } from '../components/panel.tsx';
import type { RunningTransaction } from '../../../server/src/api/wal-summary.ts';
import { runningAt } from '../model/running.ts';
import type { ShownTransaction } from '../model/running.ts';
import { plural } from '../model/slot-text.ts';
import type { TraceModel } from '../model/trace-model.ts';
import './open-transactions.css';

interface OpenTransactionsProps {
  readonly trace: TraceModel;
  readonly leader: string | null;
}

export const OpenTransactions = memo(function OpenTransactions({ trace, leader }: OpenTransactionsProps) {
  const { shown, more } = runningAt(trace.running, leader, trace.lastAtUs);
  const open = shown.filter(({ isOpen }) => isOpen);
  const ended = shown.filter(({ isOpen }) => !isOpen);
  return (
    <Panel
      title="Transactions"
      className="open-panel"
      note={<span className="quiet">{leader === null ? 'no leader' : `at ${leader}, sampled`}</span>}
    >
      {leader === null ? (
        <p className="open-none quiet" data-testid="open-transactions" data-count={0}>
          Nobody leads, so nothing is open.
        </p>
      ) : (
        // It is scrolled by the keyboard where it is long.
        <div
          role="region"
          className="open-list"
          tabIndex={0}
          aria-label="Open, and ended a moment ago"
          data-testid="open-transactions"
          data-count={open.length}
        >
          <h3>
            Open <span className="num quiet">{formatCount(open.length + more)}</span>
          </h3>
          {open.length === 0 ? (
            <p className="quiet">None when last looked: most last for moments only.</p>
          ) : (
            <ul>
              {open.map((each) => (
                <OpenTransaction key={each.transaction.pid} shown={each} />
              ))}
              {more > 0 ? <li className="quiet open-more">and {plural(more, 'more transaction')}</li> : null}
            </ul>
          )}
          {ended.length === 0 ? null : (
            <>
              <h3>Ended in the last five seconds</h3>
              <ul>
                {ended.map((each) => (
                  <OpenTransaction key={each.transaction.pid} shown={each} />
                ))}
              </ul>
            </>
          )}
        </div>
      )}
    </Panel>
  );
});

type ShownState = RunningTransaction['state'] | 'ended';

const states: Readonly<Record<ShownState, string>> = {
  running: 'runs',
  waiting: 'waits to be chosen',
  idle: 'client is silent',
  ended: 'has ended',
};

function OpenTransaction({ shown: { transaction, isOpen } }: { readonly shown: ShownTransaction }) {
  const { pid, xid, user, database, sql, sinceMs } = transaction;
  const state = isOpen ? transaction.state : 'ended';
  return (
    <li className="open-row" data-state={state} title={`Process ${pid}, ${user} in ${database}`}>
      <span className="open-xid num">{xid ?? '–'}</span>
      <span className="open-state">
        <OpenMark state={state} />
        {states[state]}
      </span>
      <span className="open-since num quiet">{isOpen ? formatMs(sinceMs) : ''}</span>
      {sql === null ? (
        <span className="open-sql quiet">its statement is not told (http.statements)</span>
      ) : (
        <span className="open-sql mono">{sql}</span>
      )}
    </li>
  );
}

/** The shapes of the strips: what waits to be chosen is a ring, as an accepted slot is. */
function OpenMark({ state }: { readonly state: ShownState }) {
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
