/**
 * Whole rows of catalogs that have columns of one replica's own: `c::text` and `SELECT *` tell those columns without naming them. Sequences are another matter: nobody knows them by their names.
 *
 * Invariant: what is refused is a row that is told; `count(*)` and EXISTS (SELECT * ...) tell none.
 */
import { withoutComments } from '../../pgwire/comments.ts';
import type { TreeNode } from '../parser.ts';
import type { Refusal } from '../rewriting.ts';
import { nodesOf, strings, type Visited, word } from '../tree.ts';

/** Of catalogs and sequences: what they hold depends on when a replica has cleaned up, or has written a checkpoint. */
export const ownColumnNames =
  'log_cnt relfrozenxid relminmxid datfrozenxid datminmxid reltuples relpages relallvisible relallfrozen relfilenode'.split(
    ' ',
  );
export const ownColumns: ReadonlySet<string> = new Set(ownColumnNames);
const catalogs = /^pg_(?:class|database)$/;

const hasOwnColumns = (relation: TreeNode): boolean => {
  const [schema, name] = [word(relation, 'schemaname'), word(relation, 'relname')];
  return catalogs.test(name) && (schema === '' || schema === 'pg_catalog');
};

export class CatalogRows {
  /** By the name that stands for it. */
  private readonly relations = new Map<string, TreeNode>();
  /** Those that stand for a row of something, and stars; where each is. */
  private readonly rows = new Map<string, number>();
  private told: { readonly relation: TreeNode; readonly at: number } | null = null;

  visit({ kind, node, parent, key }: Visited): void {
    if (kind === 'RangeVar' || kind === 'relation') this.relation(node);
    else if (kind === 'ColumnRef') this.column(node);
    else if (kind === 'SelectStmt' && !isExists(parent, key)) this.star(node);
    else if (kind === 'JoinExpr') this.join(node);
  }

  private relation(node: TreeNode): void {
    if (!hasOwnColumns(node)) return;
    const alias = node.alias as TreeNode | undefined;
    this.relations.set(alias === undefined ? word(node, 'relname') : word(alias, 'aliasname'), node);
    // With names of its own for the columns.
    if (Array.isArray(alias?.colnames)) this.tell(node, Number(node.location ?? 0));
  }

  private column(node: TreeNode): void {
    const names = strings(node.fields);
    const name = names.at(-1);
    const isRow =
      nodesOf(node.fields, 'A_Star').length > 0 ||
      names.length === 1 ||
      (names.length === 2 && names[0] === 'pg_catalog');
    if (isRow && name !== undefined) this.rows.set(name, Number(node.location ?? 0));
  }

  /** A star by itself stands for what its own FROM names. */
  private star(node: TreeNode): void {
    const target = nodesOf(node.targetList, 'ResTarget').find(({ val }) =>
      isStar(val as TreeNode | undefined),
    );
    if (target === undefined) return;
    const found = tablesOf(node.fromClause).find(hasOwnColumns);
    if (found !== undefined) this.tell(found, Number(target.location ?? 0));
  }

  private join(node: TreeNode): void {
    if (!strings(node.usingClause).some((name) => ownColumns.has(name))) return;
    const found = tablesOf([{ JoinExpr: node }]).find(hasOwnColumns);
    if (found !== undefined) this.tell(found, Number(found.location ?? 0));
  }

  private tell(relation: TreeNode, at: number): void {
    this.told ??= { relation, at };
  }

  /** Behind the last visit; `isWrite`: the statement writes, or is kept. */
  refusal(isWrite: boolean): Omit<Refusal, 'kind' | 'sqlstate'> | undefined {
    if (!isWrite) return undefined;
    for (const [name, relation] of this.relations) {
      const at = this.rows.get(name);
      if (at !== undefined) this.tell(relation, at);
    }
    if (this.told === null) return undefined;
    return {
      message: `a whole row of ${word(this.told.relation, 'relname')} is replica-specific and cannot be used in a statement that writes`,
      hint: 'Name the columns.',
      rule: 'statistics views',
      position: this.told.at + 1,
    };
  }
}

function isExists(parent: Visited | undefined, key: string): boolean {
  return parent?.kind === 'SubLink' && key === 'subselect' && parent.node.subLinkType === 'EXISTS_SUBLINK';
}

function isStar(value: TreeNode | undefined): boolean {
  const column = value?.ColumnRef as TreeNode | undefined;
  return column !== undefined && strings(column.fields).length === 0;
}

/** Of a FROM, with those that are joined. */
function tablesOf(list: TreeNode[string] | undefined): TreeNode[] {
  const found: TreeNode[] = [];
  const open = Array.isArray(list) ? [...(list as readonly TreeNode[])] : [];
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    if (item.RangeVar !== undefined) found.push(item.RangeVar as TreeNode);
    const join = item.JoinExpr as TreeNode | undefined;
    for (const side of [join?.larg, join?.rarg]) if (side !== undefined) open.push(side as TreeNode);
  }
  return found;
}

const mention =
  /(?<![\w$'])"?(pg_(?:class|database))"?(?![\w$'])(?:\s{1,9}(?:as\s{1,9})?"?([a-z_][\w$]{0,62})"?)?/g;
const notAlias =
  /^(?:where|join|on|inner|left|right|full|cross|natural|group|order|limit|union|loop|into|having|using|offset|fetch|for|except|intersect|tablesample|then|and)$/;
/** With no column behind it. */
const unqualified = /(?<![\w$.'])"?([a-z_][\w$]{0,62})"?(?![\w$'])(?!\s{0,9}\.\s{0,9}["a-z_])/g;
const mentionsMax = 20;

/** The same of a text that is not parsed, statement by statement. Undefined: it tells none. */
export function catalogRowInText(text: string): string | undefined {
  const bare = withoutComments(text)
    .toLowerCase()
    .replaceAll(/\bexists\s{0,9}\(\s{0,9}select\s{0,9}\*/g, 'exists(select 1')
    .replaceAll(/\(\s{0,9}\*\s{0,9}\)/g, '()');
  if (!/pg_(?:class|database)/.test(bare)) return undefined;
  for (const statement of bare.split(';')) {
    const found = [...statement.matchAll(mention)];
    const [first] = found;
    if (first === undefined) continue;
    const told = `a whole row of ${first[1]!}`;
    if (found.length > mentionsMax || /(?:\bselect|\bdistinct|\ball|,)\s{0,9}\*/.test(statement)) return told;
    const names = new Set(
      found.map(({ 1: name, 2: alias }) => (alias === undefined || notAlias.test(alias) ? name! : alias)),
    );
    const rest = statement.replaceAll(mention, (whole, _name, alias: string | undefined) =>
      alias !== undefined && notAlias.test(alias) ? alias : ' '.repeat(Math.min(1, whole.length)),
    );
    if ([...rest.matchAll(unqualified)].some(({ 1: name }) => names.has(name!))) return told;
  }
  return undefined;
}
