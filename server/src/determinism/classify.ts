/**
 * What a statement is for the executor: does it begin, end or divide a transaction, may it run in a block, does its text write anything.
 */
import type { ParsedStatement, TreeNode } from './parser.ts';
import { hasNode, nodesOf, word } from './tree.ts';
import type { StatementClass } from './rewriting.ts';

const transactionClasses: Readonly<Record<string, StatementClass>> = {
  TRANS_STMT_BEGIN: 'begin',
  TRANS_STMT_START: 'begin',
  TRANS_STMT_COMMIT: 'commit',
  TRANS_STMT_ROLLBACK: 'rollback',
  TRANS_STMT_SAVEPOINT: 'savepoint',
  TRANS_STMT_RELEASE: 'savepoint',
  TRANS_STMT_ROLLBACK_TO: 'savepoint',
};

const writing = ['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt'];

/** A SELECT that writes shows it: a WITH that inserts, INTO, or row locks (which have an xid). */
function isRead(node: TreeNode): boolean {
  return !hasNode(node, [...writing, 'IntoClause', 'LockingClause']) && !('intoClause' in node);
}

export function classOf({ kind, node }: ParsedStatement): StatementClass {
  if (kind === 'TransactionStmt') return transactionClasses[word(node, 'kind')] ?? 'other';
  if (kind === 'SelectStmt') return isRead(node) ? 'read' : 'other';
  if (kind === 'VariableShowStmt') return 'read';
  if (kind === 'ExplainStmt') return isRead(node) ? 'read' : 'other';
  return 'other';
}

/** Kinds that PostgreSQL refuses in a block, whatever they say. */
const neverInBlock = new Set([
  'CreatedbStmt',
  'DropdbStmt',
  'CreateTableSpaceStmt',
  'DropTableSpaceStmt',
  'AlterSystemStmt',
]);

/** Truth of an option that may be left without a value, as in VACUUM (ANALYZE). */
function isOn(option: TreeNode): boolean {
  const arg = option.arg as TreeNode | undefined;
  if (arg === undefined) return true;
  const text = JSON.stringify(arg);
  return !/"(?:false|off|0)"|"boolean":\{\}|"ival":\{\}/i.test(text);
}

function hasOption(node: TreeNode, key: string, name: string): boolean {
  return nodesOf(node[key], 'DefElem').some((option) => option.defname === name && isOn(option));
}

/** What PostgreSQL would refuse with 25001 in a block. */
export function runsInBlock({ kind, node }: ParsedStatement): boolean {
  if (neverInBlock.has(kind)) return false;
  if (kind === 'VacuumStmt') return node.is_vacuumcmd !== true;
  if (kind === 'IndexStmt' || kind === 'DropStmt') return node.concurrent !== true;
  if (kind === 'ReindexStmt')
    return (
      !hasOption(node, 'params', 'concurrently') &&
      !['REINDEX_OBJECT_SCHEMA', 'REINDEX_OBJECT_SYSTEM', 'REINDEX_OBJECT_DATABASE'].includes(
        word(node, 'kind'),
      )
    );
  if (kind === 'ClusterStmt') return node.relation !== undefined;
  if (kind === 'DiscardStmt') return node.target !== 'DISCARD_ALL';
  if (kind === 'AlterDatabaseStmt') return !JSON.stringify(node).includes('"tablespace"');
  if (kind === 'AlterTableStmt') return !JSON.stringify(node).includes('"concurrent":true');
  if (kind === 'TransactionStmt')
    return node.kind !== 'TRANS_STMT_COMMIT_PREPARED' && node.kind !== 'TRANS_STMT_ROLLBACK_PREPARED';
  return kind !== 'CreateSubscriptionStmt' && kind !== 'DropSubscriptionStmt';
}
