/** What a slot holds: for WAL the transactions in it and what they changed, for an operation whose it is and its statements, else a sentence. */
import type {
  OperationContent,
  RangeContent,
  SlotContent,
  WalChange,
  WalTransaction,
} from '../../../server/src/api/wal-summary.ts';
import { formatBytes, formatCount } from '../model/format.ts';
import { describeCircumstances, describeOperation } from '../model/operation-text.ts';
import { statementKey } from '../model/running.ts';
import type { Running } from '../model/running.ts';
import {
  describeContent,
  describeCounts,
  describeCuts,
  describeEnd,
  describeFile,
  describeRows,
  joinStatements,
  plural,
  sortChanges,
} from '../model/slot-text.ts';
import './slot-content.css';

interface SlotContentProps {
  readonly content: SlotContent;
  readonly running: Running;
}

export function SlotContentView({ content, running }: SlotContentProps) {
  if (content.kind === 'operation') return <Operation content={content} />;
  if (content.kind !== 'range') {
    return (
      <p className="slot-sentence" data-testid="slot-content" data-kind={content.kind}>
        {describeContent(content)}
      </p>
    );
  }
  const cuts = describeCuts(content);
  return (
    <div className="slot-range" data-testid="slot-content" data-kind="range">
      <p className="slot-sentence num">
        <span className="mono">
          {content.start} – {content.end}
        </span>{' '}
        <span className="quiet">
          {formatBytes(content.bytes)} of WAL, timeline {content.timeline} · {describeCounts(content)}
        </span>
      </p>
      {content.fault === null ? null : (
        <p className="slot-fault" role="alert">
          These bytes are no WAL from {content.fault}
        </p>
      )}
      <Transactions content={content} running={running} />
      <Background content={content} />
      {cuts === null ? null : <p className="quiet">{cuts}</p>}
      <Operations content={content} />
    </div>
  );
}

function Operation({ content }: { readonly content: OperationContent }) {
  const { what, session, sql, bytes } = content;
  return (
    <div className="slot-range" data-testid="slot-content" data-kind="operation" data-what={what}>
      <p className="slot-sentence num">
        {describeOperation(what, session)}{' '}
        <span className="quiet">
          {describeCircumstances(content)} · {formatBytes(bytes)}
        </span>
      </p>
      {sql === null ? (
        <p className="quiet">Its statements are not told (http.statements).</p>
      ) : sql.length === 0 ? null : (
        <pre className="transaction-sql mono" data-testid="slot-sql" title="As every replica executes it">
          {joinStatements(sql)}
        </pre>
      )}
    </div>
  );
}

function Transactions({ content, running }: { readonly content: RangeContent; readonly running: Running }) {
  const { transactions, transactionsMore, leadership } = content;
  if (transactions.length === 0) return null;
  return (
    <ul className="transactions" data-testid="slot-transactions">
      {transactions.map((transaction) => (
        <Transaction
          key={transaction.xid}
          transaction={transaction}
          sql={running.statements.get(statementKey(leadership.replica, transaction.xid))}
        />
      ))}
      {transactionsMore > 0 ? (
        <li className="quiet">and {plural(transactionsMore, 'more transaction')}</li>
      ) : null}
    </ul>
  );
}

interface TransactionProps {
  readonly transaction: WalTransaction;
  readonly sql: readonly string[] | undefined;
}

function Transaction({ transaction, sql }: TransactionProps) {
  const { xid, ends, name, changes, changesMore, records, bytes } = transaction;
  return (
    <li className="transaction" data-ends={ends ?? 'goesOn'}>
      <span className="transaction-head">
        <span className="transaction-xid num" title={`${plural(records, 'record')}, ${formatBytes(bytes)}`}>
          {xid}
        </span>
        <span className="transaction-end">
          {describeEnd(ends)}
          {name === null ? null : <span className="quiet"> as {name}</span>}
        </span>
      </span>
      <Changes changes={changes} more={changesMore} />
      {sql === undefined ? null : (
        <pre
          className="transaction-sql mono"
          data-testid="slot-sql"
          title="What it ran, as far as it was seen: the leader was looked at now and then"
        >
          {joinStatements(sql)}
        </pre>
      )}
    </li>
  );
}

function Changes({ changes, more }: { readonly changes: readonly WalChange[]; readonly more: number }) {
  const { tables, rest } = sortChanges(changes, more);
  if (tables.length === 0 && rest === null) return <span className="changes quiet">nothing changed</span>;
  return (
    <span className="changes num">
      {tables.map((change) => (
        <span key={`${change.database} ${change.relation}`} className="change" title={fileTitle(change)}>
          <span className="mono">{describeFile(change)}</span> {describeRows(change)}
        </span>
      ))}
      {rest === null ? null : (
        <span className="change quiet">{tables.length > 0 ? `and ${rest}` : rest}</span>
      )}
    </span>
  );
}

function fileTitle({ relation, database, name }: WalChange): string {
  const file = `file ${relation} of database ${database}`;
  return name === null ? `${file}, which has been dropped or written anew since` : file;
}

/** Vacuum, hints, checkpoints. */
function Background({ content }: { readonly content: RangeContent }) {
  const { background, backgroundMore } = content;
  if (background.length === 0) return null;
  return (
    <p className="transaction" data-ends="none">
      <span className="transaction-head quiet">no transaction</span>
      <Changes changes={background} more={backgroundMore} />
    </p>
  );
}

function Operations({ content }: { readonly content: RangeContent }) {
  const { operations, operationsMore } = content;
  if (operations.length === 0) return null;
  return (
    <details className="operations">
      <summary>Records by kind</summary>
      <table className="num">
        <thead>
          <tr>
            <th scope="col">Resource manager</th>
            <th scope="col">Operation</th>
            <th scope="col">Records</th>
            <th scope="col">Bytes</th>
          </tr>
        </thead>
        <tbody>
          {operations.map(({ manager, operation, records, bytes }) => (
            <tr key={`${manager} ${operation}`}>
              <td>{manager}</td>
              <td className="mono">{operation}</td>
              <td>{formatCount(records)}</td>
              <td>{formatCount(bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {operationsMore > 0 ? <p className="quiet">and {plural(operationsMore, 'more kind')}</p> : null}
    </details>
  );
}
