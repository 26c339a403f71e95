/**
 * XMLTABLE, JSON_TABLE and JSON_VALUE that read a date or a time out of a document: PostgreSQL's date and time types take `now` from it, too.
 *
 * Responsible for: documents that the statement writes as literals. What a column or a parameter holds, nobody can see here.
 */
import type { Refusal } from '../rewriting.ts';
import type { TreeNode, TreeValue } from '../parser.ts';
import { strings, type Visited, walk, word } from '../tree.ts';
import { clockTypes } from './relative-times.ts';

const clockWord = /(?<![A-Za-z0-9_])(?:now|today|tomorrow|yesterday)(?![A-Za-z0-9_])/i;

/** By the key where each keeps its document, and the types that it makes of it. */
const readers: ReadonlyMap<string, readonly [document: string, types: string]> = new Map([
  ['RangeTableFunc', ['docexpr', 'columns']],
  ['JsonTable', ['context_item', 'columns']],
  ['JsonFuncExpr', ['context_item', 'output']],
]);

export function documentRefusal({ kind, node }: Visited): Omit<Refusal, 'kind' | 'sqlstate'> | undefined {
  const keys = readers.get(kind);
  if (keys === undefined) return undefined;
  const [document, types] = keys;
  const type = clockTypeIn(node[types]);
  if (type === undefined) return undefined;
  const value = clockWordIn(node[document]);
  if (value === undefined) return undefined;
  return {
    message: `'${value}' in a document is relative to each replica's clock when converted to ${type}`,
    hint: 'Write the date and the time, or read it as text.',
    rule: "'now' as a date or time",
    position: Math.max(0, Number(node.location ?? 0)) + 1,
  };
}

function clockTypeIn(value: TreeValue | undefined): string | undefined {
  const open: TreeValue[] = value === undefined ? [] : [value].flat();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const wrapped = next as TreeNode;
    const node = (wrapped.RangeTableFuncCol ?? wrapped.JsonTableColumn ?? wrapped) as TreeNode;
    const name = strings((node.typeName as TreeNode | undefined)?.names).at(-1);
    if (name !== undefined && clockTypes.has(name)) return name;
    if (Array.isArray(node.columns)) open.push(...(node.columns as readonly TreeValue[]));
  }
  return undefined;
}

/** Such calls may stand within each other, and each is looked into: not further than this. */
const nodesMax = 200;

function clockWordIn(value: TreeValue | undefined): string | undefined {
  let found: string | undefined;
  let count = 0;
  walk('', { value }, ({ node, key }) => {
    count += 1;
    if (count > nodesMax) return false;
    found ??= key === 'sval' ? clockWord.exec(word(node, 'sval'))?.[0] : undefined;
    return found === undefined;
  });
  return found;
}
