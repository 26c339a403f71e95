/**
 * The DigestSource port over a replica's own PostgreSQL: a snapshot of every database, read relation by relation.
 *
 * Compared is all that physical replication carries and a query can see: the tables and materialized views of all databases with their long values, large objects, all catalogs, those that databases share once.
 * Left out are unlogged and temporary tables, which no standby has; indexes, which hold what tables hold; prepared transactions, which a standby shows to nobody; and what relations-sql.ts leaves out. Where
 * sequences stand is compared among standbys: a primary's go on before anything is chosen.
 *
 * Responsible for: which databases are compared, and taking all snapshots at one moment. Memory stays small, however large the rows are.
 * Invariant: no code of a client's runs in these sessions (reading-session.ts, relations-sql.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import {
  type DataDigest,
  type DigestObject,
  sequencesName,
  type SkippedObject,
} from '../../../ports/control.ts';
import type { Slot } from '../../../multipaxos/types/names.ts';
import {
  type DigestSnapshot,
  type DigestSource,
  type PreparedDigest,
  type SnapshotView,
} from '../../../ports/digest.ts';
import { sqlStateOf } from '../database-error.ts';
import type { ListedDatabase } from '../databases.ts';
import { inMainDatabase, isEnterTimeout } from '../pg-client.ts';
import { HeldSnapshot, isTimeLimit, sequencesMs } from './held-snapshot.ts';
import { nameOf, readDatabase } from './read-database.ts';
import { lockTimeoutMs, type ReadingAddress, statementMsUsual } from './reading-session.ts';

/** Whoever was told that its commit is chosen needs a moment until it shows. */
const retakeMs = 1;
/** At whether a database is still locked. */
const lookAgainMs = 100;
/** Of one database, beyond the wait for its lock: a machine may be busy. */
const enterMsUsual = 10_000;
/** While commits wait. */
const enterMsHurried = 1000;
const dayMs = 86_400_000;

export interface DigestOptions {
  /** Each needs a session until it is read. Default: 10. */
  readonly databasesMax?: number;
  /** Of each statement that asks catalogs. Default: 60 s. */
  readonly statementMs?: number;
}

export function createDigestSource(
  { socketDir, version }: ReadingAddress,
  { databasesMax = 10, statementMs = statementMsUsual }: DigestOptions = {},
): DigestSource {
  const address = { socketDir, version, statementMs };
  return {
    async prepare() {
      const prepared = new Prepared(
        address,
        await inMainDatabase((name) => HeldSnapshot.open(address, { name, bytes: Buffer.from(name) })),
        databasesMax,
      );
      await prepared.connect();
      return prepared;
    },
  };
}

class Prepared implements PreparedDigest {
  private readonly address: ReadingAddress;
  private readonly main: HeldSnapshot;
  private readonly databasesMax: number;
  /** By the names of their databases; the main one among them. */
  private readonly held = new Map<string, HeldSnapshot>();
  /** Databases that let nobody in, or could not be reached, and why. */
  private readonly refused = new Map<string, string>();
  /** Those of them that cost time, and are not tried again: one database is not to cost the comparison of all others. */
  private readonly givenUp = new Map<string, string>();

  constructor(address: ReadingAddress, main: HeldSnapshot, databasesMax: number) {
    this.address = address;
    this.databasesMax = databasesMax;
    this.main = main;
    this.held.set(main.database, main);
  }

  /** Whatever changes until the snapshots are taken is made up for then. */
  async connect(): Promise<void> {
    try {
      await this.reach(this.inTurn(await this.main.databases(), 0), {
        waitMs: lockTimeoutMs,
        enterMsMax: enterMsUsual,
      });
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async open(
    slot: Slot,
    isMissing: (view: SnapshotView) => boolean,
    signal: AbortSignal,
  ): Promise<DigestSnapshot> {
    try {
      for (;;) {
        signal.throwIfAborted();
        const listed = await this.take(slot);
        signal.throwIfAborted();
        const views = [...this.held.values()].map(({ current }) => current.view);
        if (!views.some(isMissing)) return this.snapshot(listed, slot, views);
        await new Promise((resolve) => setTimeout(resolve, retakeMs));
      }
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  private async take(slot: Slot): Promise<readonly ListedDatabase[]> {
    await this.main.take();
    const listed = await this.main.databases();
    const wanted = this.inTurn(listed, slot);
    for (const [name, held] of this.held) {
      if (wanted.some((database) => database.name === name)) continue;
      this.held.delete(name);
      await held.close();
    }
    // Commits wait meanwhile.
    await this.reach(wanted, { waitMs: 0, enterMsMax: enterMsHurried });
    const others = [...this.held.values()].filter((held) => held !== this.main);
    await Promise.all(others.map((held) => this.takeOne(held)));
    return listed;
  }

  /** Somebody may have locked catalogs that the session has to look into again. */
  private async takeOne(held: HeldSnapshot): Promise<void> {
    try {
      await held.take();
    } catch (error) {
      if (!isTimeLimit(error)) throw error;
      this.held.delete(held.database);
      await this.giveUp(held.database, `its catalogs could not be read: ${(error as Error).message}`);
      await held.close();
    }
  }

  private async giveUp(name: string, reason: string): Promise<void> {
    const why = (await this.main.locked()).get(name) ?? reason;
    this.givenUp.set(name, why);
    this.refused.set(name, why);
  }

  /** The main database, and as many of the others as may be compared at once: drawn by the slot, so the same on all replicas, and others with each slot however far apart these are. */
  private inTurn(listed: readonly ListedDatabase[], slot: number): readonly ListedDatabase[] {
    if (listed.length <= this.databasesMax) return listed;
    const main = listed.filter(({ name }) => name === this.main.database);
    const others = listed.filter(({ name }) => name !== this.main.database);
    const lots = new Map(others.map(({ name }) => [name, crc32(`${slot} ${name}`)]));
    const drawn = others.toSorted((a, b) => lots.get(a.name)! - lots.get(b.name)!);
    return [...main, ...drawn.slice(0, this.databasesMax - 1)];
  }

  /** A database that is locked is waited for so long, and left out then. */
  private async reach(
    wanted: readonly ListedDatabase[],
    { waitMs, enterMsMax }: { readonly waitMs: number; readonly enterMsMax: number },
  ): Promise<void> {
    this.refused.clear();
    for (const [name, reason] of this.givenUp) this.refused.set(name, reason);
    let missing = wanted.filter(({ name }) => !this.held.has(name));
    for (const { name, isOpen, isBroken } of missing)
      if (!isOpen || isBroken) this.refused.set(name, 'it lets nobody in');
    missing = missing.filter(({ name }) => !this.refused.has(name));
    let locked: ReadonlyMap<string, string> = new Map();
    for (const until = performance.now() + waitMs; missing.length > 0; await sleep(lookAgainMs)) {
      locked = await this.main.locked();
      // A session that waited for the lock would stay in PostgreSQL when it is given up here.
      const open = missing.filter(({ name }) => !locked.has(name));
      await Promise.all(open.map((each) => this.reachOne(each, enterMsMax)));
      missing = missing.filter((each) => !open.includes(each));
      if (performance.now() >= until) break;
    }
    for (const { name } of missing) this.refused.set(name, locked.get(name)!);
  }

  private async reachOne(database: ListedDatabase, enterMsMax: number): Promise<void> {
    const { name } = database;
    try {
      this.held.set(name, await HeldSnapshot.open({ ...this.address, enterMsMax }, database));
    } catch (error) {
      // PostgreSQL says no: it was removed in this very moment, say, or there are too many sessions. Or it was locked in this very moment.
      if (isEnterTimeout(error) || isTimeLimit(error))
        await this.giveUp(name, `it could not be entered within ${enterMsMax} ms`);
      else if (sqlStateOf(error) === null) throw error;
      else this.refused.set(name, (error as Error).message);
    }
  }

  private snapshot(
    listed: readonly ListedDatabase[],
    slot: Slot,
    views: readonly SnapshotView[],
  ): DigestSnapshot {
    const skipped = listed
      .filter(({ name }) => !this.held.has(name))
      .map(({ name }) => ({
        database: name,
        name: '',
        reason:
          this.refused.get(name) ??
          `only ${this.databasesMax} databases are compared at once, drawn anew each time`,
      }));
    const isTemplate = new Map(listed.map((database) => [database.name, database.isTemplate]));
    // While a template is connected to, no database can be made from it. The largest has all the time that is left.
    const order = [...this.held.values()].toSorted(
      (a, b) => Number(isTemplate.get(b.database)) - Number(isTemplate.get(a.database)) || a.pages - b.pages,
    );
    return {
      views,
      digest: (signal, msMax = dayMs) => this.digest({ order, isTemplate, slot, skipped, msMax }, signal),
      close: () => this.close(),
    };
  }

  private async digest(
    { order, isTemplate, slot, skipped: skippedDatabases, msMax }: DigestOrder,
    signal: AbortSignal,
  ): Promise<DataDigest> {
    const objects: DigestObject[] = [];
    const skipped: SkippedObject[] = [...skippedDatabases];
    const untilMs = performance.now() + msMax;
    for (const snapshot of order) {
      signal.throwIfAborted();
      const withShared = snapshot === this.main;
      const leftMs = Math.max(1, untilMs - performance.now());
      // None takes the time of all others; where they come by size, one that needs more than half of the time leaves too little for the next in any case.
      const share = Math.ceil(snapshot === order.at(-1) ? leftMs : leftMs / 2);
      const locked = (): ReturnType<HeldSnapshot['locked']> => this.main.locked();
      const options = { address: this.address, snapshot, withShared, msMax: share, locked };
      const read = await readDatabase(options, signal);
      objects.push(...read.objects, ...sequencesOf(snapshot));
      skipped.push(...read.skipped);
      if (snapshot.current.sequences === 'late')
        skipped.push({ database: snapshot.database, name: sequencesName, reason: lateSequences });
      if (isTemplate.get(snapshot.database)) await snapshot.close();
    }
    return { slot, objects, skipped, hasSequences: this.main.current.isStandby };
  }

  async close(): Promise<void> {
    await Promise.all([...this.held.values()].map((held) => held.close()));
  }
}

/** What is read of a snapshot, and in which time. */
interface DigestOrder {
  readonly order: readonly HeldSnapshot[];
  readonly isTemplate: ReadonlyMap<string, boolean>;
  readonly slot: Slot;
  readonly skipped: readonly SkippedObject[];
  readonly msMax: number;
}

const lateSequences = `they could not be read within ${sequencesMs / 1000} s`;

function sequencesOf({ database, current: { sequences } }: HeldSnapshot): DigestObject[] {
  if (sequences === null || sequences === 'late') return [];
  return sequences.map((sequence) => ({
    database,
    kind: 'sequence' as const,
    name: nameOf(sequence),
    rows: 0,
    digest: sequence.value,
  }));
}
