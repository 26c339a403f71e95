/**
 * What differs between replicas, in a text that is not parsed: the body of a function that is a string, names in a string that is put together to SQL.
 */
import { withoutComments } from '../../pgwire/comments.ts';
import { catalogRowInText, ownColumnNames } from './catalog-rows.ts';
import { clockNames } from './clocks.ts';
import {
  clockWords,
  maintaining,
  ownSettings,
  refusedFunctions,
  replaced,
  rulesOfExtensions,
  toldByOneReplica,
  viewsOfOneReplica,
} from './functions.ts';

const calls = [...replaced.keys(), ...refusedFunctions.keys(), `pg_(?:${toldByOneReplica})`, maintaining];
/** A name with another schema is a client's own. */
const builtIn = new RegExp(
  `(?<![A-Za-z0-9_$.])(?:pg_catalog\\s*\\.\\s*)?"?(?:${[
    ...calls,
    ...new Set(clockWords.values()),
    'tablesample|set_config|unlogged',
    'tomorrow|yesterday|today',
    `pg_(?:${viewsOfOneReplica})`,
    ...clockNames,
    'explain',
    'synchronize_seqscans|max_parallel_workers_per_gather|gin_fuzzy_search_limit|default_transaction_deferrable',
  ].join('|')})(?![A-Za-z0-9_$])`,
  'i',
);
/** Called as a field of what is no row: `(x).pg_sleep`. Of the others many a row has a column. */
const fields = new RegExp(
  `\\)\\s{0,9}\\.\\s{0,9}"?(?:${calls.filter((name) => name !== 'age' && name !== 'uuidv7').join('|')})(?![A-Za-z0-9_$])`,
  'i',
);
/** Columns stand behind a table, a row or nothing. */
const columns = new RegExp(
  `(?<![A-Za-z0-9_$])"?(?:ctid|xmin|xmax|cmin|cmax|tableoid|${ownColumnNames.join('|')})(?![A-Za-z0-9_$])`,
  'i',
);
/** Those of extensions stand in any schema. */
const ofExtensions = new RegExp(
  `(?<![A-Za-z0-9_$])(?<!\\bbarista_fn"?\\s{0,9}\\.\\s{0,9}"?)"?(?:${[...refusedFunctions]
    .filter(([, { rule }]) => rulesOfExtensions.has(rule))
    .map(([name]) => name)
    .join('|')}|gen_random_uuid)"?\\s{0,9}\\(`,
  'i',
);
/** Whose elements name the temporary schema; what they are compared with does not show it. */
const schemas =
  /(?<!\bany\s{0,9}\(\s{0,9}(?:pg_catalog\s{0,9}\.\s{0,9})?)(?<![A-Za-z0-9_$])current_schemas(?![A-Za-z0-9_$])/i;
const temporary = /(?<![A-Za-z0-9_$])pg_(?:toast_)?temp_\d+(?![A-Za-z0-9_$])/i;

const settings = new RegExp(
  `(?<![A-Za-z0-9_$])current_setting\\s{0,9}\\(\\s{0,9}'(?:${ownSettings.source.slice(1, -1)})'`,
  'i',
);

/** Undefined: it names nothing of the kind. */
export function namedInText(text: string): string | undefined {
  // A comment may stand within a name; and what looks like one may be text.
  const bare = withoutComments(text);
  for (const names of [builtIn, fields, columns, ofExtensions, schemas, temporary, settings]) {
    const found = names.exec(text) ?? names.exec(bare);
    if (found !== null)
      return found[0]
        .replace(/\($/, '')
        .replace(/^\)\s*\.\s*/, '')
        .trim();
  }
  return catalogRowInText(text);
}
