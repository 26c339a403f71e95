/**
 * Reads one database as a snapshot shows it: a digest of each of its relations, or why there is none.
 *
 * Responsible for: the order of reading, and for noticing what must not be believed. What a relation comes to is believed only if neither it nor a type within it was altered, nor its files replaced, between the
 * snapshot and the end of reading: that is looked at afterwards, some relations at a time.
 * Invariants: a large relation is locked only while it is read, small ones a moment longer; an error of PostgreSQL's that has no harmless explanation is never taken for one.
 */
import type { Client } from 'pg';
import { type DigestObject, type SkippedObject, storedElsewhere } from '../../../ports/control.ts';
import { DigestError } from '../../../ports/digest.ts';
import { sqlStateOf } from '../database-error.ts';
import { exactName } from '../exact-name.ts';
import { isEnterTimeout } from '../pg-client.ts';
import { openCopySession, type CopiedRows, type CopySession } from './copy-session.ts';
import { type HeldSnapshot, isTimeLimit } from './held-snapshot.ts';
import {
  cancelStatement,
  endSession,
  keyOf,
  lockTimeoutMs,
  openReadingSession,
  type ReadingAddress,
  statementMsUsual,
} from './reading-session.ts';
import {
  elsewhereSql,
  hasDistributedSql,
  relationsSql,
  type ElsewhereRow,
  type RelationRow,
} from './relations-sql.ts';
import { traitParameters, traitsOf, type TypeRow, typesSql } from './type-traits.ts';

export interface DatabaseDigest {
  readonly objects: readonly DigestObject[];
  readonly skipped: readonly SkippedObject[];
}

export interface ReadDatabaseOptions {
  readonly address: ReadingAddress;
  readonly snapshot: HeldSnapshot;
  /** True in one database: what all of them share is read there. */
  readonly withShared: boolean;
  /** What is not read by then is left out. */
  readonly msMax: number;
  /** Databases whose locks keep sessions out, and who has them. */
  readonly locked: () => Promise<ReadonlyMap<string, string>>;
}

/** A relation that was read, or could not be, and was not looked at again yet. */
interface ReadRelation {
  readonly relation: RelationRow;
  readonly copied: CopiedRows | null;
  readonly error: Error | null;
}

/** Each look takes some tens of milliseconds, however many relations it is about, and longer where a database has many: then looks are rarer. */
const lookEveryMs = 1000;
const lookShare = 5;
const lookAfterRelations = 200;
const groupRelations = 50;
const groupPages = 256;

/** Why a database, or what is not read of it yet, is left out: something that a client can bring about. */
class LeftOut extends Error {
  override readonly name = 'LeftOut';
}

/** Without what could not be read in time: then the database is among what was skipped. @throws DigestError; Error if PostgreSQL goes away; the signal's reason */
export async function readDatabase(
  options: ReadDatabaseOptions,
  signal: AbortSignal,
): Promise<DatabaseDigest> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(options.msMax)]);
  const reading = new DatabaseReading(options, over);
  const cancel = (): void => void reading.cancel();
  over.addEventListener('abort', cancel, { once: true });
  try {
    await reading.run();
    return reading.digest();
  } catch (error) {
    signal.throwIfAborted();
    if (over.aborted) return reading.digest(`it was not read within ${Math.round(options.msMax / 1000)} s`);
    if (!(error instanceof LeftOut)) throw error;
    const holder = (await options.locked()).get(options.snapshot.database);
    return reading.digest(holder === undefined ? error.message : `${error.message}: ${holder}`);
  } finally {
    over.removeEventListener('abort', cancel);
    await reading.close();
  }
}

class DatabaseReading {
  private readonly options: ReadDatabaseOptions;
  /** Looks at the catalogs, as the snapshot shows them and as they are now. */
  private catalogs: Client | null = null;
  private readonly signal: AbortSignal;
  private copying: CopySession | null = null;
  private readonly objects: DigestObject[] = [];
  private readonly skipped: SkippedObject[] = [];
  private unsure: ReadRelation[] = [];

  constructor(options: ReadDatabaseOptions, signal: AbortSignal) {
    this.options = options;
    this.signal = signal;
  }

  async run(): Promise<void> {
    const { address, snapshot } = this.options;
    this.signal.throwIfAborted();
    this.catalogs = await entered(openReadingSession(address, snapshot.databaseBytes));
    let lookedAtMs = performance.now();
    let lookMs = 0;
    for (const together of inGroups(await this.relations())) {
      this.signal.throwIfAborted();
      this.unsure.push(...(await this.read(together)));
      const sinceMs = performance.now() - lookedAtMs;
      const isWanted = sinceMs > lookEveryMs || this.unsure.length >= lookAfterRelations;
      if (!isWanted || sinceMs < lookShare * lookMs) continue;
      const beganMs = performance.now();
      await this.lookAgain();
      lookedAtMs = performance.now();
      lookMs = lookedAtMs - beganMs;
    }
    await this.lookAgain();
  }

  /** `leftOut`: why the rest is not there. */
  digest(leftOut: string | null = null): DatabaseDigest {
    const { objects, skipped } = this;
    if (leftOut === null) return { objects, skipped };
    const { withShared, snapshot } = this.options;
    const places = withShared ? ['', snapshot.database] : [snapshot.database];
    const rest = places.map((database) => ({ database, name: '', reason: leftOut }));
    return { objects, skipped: [...skipped, ...rest] };
  }

  /** @throws LeftOut; whatever `pg` throws */
  private async ask<Row extends object>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]> {
    this.signal.throwIfAborted();
    try {
      return (await this.catalogs!.query<Row>(sql, values as unknown[])).rows;
    } catch (error) {
      const sqlState = sqlStateOf(error);
      const { statementMs = statementMsUsual } = this.options.address;
      if (sqlState === canceled)
        throw new LeftOut(`its catalogs could not be read within ${statementMs / 1000} s`);
      if (sqlState === lockNotAvailable) throw new LeftOut('somebody has its catalogs locked');
      throw error;
    }
  }

  /** All of them, or those with these oids, as the session sees them now. */
  private async described(oids: readonly string[] | null): Promise<readonly RelationRow[]> {
    const traits = traitsOf(await this.ask<TypeRow>(typesSql));
    return this.ask<RelationRow>(relationsSql, [oids, ...traitParameters(traits)]);
  }

  /** As the snapshot shows them. */
  private async relations(): Promise<readonly RelationRow[]> {
    const { withShared } = this.options;
    await this.ask(this.begin());
    const rows = await this.described(null);
    const elsewhere = await this.storedElsewhere();
    await this.ask('COMMIT');
    for (const { name } of elsewhere) this.skipped.push(this.skippedElsewhere(name));
    const isElsewhere = new Set(elsewhere.map(({ oid }) => oid));
    const here = rows.filter(({ oid, isShared }) => (withShared || !isShared) && !isElsewhere.has(oid));
    for (const relation of here) {
      if (relation.format === null) this.skip(relation, relation.reason);
      else if (relation.hasGenerated) this.skippedColumns(relation);
    }
    return here
      .filter(({ format }) => format !== null)
      .map((relation) => (relation.isMapped ? this.asItWas(relation) : relation));
  }

  /** Foreign tables, and the tables that Citus has distributed: reading them would ask other servers, and what these say is nothing of this database. */
  private async storedElsewhere(): Promise<readonly ElsewhereRow[]> {
    const [row] = await this.ask<{ is: boolean }>(hasDistributedSql);
    return this.ask<ElsewhereRow>(elsewhereSql(row!.is));
  }

  private skippedElsewhere(name: Buffer): SkippedObject {
    return { database: this.options.snapshot.database, name: exactName(name), reason: storedElsewhere };
  }

  private skippedColumns(relation: RelationRow): void {
    const name = `generated columns of ${nameOf(relation)}`;
    const reason = 'they can only be read by a SELECT, which would run code of clients';
    this.skipped.push({ database: this.databaseOf(relation), name, reason });
  }

  private asItWas(relation: RelationRow): RelationRow {
    return { ...relation, storage: this.options.snapshot.mappedStorage.get(relation.oid) ?? '' };
  }

  private begin(): string {
    const { id } = this.options.snapshot.current;
    return `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT '${id}'`;
  }

  /** Those that cannot be read together are read one by one. */
  private async read(together: readonly RelationRow[]): Promise<readonly ReadRelation[]> {
    const { address, snapshot } = this.options;
    this.copying ??= await entered(openCopySession(address, snapshot.databaseBytes));
    const statements = Buffer.concat([
      Buffer.from(this.begin()),
      ...together.flatMap(copyOf),
      Buffer.from('; COMMIT'),
    ]);
    try {
      this.signal.throwIfAborted();
      const copied = await this.copying.copy(statements);
      return together.map((relation, index) => ({ relation, copied: copied[index]!, error: null }));
    } catch (error) {
      // Whatever has become of the session, the next relation has a new one.
      this.copying?.close();
      this.copying = null;
      this.signal.throwIfAborted();
      if (together.length === 1) return [{ relation: together[0]!, copied: null, error: error as Error }];
    }
    const alone: ReadRelation[] = [];
    for (const relation of together) alone.push(...(await this.read([relation])));
    return alone;
  }

  /** Sorts what was read: as it was in the snapshot, altered since, or failed. */
  private async lookAgain(): Promise<void> {
    const { unsure } = this;
    this.unsure = [];
    if (unsure.length === 0) return;
    const rows = await this.described(unsure.map(({ relation }) => relation.oid));
    const now = new Map(rows.map((row) => [row.oid, row]));
    const hasFailed = unsure.some(({ error }) => error !== null);
    if (hasFailed && (await this.options.snapshot.isLost()))
      throw interrupted(this.options.snapshot.database);
    for (const read of unsure) {
      const { relation } = read;
      const is = now.get(relation.oid);
      const isSame = is !== undefined && is.state === relation.state && is.storage === relation.storage;
      if (!isSame) this.skip(relation, 'it was altered while it was compared');
      else if (read.copied !== null) this.add(relation, read.copied);
      else this.skip(relation, this.excuse(relation, read.error));
    }
  }

  /** Why a relation could not be read that is what it was in the snapshot. @throws DigestError if that is not harmless */
  private excuse(relation: RelationRow, error: Error | null): string {
    const sqlState = sqlStateOf(error);
    if (sqlState === lockNotAvailable)
      return `somebody had it locked for more than ${lockTimeoutMs / 1000} s`;
    if (sqlState !== null && standsInTheWay.has(sqlState)) return 'reading it stood in the way of replay';
    if (sqlState !== null && ofClients.test(sqlState)) return `its rows cannot be read: ${error?.message}`;
    const { database } = this.options.snapshot;
    if (sqlState === null) throw interrupted(database, error);
    const what = `${nameOf(relation)} of ${database} could not be read: ${error?.message} (SQLSTATE ${sqlState})`;
    throw new DigestError('unreadable', what, { cause: error });
  }

  private add(relation: RelationRow, { rows, digest }: CopiedRows): void {
    this.objects.push({
      database: this.databaseOf(relation),
      kind: 'table',
      name: nameOf(relation),
      rows,
      digest,
    });
  }

  private skip(relation: RelationRow, reason: string): void {
    this.skipped.push({ database: this.databaseOf(relation), name: nameOf(relation), reason });
  }

  private databaseOf({ isShared }: RelationRow): string {
    return isShared ? '' : this.options.snapshot.database;
  }

  /** What is under way is ended, so that nothing of it goes on for nobody. Never rejects. */
  async cancel(): Promise<void> {
    const { copying, catalogs } = this;
    const keys = [copying === null ? [] : copying.key, catalogs === null ? [] : keyOf(catalogs)].flat();
    await Promise.all(keys.map((key) => cancelStatement(this.options.address, key)));
    // A process may be stopped.
    await this.close();
  }

  async close(): Promise<void> {
    this.copying?.close();
    if (this.catalogs !== null) await endSession(this.catalogs);
  }
}

/** @throws LeftOut where the database lets nobody in now; Error if PostgreSQL is away */
async function entered<T>(session: Promise<T>): Promise<T> {
  try {
    return await session;
  } catch (error) {
    const sqlState = sqlStateOf(error);
    const isAway = sqlState === null ? !isEnterTimeout(error) : sqlState.startsWith('57P');
    if (isAway) throw error;
    const why = isTimeLimit(error) ? 'no session could begin there in time' : (error as Error).message;
    throw new LeftOut(why, { cause: error });
  }
}

/** Small relations are read in one go, for on each of them PostgreSQL and this process would wait for each other. */
function inGroups(relations: readonly RelationRow[]): readonly (readonly RelationRow[])[] {
  const groups: RelationRow[][] = [];
  let pages = Infinity;
  for (const relation of relations) {
    const group = groups.at(-1);
    pages += relation.pages;
    if (group !== undefined && pages <= groupPages && group.length < groupRelations) group.push(relation);
    else {
      groups.push([relation]);
      pages = relation.pages;
    }
  }
  return groups;
}

function copyOf({ source, format }: RelationRow): readonly Buffer[] {
  return [Buffer.from('; COPY '), source, Buffer.from(` TO STDOUT (FORMAT ${format})`)];
}

const lockNotAvailable = '55P03';
/** By a time limit, where it is not cancelled by us. */
const canceled = '57014';
/** What a standby ends a query with that its replay waits for. */
const standsInTheWay: ReadonlySet<string> = new Set(['40001', '40P01', '57014', '57P01']);
/** Values that no output function can deal with, rows of more than a gigabyte: a client can make such things. */
const ofClients = /^(?:22|42|54|0A)/;

function interrupted(database: string, cause?: unknown): DigestError {
  return new DigestError('interrupted', `the snapshot of ${database} was lost: compare again`, { cause });
}

/** The same on all replicas, whatever the database's encoding. */
export function nameOf({ name }: { readonly name: Buffer }): string {
  return exactName(name);
}
