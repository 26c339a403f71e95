/**
 * Gathers the effects of many transactions and writes them as few statements as their meaning allows.
 *
 * Effects on rows of different tables commute, since on a replica no trigger, rule or foreign key looks at them; so between two
 * statements of DDL or TRUNCATE each table's rows are netted and written once. Two ways:
 * - `net`: in memory, bounded; what is too much is written in between.
 * - `staged`: through a temporary table of PostgreSQL, for a transaction whose effects, written in between, met rows that are
 *   not there yet or still there (a unique key handed from row to row in one large UPDATE).
 */
import type { CommittedRequest, Effect } from '../../apply/effects.ts';
import type { Slot } from '../../multipaxos/types.ts';
import type { ApplySession } from './apply-session.ts';
import { createRowNetting } from './net-rows.ts';
import type { RowEffect, RowNetting } from './net-rows.ts';
import type { RelationInfo } from './relation-info.ts';
import { arrayLiteral, canUpdate } from './row-statements.ts';

export type ApplyMode = 'net' | 'staged';

export interface EffectBuffer {
  add(effect: Effect): Promise<void>;
  /** The client's name for the transaction of `slot`. */
  addRequest(slot: Slot, request: CommittedRequest): Promise<void>;
  /** Writes what is gathered. */
  flush(): Promise<void>;
}

const bufferBytesMax = 16 * 1_024 * 1_024;

export function createEffectBuffer(session: ApplySession, mode: ApplyMode): EffectBuffer {
  return new SessionBuffer(session, mode === 'net' ? new NetRowsSink(session) : new StagedRowsSink(session));
}

type Position = Extract<Effect, { kind: 'sequence' }>;

interface RowsSink {
  add(effect: RowEffect): Promise<void>;
  flush(): Promise<void>;
}

class SessionBuffer implements EffectBuffer {
  private readonly session: ApplySession;
  private readonly rows: RowsSink;
  private positions: Position[] = [];
  /** By which of its names each family of partitions was written since the last flush. */
  private names = new Map<number, string>();

  constructor(session: ApplySession, rows: RowsSink) {
    this.session = session;
    this.rows = rows;
  }

  async add(effect: Effect): Promise<void> {
    switch (effect.kind) {
      case 'insert':
      case 'update':
      case 'delete':
        await this.keepFamilyInOrder(effect.relation);
        return this.rows.add(effect);
      case 'sequence':
        this.positions.push(effect);
        return undefined;
      case 'truncate':
        await this.flush();
        return this.session.truncate(effect.relation);
      case 'ddl':
        await this.flush();
        return this.session.runDdl(effect);
    }
  }

  async addRequest(slot: Slot, { role, id, tag }: CommittedRequest): Promise<void> {
    await this.session.client.query('SELECT _barista.apply_request($1, $2, $3, $4)', [role, id, slot, tag]);
  }

  /** The same row can be written through a partition and through its parent: then the order of the two matters. */
  private async keepFamilyInOrder(name: string): Promise<void> {
    const { root } = await this.session.relation(name);
    const earlier = this.names.get(root);
    if (earlier !== undefined && earlier !== name) await this.flush();
    this.names.set(root, name);
  }

  async flush(): Promise<void> {
    await this.rows.flush();
    this.names = new Map();
    const positions = this.positions;
    this.positions = [];
    await this.session.setPositions(positions);
  }
}

function bytesOf(rows: readonly string[]): number {
  return rows.reduce((sum, row) => sum + row.length + 64, 0);
}

class NetRowsSink implements RowsSink {
  private readonly session: ApplySession;
  private tables = new Map<string, { readonly info: RelationInfo; readonly netting: RowNetting }>();
  private bytes = 0;

  constructor(session: ApplySession) {
    this.session = session;
  }

  async add(effect: RowEffect): Promise<void> {
    let table = this.tables.get(effect.relation);
    if (table === undefined) {
      const info = await this.session.relation(effect.relation);
      table = { info, netting: createRowNetting(canUpdate(info)) };
      this.tables.set(effect.relation, table);
    }
    table.netting.add(effect);
    this.bytes +=
      effect.kind === 'update' ? bytesOf(effect.before) + bytesOf(effect.after) : bytesOf(effect.rows);
    if (this.bytes > bufferBytesMax) await this.flush();
  }

  async flush(): Promise<void> {
    const tables = this.tables;
    this.tables = new Map();
    this.bytes = 0;
    for (const { info, netting } of tables.values()) await this.session.writeRows(info, netting.result());
  }
}

const stagedRowsMax = 1_000;

class StagedRowsSink implements RowsSink {
  private readonly session: ApplySession;
  private readonly relations = new Set<string>();
  private made = false;

  constructor(session: ApplySession) {
    this.session = session;
  }

  async add(effect: RowEffect): Promise<void> {
    const { client } = this.session;
    if (!this.made) {
      await client.query(
        'CREATE TEMPORARY TABLE IF NOT EXISTS barista_staged (relation text, step int, line text) ON COMMIT DROP',
      );
      this.made = true;
    }
    this.relations.add(effect.relation);
    const stage = (rows: readonly string[], step: number): Promise<unknown> =>
      client.query('INSERT INTO pg_temp.barista_staged SELECT $1, $2::int, unnest($3::text[])', [
        effect.relation,
        step,
        arrayLiteral(rows),
      ]);
    if (effect.kind === 'update') {
      await stage(effect.before, -1);
      await stage(effect.after, 1);
    } else await stage(effect.rows, effect.kind === 'insert' ? 1 : -1);
  }

  async flush(): Promise<void> {
    for (const relation of this.relations) {
      const info = await this.session.relation(relation);
      await this.writeNet(info, relation, -1);
      await this.writeNet(info, relation, 1);
    }
    if (this.made) await this.session.client.query('TRUNCATE pg_temp.barista_staged');
    this.relations.clear();
  }

  /** Those rows of which more went than came (step -1), or the other way round (1). */
  private async writeNet(info: RelationInfo, relation: string, step: -1 | 1): Promise<void> {
    const { client } = this.session;
    await client.query(
      `DECLARE barista_net CURSOR FOR SELECT line, abs(sum(step))::int AS times FROM pg_temp.barista_staged
        WHERE relation = $1 GROUP BY line HAVING sign(sum(step)) = $2`,
      [relation, step],
    );
    for (;;) {
      const fetched = await client.query<{ line: string; times: number }>(
        `FETCH ${stagedRowsMax} FROM barista_net`,
      );
      const rows = fetched.rows.flatMap(({ line, times }) => Array.from({ length: times }, () => line));
      if (rows.length === 0) break;
      const none = { removed: [], before: [], after: [], added: [] };
      await this.session.writeRows(info, step < 0 ? { ...none, removed: rows } : { ...none, added: rows });
    }
    await client.query('CLOSE barista_net');
  }
}
