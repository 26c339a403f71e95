/**
 * What is known of each type of a database with all types within it: whether its values have a binary format, and a state that changes with each change of its definition. Pure.
 *
 * The types come from the catalogs as a flat list, once for each look, and are put together here: a recursive query would go through the types within each type, which are as many as the square of those that a client has made.
 * Invariant: time and memory are linear in what the catalogs hold. Row types that no column has are not asked for.
 */
import { createHash } from 'node:crypto';
import { ownSql } from '../../../pgwire/own-sql.ts';

/** A row of the query. */
export interface TypeRow {
  readonly oid: string;
  /** Oids of the types within it, with blanks between them; 0 is none. */
  readonly within: string;
  readonly state: string;
  readonly isPseudo: boolean;
  readonly hasTextOnly: boolean;
  readonly hasNames: boolean;
}

/** A type with all types within it. */
export type TypeTraits = Omit<TypeRow, 'within'>;

export const hashSql = (...parts: readonly string[]): string =>
  `pg_catalog.hashtextextended(pg_catalog.concat_ws(' ', ${parts.join(', ')}), 0)`;

export const typesSql = ownSql(`WITH named (type) AS MATERIALIZED (
    SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attnum > 0 AND NOT a.attisdropped
    UNION SELECT t.typbasetype FROM pg_catalog.pg_type t
    UNION SELECT r.rngsubtype FROM pg_catalog.pg_range r
  ), used (type) AS MATERIALIZED (
    SELECT named.type FROM named
    UNION SELECT t.typelem FROM pg_catalog.pg_type t JOIN named ON named.type = t.oid
  ), wanted AS MATERIALIZED (
    SELECT t.oid, t.xmin AS version, t.typtype, t.typsend, t.typnamespace, t.typname, t.typbasetype, t.typelem, t.typrelid
    FROM pg_catalog.pg_type t LEFT JOIN used ON used.type = t.oid LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem
    WHERE used.type IS NOT NULL OR (t.typtype <> 'c' AND coalesce(e.typtype <> 'c', true))
  ), label AS MATERIALIZED (
    SELECT e.enumtypid, pg_catalog.sum(${hashSql('e.oid', 'e.xmin', 'e.enumlabel')}) AS state FROM pg_catalog.pg_enum e GROUP BY e.enumtypid
  ), field AS MATERIALIZED (
    SELECT a.attrelid, pg_catalog.sum(${hashSql('a.attnum', 'a.xmin', 'a.atttypid', 'a.attisdropped')}) AS state,
      pg_catalog.string_agg(a.atttypid::pg_catalog.text, ' ') FILTER (WHERE NOT a.attisdropped) AS within
    FROM wanted JOIN pg_catalog.pg_attribute a ON a.attrelid = wanted.typrelid WHERE a.attnum > 0 GROUP BY a.attrelid
  )
  SELECT wanted.oid::pg_catalog.text AS oid, pg_catalog.concat_ws(' ', wanted.typbasetype, wanted.typelem, r.rngsubtype, m.rngtypid, field.within) AS within,
    ${hashSql('wanted.oid', 'wanted.version', 'label.state', 'field.state')}::pg_catalog.text AS state,
    wanted.typtype = 'p' AS "isPseudo", wanted.typsend::pg_catalog.oid = 0 AS "hasTextOnly",
    wanted.typnamespace = 'pg_catalog'::pg_catalog.regnamespace AND (wanted.typname = 'aclitem' OR wanted.typname OPERATOR(pg_catalog.~~) 'reg%') AS "hasNames"
  FROM wanted LEFT JOIN label ON label.enumtypid = wanted.oid LEFT JOIN field ON field.attrelid = wanted.typrelid
    LEFT JOIN pg_catalog.pg_range r ON r.rngtypid = wanted.oid LEFT JOIN pg_catalog.pg_range m ON m.rngmultitypid = wanted.oid`);

/** From the types that hold no other to those that hold them. */
export function traitsOf(rows: readonly TypeRow[]): readonly TypeTraits[] {
  const byOid = new Map(rows.map((row) => [row.oid, row]));
  const within = new Map<string, readonly string[]>();
  const holders = new Map<string, string[]>();
  const waitsFor = new Map<string, number>();
  for (const { oid, within: text } of rows) {
    const inner = [...new Set(text.split(' '))].filter((each) => byOid.has(each));
    within.set(oid, inner);
    waitsFor.set(oid, inner.length);
    for (const each of inner) {
      const known = holders.get(each);
      if (known === undefined) holders.set(each, [oid]);
      else known.push(oid);
    }
  }
  const traits = new Map<string, TypeTraits>();
  const ready = rows.filter(({ oid }) => waitsFor.get(oid) === 0).map(({ oid }) => oid);
  // What becomes ready on the way is at its end.
  for (const oid of ready) {
    const inner = within.get(oid)!.map((each) => traits.get(each)!);
    traits.set(oid, together(byOid.get(oid)!, inner));
    for (const holder of holders.get(oid) ?? []) {
      const left = waitsFor.get(holder)! - 1;
      waitsFor.set(holder, left);
      if (left === 0) ready.push(holder);
    }
  }
  // PostgreSQL lets no type hold itself. If one does, what has a column of it is left out.
  return rows.map((row) => traits.get(row.oid) ?? { ...row, hasTextOnly: true, hasNames: true });
}

function together(
  { oid, state, isPseudo, hasTextOnly, hasNames }: TypeRow,
  inner: readonly TypeTraits[],
): TypeTraits {
  return {
    oid,
    state: inner.length === 0 ? state : digestOf([state, ...inner.map((each) => each.state)]),
    isPseudo: isPseudo || inner.some((each) => each.isPseudo),
    hasTextOnly: hasTextOnly || inner.some((each) => each.hasTextOnly),
    hasNames: hasNames || inner.some((each) => each.hasNames),
  };
}

/** The order of what a type holds changes with nothing but its own state. */
function digestOf([own, ...inner]: readonly string[]): string {
  return createHash('sha256')
    .update([own, ...inner.toSorted()].join(' '))
    .digest('hex')
    .slice(0, 32);
}

/** The parameters of relationsSql that tell of types: arrays of their oids, what is known of each, and states. */
export function traitParameters(traits: readonly TypeTraits[]): readonly (readonly unknown[])[] {
  return [
    traits.map(({ oid }) => oid),
    traits.map(({ isPseudo }) => isPseudo),
    traits.map(({ hasTextOnly }) => hasTextOnly),
    traits.map(({ hasNames }) => hasNames),
    traits.map(({ state }) => state),
  ];
}
