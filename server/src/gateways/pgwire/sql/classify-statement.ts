/**
 * From PostgreSQL's own parse tree of a statement to how the gateway runs it.
 *
 * Invariant: whatever is not known to be harmless is `write`, which is right for everything. A wrong `read` is caught by
 * PostgreSQL (25006). A `bare` must never write rows, for nothing catches that: so the list is short and explicit.
 */
import { type StatementKind, writes } from './statement.ts';

/** A node of the tree: one key, the node's type, and its fields. Only what is looked at is typed. */
export type Node = Readonly<Record<string, unknown>>;

const read: StatementKind = { kind: 'read' };
const bare: StatementKind = { kind: 'bare' };

const refuse = (what: string, hint: string): StatementKind => ({
  kind: 'refused',
  error: { sqlState: '0A000', message: `${what} is not supported in a replicated database`, hint },
});

const operatorOnly =
  'It concerns one server, not the replicated data. The operator can do it on each replica.';
const withoutConcurrently = 'Use the same command without CONCURRENTLY.';
const rolesByOperator =
  'Roles belong to the server, not to the replicated database. The operator creates them on every replica.';

/** Objects that all databases of a server share, and that no event trigger sees. */
const sharedObjects: ReadonlySet<unknown> = new Set([
  'OBJECT_DATABASE',
  'OBJECT_ROLE',
  'OBJECT_TABLESPACE',
  'OBJECT_PARAMETER_ACL',
  'OBJECT_SUBSCRIPTION',
]);

export const nodeType = (node: Node): string => Object.keys(node)[0] ?? '';
const fieldsOf = (node: Node): Node => (Object.values(node)[0] ?? {}) as Node;

const optionIsOn = (options: unknown, name: string): boolean =>
  Array.isArray(options) &&
  options.some((option: Node) => {
    const element = option.DefElem as Node | undefined;
    if (element?.defname !== name) return false;
    if (element.arg === undefined) return true;
    const value = JSON.stringify(element.arg).toLowerCase();
    return !/"(false|off|no|0)"|"boolval":false|"boolean":\{\}|"ival":\{\}|"ival":0/.test(value);
  });

/** SELECT without INTO or FOR UPDATE/SHARE, at any branch of a UNION, and without a WITH that writes. */
const selectReads = (select: Node): boolean => {
  if (select.intoClause !== undefined || select.lockingClause !== undefined) return false;
  const withClause = select.withClause as { ctes?: readonly Node[] } | undefined;
  for (const cte of withClause?.ctes ?? []) {
    const inner = (cte.CommonTableExpr as Node | undefined)?.ctequery as Node | undefined;
    if (inner !== undefined && !queryReads(inner)) return false;
  }
  return [select.larg, select.rarg].every((branch) => branch === undefined || selectReads(branch as Node));
};

const queryReads = (query: Node): boolean => nodeType(query) === 'SelectStmt' && selectReads(fieldsOf(query));
const readOrWrite = (reads: boolean): StatementKind => (reads ? read : writes);

const transaction = (fields: Node): StatementKind => {
  switch (fields.kind) {
    case 'TRANS_STMT_BEGIN':
    case 'TRANS_STMT_START':
      return { kind: 'begin' };
    case 'TRANS_STMT_COMMIT':
      return { kind: 'commit', chain: fields.chain === true };
    case 'TRANS_STMT_ROLLBACK':
      return { kind: 'rollback', chain: fields.chain === true };
    case 'TRANS_STMT_SAVEPOINT':
    case 'TRANS_STMT_RELEASE':
    case 'TRANS_STMT_ROLLBACK_TO':
      return { kind: 'savepoint' };
    default:
      return refuse(
        'two-phase commit by clients',
        'Use COMMIT: it is already agreed on by a majority of replicas.',
      );
  }
};

const explain = (fields: Node): StatementKind => {
  const query = fields.query as Node;
  if (!optionIsOn(fields.options, 'analyze')) return read;
  return readOrWrite(queryReads(query));
};

const copy = (fields: Node): StatementKind => {
  if (fields.is_from === true) return writes;
  return readOrWrite(fields.query === undefined || queryReads(fields.query as Node));
};

const reindex = (fields: Node): StatementKind => {
  if (optionIsOn(fields.params, 'concurrently')) return refuse('REINDEX CONCURRENTLY', withoutConcurrently);
  const single = fields.kind === 'REINDEX_OBJECT_TABLE' || fields.kind === 'REINDEX_OBJECT_INDEX';
  return single ? writes : bare;
};

const alterTable = (fields: Node): StatementKind => {
  const detaches = JSON.stringify(fields.cmds ?? []).includes('"concurrent":true');
  return detaches ? refuse('DETACH PARTITION CONCURRENTLY', withoutConcurrently) : writes;
};

const unlessShared = (objectType: unknown, what: string): StatementKind =>
  sharedObjects.has(objectType) ? refuse(what, operatorOnly) : writes;

type Rule = (fields: Node) => StatementKind;

const rules: Readonly<Record<string, Rule>> = {
  SelectStmt: (fields) => readOrWrite(selectReads(fields)),
  VariableShowStmt: () => bare,
  VariableSetStmt: () => bare,
  ExplainStmt: explain,
  CopyStmt: copy,
  TransactionStmt: transaction,
  // A cursor outside a transaction: PostgreSQL refuses it, or, WITH HOLD, runs the whole query at COMMIT.
  DeclareCursorStmt: (fields) => (holds(fields) ? readOrWrite(queryReads(fields.query as Node)) : bare),
  FetchStmt: () => read,
  ClosePortalStmt: () => bare,
  PrepareStmt: () => bare,
  ExecuteStmt: (fields) => ({ kind: 'executePrepared', name: String(fields.name) }),
  DeallocateStmt: () => bare,
  DiscardStmt: () => bare,
  ListenStmt: () => bare,
  UnlistenStmt: () => bare,
  NotifyStmt: () => bare,
  LockStmt: () => bare,
  CheckPointStmt: () => bare,
  VacuumStmt: (fields) => (fields.is_vacuumcmd === true ? bare : writes),
  ClusterStmt: (fields) => (fields.relation === undefined ? bare : writes),
  ReindexStmt: reindex,
  LoadStmt: () => refuse('LOAD', operatorOnly),
  AlterSystemStmt: () => refuse('ALTER SYSTEM', operatorOnly),
  CreatedbStmt: () => refuse('CREATE DATABASE', operatorOnly),
  DropdbStmt: () => refuse('DROP DATABASE', operatorOnly),
  AlterDatabaseStmt: () => refuse('ALTER DATABASE', operatorOnly),
  AlterDatabaseSetStmt: () => refuse('ALTER DATABASE', operatorOnly),
  AlterDatabaseRefreshCollStmt: () => refuse('ALTER DATABASE', operatorOnly),
  CreateTableSpaceStmt: () => refuse('CREATE TABLESPACE', operatorOnly),
  DropTableSpaceStmt: () => refuse('DROP TABLESPACE', operatorOnly),
  AlterTableSpaceOptionsStmt: () => refuse('ALTER TABLESPACE', operatorOnly),
  AlterTableMoveAllStmt: () => refuse('moving objects between tablespaces', operatorOnly),
  CreateSubscriptionStmt: () => refuse('CREATE SUBSCRIPTION', 'Its workers would write past the agreement.'),
  AlterSubscriptionStmt: () => refuse('ALTER SUBSCRIPTION', 'Its workers would write past the agreement.'),
  DropSubscriptionStmt: () => refuse('DROP SUBSCRIPTION', operatorOnly),
  CreateRoleStmt: () => refuse('CREATE ROLE', rolesByOperator),
  AlterRoleStmt: () => refuse('ALTER ROLE', rolesByOperator),
  AlterRoleSetStmt: () => refuse('ALTER ROLE SET', rolesByOperator),
  DropRoleStmt: () => refuse('DROP ROLE', rolesByOperator),
  GrantRoleStmt: () => refuse('granting membership in a role', rolesByOperator),
  IndexStmt: (fields) =>
    fields.concurrent === true ? refuse('CREATE INDEX CONCURRENTLY', withoutConcurrently) : writes,
  DropStmt: (fields) =>
    fields.concurrent === true ? refuse('DROP INDEX CONCURRENTLY', withoutConcurrently) : writes,
  AlterTableStmt: alterTable,
  RenameStmt: (fields) => unlessShared(fields.renameType, 'renaming a shared object'),
  AlterOwnerStmt: (fields) => unlessShared(fields.objectType, 'changing the owner of a shared object'),
  CommentStmt: (fields) => unlessShared(fields.objtype, 'a comment on a shared object'),
  SecLabelStmt: (fields) => unlessShared(fields.objtype, 'a security label on a shared object'),
  GrantStmt: (fields) => unlessShared(fields.objtype, 'granting rights on a shared object'),
};

export const classify = (node: Node): StatementKind => rules[nodeType(node)]?.(fieldsOf(node)) ?? writes;

/** CURSOR_OPT_HOLD */
const holds = (fields: Node): boolean => (Number(fields.options ?? 0) & 0x0020) !== 0;

export const holdsCursor = (node: Node): boolean =>
  nodeType(node) === 'DeclareCursorStmt' && holds(fieldsOf(node));

export const isCopyIn = (node: Node): boolean => {
  if (nodeType(node) !== 'CopyStmt') return false;
  const fields = fieldsOf(node);
  return fields.is_from === true && fields.filename === undefined;
};

export const prepared = (node: Node): { readonly name: string; readonly run: StatementKind } | null => {
  if (nodeType(node) !== 'PrepareStmt') return null;
  const fields = fieldsOf(node);
  return { name: String(fields.name), run: classify(fields.query as Node) };
};
