/**
 * The queries by which two databases are compared: what is in a table, in whatever order, and how each object of the schema is defined.
 *
 * Every definition is text that does not depend on OIDs. Barista's own schema is left out, for it belongs to the replica. To be run under
 * `comparisonSettings`, as the superuser: then no client's code runs and no client's setting has a say. Only the row functions of tables are called, which
 * are PostgreSQL's own.
 */
import { pinnedSettings } from '../schema/capture.ts';

/** `n` is the namespace. */
const ownSchemas = `n.nspname NOT IN ('_barista', 'pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^pg_(toast_)?temp_'`;

export const comparisonSettings: Readonly<Record<string, string>> = {
  ...pinnedSettings,
  search_path: '',
  // Nobody is to wait for a comparison, nor it for a machine full of its own helpers.
  max_parallel_workers_per_gather: '0',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
};

/** Names of the tables with rows of their own, for use in a query. */
export const tablesSql = `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND ${ownSchemas} ORDER BY 1`;

/**
 * Rows, and the sums of two independent 64-bit hashes of each: a row more or less, or a value that changed places with another, changes the sums. One pass that
 * keeps nothing. `concat(x.*)` is the row's text without any cast, which a client could have made (see schema/capture.ts).
 */
export function tableDigestSql(table: string): string {
  return `SELECT count(*)::text AS rows, concat(sum(hashtextextended(t.r, 0)), '/', sum(hashtextextended(t.r, 7432))) AS digest
    FROM (SELECT concat(x.*) AS r FROM ONLY ${table} x OFFSET 0) t`;
}

const inSchemas = (catalog: string, alias: string, namespace: string, rest = ''): string =>
  `FROM ${catalog} ${alias} JOIN pg_namespace n ON n.oid = ${alias}.${namespace} ${rest} WHERE ${ownSchemas}`;
const ofRelations = (catalog: string, alias: string, relation: string): string =>
  `FROM ${catalog} ${alias} JOIN pg_class c ON c.oid = ${alias}.${relation} JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${ownSchemas}`;

/** Each yields the names of objects and their definitions. */
export const schemaQueries: readonly string[] = [
  `SELECT format('relation %s', c.oid::regclass) AS name, format('%s owner %s persistence %s options %s acl %s rls %s/%s identity %s partition %s of %s by %s',
     c.relkind, c.relowner::regrole, c.relpersistence, c.reloptions, c.relacl, c.relrowsecurity, c.relforcerowsecurity, c.relreplident,
     pg_get_expr(c.relpartbound, c.oid), (SELECT string_agg(i.inhparent::regclass::text, ',' ORDER BY i.inhseqno) FROM pg_inherits i WHERE i.inhrelid = c.oid),
     CASE WHEN c.relkind = 'p' THEN pg_get_partkeydef(c.oid) END) AS text
   ${inSchemas('pg_class', 'c', 'relnamespace')} AND c.relkind <> 't'`,
  `SELECT format('columns of %s', k.relation), string_agg(k.text, '; ' ORDER BY k.attnum) FROM (
     SELECT c.oid::regclass AS relation, a.attnum, format('%s %s notnull %s default %s identity %s generated %s collation %s acl %s storage %s compression %s statistics %s options %s',
       a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, a.attcollation::regcollation,
       a.attacl, a.attstorage, a.attcompression, coalesce(a.attstattarget, -1), a.attoptions) AS text
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'c', 'f') AND ${ownSchemas}) k GROUP BY k.relation`,
  `SELECT format('constraint %s on %s', quote_ident(c.conname), coalesce(nullif(c.conrelid, 0)::regclass::text, c.contypid::regtype::text)), pg_get_constraintdef(c.oid)
   ${inSchemas('pg_constraint', 'c', 'connamespace')}`,
  `SELECT format('index %s', i.indexrelid::regclass), format('%s valid %s identity %s clustered %s', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisreplident, i.indisclustered)
   ${ofRelations('pg_index', 'i', 'indexrelid')}`,
  `SELECT format('trigger %s on %s', quote_ident(t.tgname), t.tgrelid::regclass), format('%s enabled %s', pg_get_triggerdef(t.oid), t.tgenabled)
   ${ofRelations('pg_trigger', 't', 'tgrelid')} AND NOT t.tgisinternal`,
  `SELECT format('capture of %s', t.tgrelid::regclass), count(*)::text FROM pg_trigger t WHERE t.tgname LIKE '!barista\\_%' GROUP BY t.tgrelid`,
  `SELECT format('function %s', p.oid::regprocedure), format('owner %s acl %s: %s%s', p.proowner::regrole, p.proacl,
     CASE WHEN p.prokind IN ('f', 'p', 'w') THEN pg_get_functiondef(p.oid) END,
     (SELECT format('aggregate %s %s %s %s', g.aggtransfn, g.aggfinalfn, g.aggtranstype::regtype, g.agginitval) FROM pg_aggregate g WHERE g.aggfnoid = p.oid))
   ${inSchemas('pg_proc', 'p', 'pronamespace')}`,
  `SELECT format('view %s', c.oid::regclass), pg_get_viewdef(c.oid) ${inSchemas('pg_class', 'c', 'relnamespace')} AND c.relkind IN ('v', 'm')`,
  `SELECT format('rule %s on %s', quote_ident(r.rulename), r.ev_class::regclass), format('%s enabled %s', pg_get_ruledef(r.oid), r.ev_enabled)
   ${ofRelations('pg_rewrite', 'r', 'ev_class')}`,
  `SELECT format('type %s', t.oid::regtype), format('%s owner %s acl %s base %s notnull %s default %s labels %s', t.typtype, t.typowner::regrole, t.typacl,
     format_type(nullif(t.typbasetype, 0), t.typtypmod), t.typnotnull, t.typdefault,
     (SELECT string_agg(quote_literal(e.enumlabel), ',' ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid))
   ${inSchemas('pg_type', 't', 'typnamespace')}`,
  `SELECT format('policy %s on %s', quote_ident(p.polname), p.polrelid::regclass), format('%s permissive %s roles %s using %s check %s', p.polcmd, p.polpermissive,
     (SELECT string_agg(r::oid::regrole::text, ',' ORDER BY r::oid::regrole::text) FROM unnest(p.polroles) r), pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
   ${ofRelations('pg_policy', 'p', 'polrelid')}`,
  `SELECT format('sequence %s', s.seqrelid::regclass), format('%s start %s increment %s min %s max %s cache %s cycle %s', s.seqtypid::regtype, s.seqstart, s.seqincrement,
     s.seqmin, s.seqmax, s.seqcache, s.seqcycle) ${ofRelations('pg_sequence', 's', 'seqrelid')}`,
  `SELECT format('statistics %s', quote_ident(s.stxname)), pg_get_statisticsobjdef(s.oid) ${inSchemas('pg_statistic_ext', 's', 'stxnamespace')}`,
  `SELECT format('operator %s', o.oid::regoperator), format('owner %s code %s', o.oprowner::regrole, o.oprcode) ${inSchemas('pg_operator', 'o', 'oprnamespace')}`,
  `SELECT format('cast %s as %s', k.castsource::regtype, k.casttarget::regtype), format('%s %s %s', nullif(k.castfunc, 0)::regprocedure, k.castcontext, k.castmethod)
   FROM pg_cast k WHERE k.oid >= 16384`,
  `SELECT format('default rights of %s in %s for %s', d.defaclrole::regrole, nullif(d.defaclnamespace, 0)::regnamespace, d.defaclobjtype), d.defaclacl::text FROM pg_default_acl d`,
  `SELECT format('schema %s', quote_ident(n.nspname)), format('owner %s acl %s', n.nspowner::regrole, n.nspacl) FROM pg_namespace n WHERE ${ownSchemas}`,
  `SELECT format('comment on %s', pg_describe_object(d.classoid, d.objoid, d.objsubid)), d.description FROM pg_description d WHERE d.objoid >= 16384`,
  `SELECT format('extension %s', quote_ident(e.extname)), e.extversion FROM pg_extension e`,
];

/**
 * Where the sequences of clients stand, as far as it is agreed on: what is handed out beyond that is known to one replica alone. A transaction that was
 * prepared before it was chosen has its positions beside it until they are taken over (schema/sequences.ts).
 */
export const agreedPositionsSql = `
  SELECT DISTINCT ON (1) t.sequence::regclass::text AS name, concat(a.last_value, CASE WHEN a.is_called THEN ' called' END) AS digest
  FROM _barista.tracked_sequence t JOIN pg_sequence s ON s.seqrelid = t.sequence CROSS JOIN LATERAL (
    SELECT last_value, is_called FROM _barista.sequence_state(t.agreed)
    UNION ALL
    SELECT split_part(line, ' ', 2)::bigint, true
    FROM _barista.applied_transaction p CROSS JOIN LATERAL regexp_split_to_table(rtrim(p.positions, ';'), ';') line
    WHERE p.positions <> '' AND split_part(line, ' ', 1) = t.agreed::text) a
  ORDER BY 1, CASE WHEN s.seqincrement > 0 THEN a.last_value::numeric ELSE -a.last_value::numeric END DESC, a.is_called DESC`;

const versions = (catalog: string, alias: string, where: string): string =>
  `SELECT concat('${catalog} ', ${alias}.ctid, ' ', ${alias}.xmin) AS row ${where}`;

/**
 * One value that changes with every change of the schema, and with every TRUNCATE. The definitions above are partly those of the present moment, whatever the
 * snapshot, and a table that was truncated or rewritten meanwhile looks empty: so this must be the same in the snapshot and afterwards.
 */
export const schemaVersionSql = `SELECT sum(hashtextextended(v.row, 0))::text AS version FROM (${[
  // Not its version, for writing rows of some tables changes it for a moment (relchecks, see apply-session.ts).
  `SELECT concat('pg_class ', c.oid, ' ', c.relname, ' ', c.relnamespace, ' ', c.relfilenode, ' ', c.relnatts, ' ', c.relowner, ' ', c.relacl, ' ', c.reloptions,
     ' ', c.relkind, c.relpersistence, c.relreplident, c.relrowsecurity, c.relforcerowsecurity) AS row ${inSchemas('pg_class', 'c', 'relnamespace')}`,
  versions('pg_attribute', 'a', ofRelations('pg_attribute', 'a', 'attrelid')),
  versions('pg_attrdef', 'd', ofRelations('pg_attrdef', 'd', 'adrelid')),
  versions('pg_constraint', 'k', inSchemas('pg_constraint', 'k', 'connamespace')),
  versions('pg_index', 'i', ofRelations('pg_index', 'i', 'indexrelid')),
  versions('pg_trigger', 't', ofRelations('pg_trigger', 't', 'tgrelid')),
  versions('pg_rewrite', 'r', ofRelations('pg_rewrite', 'r', 'ev_class')),
  versions('pg_policy', 'p', ofRelations('pg_policy', 'p', 'polrelid')),
  versions('pg_inherits', 'h', ofRelations('pg_inherits', 'h', 'inhrelid')),
  versions('pg_sequence', 's', ofRelations('pg_sequence', 's', 'seqrelid')),
  versions('pg_proc', 'p', inSchemas('pg_proc', 'p', 'pronamespace')),
  versions('pg_type', 't', inSchemas('pg_type', 't', 'typnamespace')),
  versions('pg_namespace', 'n', `FROM pg_namespace n WHERE ${ownSchemas}`),
  versions('pg_enum', 'e', 'FROM pg_enum e'),
  versions('pg_description', 'd', 'FROM pg_description d WHERE d.objoid >= 16384'),
  versions('pg_default_acl', 'd', 'FROM pg_default_acl d'),
].join(' UNION ALL ')}) v`;
