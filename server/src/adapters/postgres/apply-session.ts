/**
 * One connection that writes effects: set-based statements per table, sequences, truncations and DDL, inside a transaction
 * that its user begins and ends.
 *
 * The connection is the superuser's, with triggers and rules off (session_replication_role) and the settings pinned under which rows
 * were captured. Whatever may run a client's code, that is every DDL statement and the rows of tables with checks, domains
 * and the like, runs inside a SECURITY DEFINER function of the role concerned: there the role cannot be changed back.
 */
import type { Client } from 'pg';
import type { Effect } from '../../apply/effects.ts';
import { DatabaseError } from '../../ports/database.ts';
import type { NetRows } from './net-rows.ts';
import { connectPg, quoteIdentifier } from './pg-client.ts';
import type { PostgresServer } from './postgres-server.ts';
import { readRelation } from './relation-info.ts';
import type { RelationInfo } from './relation-info.ts';
import { arrayLiteral, rowStatement } from './row-statements.ts';
import type { RowStatementKind } from './row-statements.ts';
import { pinnedSettings } from './schema/capture.ts';

type Ddl = Extract<Effect, { kind: 'ddl' }>;
type Position = Extract<Effect, { kind: 'sequence' }>;

const rowsPerStatementMax = 2_000;
const bytesPerStatementMax = 8 * 1_024 * 1_024;

const settings: Readonly<Record<string, string>> = {
  ...pinnedSettings,
  session_replication_role: 'replica',
  synchronous_commit: 'off',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  // Rows are found by their key; what the statistics say of a table that is being filled is of no use.
  enable_seqscan: 'off',
  plan_cache_mode: 'force_generic_plan',
};

export interface ApplySession {
  readonly client: Client;
  relation(name: string): Promise<RelationInfo>;
  /** Deletions first, then updates, then insertions. @throws DatabaseError `applyFailed` if a row is not there */
  writeRows(info: RelationInfo, rows: NetRows): Promise<void>;
  truncate(name: string): Promise<void>;
  setPositions(positions: readonly Position[]): Promise<void>;
  runDdl(ddl: Ddl): Promise<void>;
  /** Tables may have changed in ways that this session has not seen. */
  forgetRelations(): void;
  /** So many prepared statements of tables as they were have gathered that a new session is due. */
  readonly worn: boolean;
}

const generationsMax = 200;

export async function openApplySession(server: PostgresServer): Promise<ApplySession> {
  const client = await connectPg({ socketDir: server.socketDir, database: server.database });
  for (const [name, value] of Object.entries(settings)) {
    await client.query('SELECT set_config($1, $2, false)', [name, value]);
  }
  return new PgApplySession(client);
}

class PgApplySession implements ApplySession {
  readonly client: Client;
  private relations = new Map<string, RelationInfo>();
  /** Part of the names of prepared statements: raised when tables change, so that no old one is used again. */
  private generation = 0;

  constructor(client: Client) {
    this.client = client;
  }

  async relation(name: string): Promise<RelationInfo> {
    const known = this.relations.get(name);
    if (known !== undefined) return known;
    const info = await readRelation(this.client, name);
    if (info === null) throw new DatabaseError('applyFailed', `there is no table ${name} on this replica`);
    this.relations.set(name, info);
    return info;
  }

  async writeRows(info: RelationInfo, rows: NetRows): Promise<void> {
    if (info.uncheckable.length === 0) return this.writeAll(info, rows);
    // Not enforced while these rows are written; the transaction puts the number back, or is rolled back as a whole.
    const kept = await this.client.query<{ oid: string; relchecks: number }>(
      'SELECT oid::int8::text AS oid, relchecks FROM pg_class WHERE oid = ANY ($1::int8[]::oid[])',
      [info.uncheckable],
    );
    const set = (oid: string, checks: number): Promise<unknown> =>
      this.client.query('UPDATE pg_class SET relchecks = $2 WHERE oid = $1::int8::oid', [oid, checks]);
    for (const { oid } of kept.rows) await set(oid, 0);
    await this.writeAll(info, rows);
    for (const { oid, relchecks } of kept.rows) await set(oid, relchecks);
    return undefined;
  }

  private async writeAll(info: RelationInfo, rows: NetRows): Promise<void> {
    for (const [from, to] of slices(rows.removed))
      await this.write(info, 'delete', rows.removed.slice(from, to));
    for (const [from, to] of slices(rows.before, rows.after)) {
      await this.write(info, 'update', rows.before.slice(from, to), rows.after.slice(from, to));
    }
    for (const [from, to] of slices(rows.added)) await this.write(info, 'insert', rows.added.slice(from, to));
  }

  private async write(
    info: RelationInfo,
    kind: RowStatementKind,
    rows: readonly string[],
    after: readonly string[] = [],
  ): Promise<void> {
    const literals = kind === 'update' ? [arrayLiteral(rows), arrayLiteral(after)] : [arrayLiteral(rows)];
    const count = info.runsClientCode
      ? await this.writeAsOwner(info, rowStatement(info, kind), literals)
      : (
          await this.client.query({
            name: `${kind}_${info.oid}_${this.generation}`,
            text: rowStatement(info, kind),
            values: literals,
          })
        ).rowCount;
    if (count === rows.length) return;
    throw new DatabaseError(
      'applyFailed',
      `${kind} of ${rows.length} rows of ${info.name} found ${count ?? 0}; the first is ${(rows[0] ?? '').slice(0, 200)}`,
    );
  }

  private async writeAsOwner(info: RelationInfo, sql: string, literals: readonly string[]): Promise<number> {
    const executor = await this.executor(info.owner);
    await this.setLocal('search_path', info.searchPath);
    const result = await this.client.query<{ count: string }>(`SELECT ${executor}($1, $2, $3) AS count`, [
      sql,
      literals[0] ?? null,
      literals[1] ?? null,
    ]);
    await this.setLocal('search_path', pinnedSettings.search_path);
    return Number(result.rows[0]?.count);
  }

  /** The referring tables were truncated in the same statement, or PostgreSQL would have refused it on the leader. */
  async truncate(name: string): Promise<void> {
    const info = await this.relation(name);
    await this.client.query(`TRUNCATE ${info.name} CASCADE`);
  }

  async setPositions(positions: readonly Position[]): Promise<void> {
    if (positions.length === 0) return;
    await this.client.query(
      'SELECT _barista.apply_positions($1::text[], $2::bigint[], $3::boolean[], $4::boolean[])',
      [
        positions.map((position) => position.relation),
        positions.map((position) => position.lastValue),
        positions.map((position) => position.isCalled),
        positions.map((position) => position.exact),
      ],
    );
  }

  async runDdl(ddl: Ddl): Promise<void> {
    const executor = await this.executor(ddl.role);
    const names = Object.keys(ddl.settings);
    for (const name of names) await this.setLocal(name, ddl.settings[name] ?? '');
    await this.client.query(`SELECT ${executor}($1, NULL, NULL)`, [ddl.sql]);
    for (const name of names) {
      const lower = name.toLowerCase();
      const value = settings[lower];
      if (value === undefined) await this.client.query(`SET LOCAL ${quoteIdentifier(lower)} TO DEFAULT`);
      else await this.setLocal(name, value);
    }
    this.forgetRelations();
  }

  private async setLocal(name: string, value: string): Promise<void> {
    await this.client.query('SELECT pg_catalog.set_config($1, $2, true)', [name, value]);
  }

  get worn(): boolean {
    return this.generation > generationsMax;
  }

  forgetRelations(): void {
    this.relations = new Map();
    this.generation += 1;
  }

  /**
   * Made each time, for a rollback takes it away. A function of this session's own that runs a statement as `role`, who cannot become anybody else while it runs.
   */
  private async executor(role: string): Promise<string> {
    const name = `pg_temp.${quoteIdentifier(`run_as_${role}`.slice(0, 63))}`;
    await this.client.query(`
      CREATE OR REPLACE FUNCTION ${name}(statement text, first text, second text) RETURNS bigint
      LANGUAGE plpgsql SECURITY DEFINER AS $run$
      DECLARE
        count bigint;
      BEGIN
        IF first IS NULL THEN EXECUTE statement;
        ELSIF second IS NULL THEN EXECUTE statement USING first;
        ELSE EXECUTE statement USING first, second;
        END IF;
        GET DIAGNOSTICS count = ROW_COUNT;
        RETURN count;
      END $run$`);
    await this.client.query(`ALTER FUNCTION ${name}(text, text, text) OWNER TO ${quoteIdentifier(role)}`);
    return name;
  }
}

/** Cuts lists of equal length so that no statement gets too many rows or bytes. */
function* slices(...lists: readonly (readonly string[])[]): Generator<readonly [number, number]> {
  const length = lists[0]?.length ?? 0;
  let from = 0;
  let bytes = 0;
  for (let i = 0; i < length; i += 1) {
    for (const list of lists) bytes += list[i]?.length ?? 0;
    if (i + 1 - from < rowsPerStatementMax && bytes < bytesPerStatementMax) continue;
    yield [from, i + 1];
    from = i + 1;
    bytes = 0;
  }
  if (from < length) yield [from, length];
}
