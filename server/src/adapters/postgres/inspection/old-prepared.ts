/**
 * Rolls back transactions that were prepared longer ago than an operator allows (`bounds.preparedTransactionMinutesMax`).
 *
 * Responsible for: looking at regular times at a replica that leads, and telling what was rolled back, or why something could not be. Age is by this machine's clock, since PREPARE TRANSACTION.
 * Invariants: whatever PostgreSQL is preparing, committing or rolling back stays (it refuses another session's word about it, as 55000); nobody is told of a rollback that is not chosen. The name of a transaction, and of its database, is bytes of a client's
 * choice.
 */
import type { Client } from 'pg';
import { ownSql } from '../../../pgwire/own-sql.ts';
import { sqlStateOf } from '../database-error.ts';
import { exactName } from '../exact-name.ts';
import { OwnSession } from '../own-session.ts';
import { answerMs, connectPg } from '../pg-client.ts';

const everyMsUsual = 5_000;
/** Of one look, the oldest. */
const atOnceMax = 1_000;
/** Another session has it in hand; it is gone. */
const leftAlone: ReadonlySet<string | null> = new Set(['55000', '42704']);

/** Of the lock table. */
const outOfMemory = '53200';

const oldSql = ownSql(`
  SELECT pg_catalog.textsend(gid) AS gid, pg_catalog.namesend(database) AS database,
    (extract(epoch FROM pg_catalog.clock_timestamp() - prepared) OPERATOR(pg_catalog.*) 1000)::pg_catalog.int8::pg_catalog.text AS ms
  FROM pg_catalog.pg_prepared_xacts
  WHERE extract(epoch FROM pg_catalog.clock_timestamp() - prepared) OPERATOR(pg_catalog.*) 1000 > $1::pg_catalog.int8
  ORDER BY prepared LIMIT ${atOnceMax}`);

interface Old {
  readonly gid: Buffer;
  readonly database: Buffer;
  readonly ms: string;
}

/** Names as people read them. */
export interface RolledBack {
  readonly gid: string;
  readonly database: string;
  readonly ageMs: number;
}

export interface PreparedAgeLimitOptions {
  readonly ageMsMax: number;
  /** Clients are served here, and so a rollback can be chosen. */
  readonly leads: () => boolean;
  /** As of the last look; null: there is none, or nothing is known. */
  readonly oldestMs: () => number | null;
  /** Does it, and has room in the lock table for that: what is too old may have filled it. */
  readonly withRoom: <T>(work: () => Promise<T>) => Promise<T>;
  readonly onRolledBack: (what: RolledBack) => void;
  /** Null: nothing is in the way any more. Told when it changes. */
  readonly onProblem: (problem: string | null) => void;
}

export class PreparedAgeLimit {
  private readonly place: { readonly socketDir: string };
  private readonly options: PreparedAgeLimitOptions;
  private readonly session: OwnSession;
  private readonly timer: NodeJS.Timeout;
  private count = 0;
  private trouble: string | null = null;
  private isBusy = false;

  constructor(
    place: { readonly socketDir: string },
    options: PreparedAgeLimitOptions,
    everyMs = everyMsUsual,
  ) {
    this.place = place;
    this.options = options;
    this.session = new OwnSession(place);
    this.timer = setInterval(() => void this.look(), everyMs).unref();
  }

  /** Since this replica was started. */
  get rolledBack(): number {
    return this.count;
  }

  /** Why what is too old is still there. */
  get problem(): string | null {
    return this.trouble;
  }

  /** Never rejects. One look at a time. */
  async look(): Promise<void> {
    const { leads, oldestMs, ageMsMax, withRoom } = this.options;
    if (this.isBusy || !leads()) return;
    if ((oldestMs() ?? 0) <= ageMsMax) return this.tell(null);
    this.isBusy = true;
    try {
      this.tell(await withRoom(() => this.rollBack()));
    } catch (error) {
      this.tell(messageOf(error));
    } finally {
      this.isBusy = false;
    }
  }

  stop(): void {
    clearInterval(this.timer);
    this.session.end();
  }

  private tell(problem: string | null): void {
    if (problem === this.trouble) return;
    this.trouble = problem;
    this.options.onProblem(problem);
  }

  /** What was in the way; null: nothing. @throws Error of PostgreSQL */
  private async rollBack(): Promise<string | null> {
    const client = await this.session.get();
    const { rows } = await client.query<Old>(oldSql, [String(this.options.ageMsMax)]);
    const names = new Map(rows.map(({ database }) => [exactName(database), database]));
    let problem: string | null = null;
    for (const database of names.values()) {
      const old = rows.filter((row) => row.database.equals(database));
      try {
        await this.within(database, old);
      } catch (error) {
        if (sqlStateOf(error) === outOfMemory) throw error;
        problem = `database "${exactName(database)}": ${messageOf(error)}`;
      }
    }
    return problem;
  }

  private async within(database: Buffer, old: readonly Old[]): Promise<void> {
    const { socketDir } = this.place;
    const client = await connectPg({ socketDir, database, silentMsMax: answerMs.thorough });
    try {
      for (const { gid, ms } of old) {
        if (!this.options.leads()) return;
        if (!(await rollBackOne(client, gid))) continue;
        this.count += 1;
        this.options.onRolledBack({ gid: exactName(gid), database: exactName(database), ageMs: Number(ms) });
      }
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** `client`: in the transaction's database. False: another session has it in hand, or had. @throws Error of PostgreSQL */
async function rollBackOne(client: Client, gid: Buffer): Promise<boolean> {
  try {
    await client.query(rollBackSql(gid));
    return true;
  } catch (error) {
    if (leftAlone.has(sqlStateOf(error))) return false;
    throw error;
  }
}

/** `gid`: in the encoding of the database in which it is said. */
function rollBackSql(gid: Buffer): string {
  return `ROLLBACK PREPARED E'${[...gid].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}'`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
