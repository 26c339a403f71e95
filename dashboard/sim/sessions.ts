/** What the sessions of simulated clients are at, in words: the model of PostgreSQL knows no SQL. */
import type { RunningTransaction } from '../../server/src/api/wal-summary.ts';
import type { ModelClient } from '../../server/src/payload/wal/testing/model-client.ts';
import type { ModelPostgres } from '../../server/src/payload/wal/testing/model-postgres.ts';
import type { Transaction, Write } from '../../server/src/replica/testing/memory-client.ts';
import type { Sample } from '../../server/src/replica/status/transaction-sampler.ts';

const shownMax = 20;

interface KnownSession {
  readonly sql: string;
  readonly beganMs: number;
}

/** The same as the console understands (model-sql.ts). */
export function writeText({ key, value }: Write): string {
  return value === null
    ? `DROP TABLE ${key}`
    : `INSERT INTO ${key} VALUES ('${value.replaceAll("'", "''")}')`;
}

export class ClientSessions {
  private readonly known = new WeakMap<object, KnownSession>();
  private readonly nowMs: () => number;

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  /** Of a session that begins this transaction, as PostgreSQL has it. */
  note(postgres: ModelPostgres, { pid }: Pick<ModelClient, 'pid'>, { reads, writes }: Transaction): void {
    const session = postgres.run?.primary?.sessions.get(pid);
    const [write] = writes;
    const sql = write === undefined ? `SELECT * FROM ${reads.join(', ')}` : writeText(write);
    if (session !== undefined) this.known.set(session, { sql, beganMs: this.nowMs() });
  }

  /** @throws Error while PostgreSQL is away */
  look({ run }: ModelPostgres): Sample {
    if (run === null || run.primary === null) throw new Error('PostgreSQL is no primary');
    const open = [...run.primary.sessions.values()].filter(({ xid }) => xid !== null);
    const transactions = open.slice(0, shownMax).map((session): RunningTransaction => {
      const { sql = null, beganMs = this.nowMs() } = this.known.get(session) ?? {};
      return {
        pid: session.pid,
        xid: Number(BigInt.asUintN(32, session.xid!)),
        state: session.isWaiting ? 'waiting' : 'running',
        user: 'app',
        database: 'app',
        sql,
        sinceMs: Math.round(this.nowMs() - beganMs),
      };
    });
    return { transactions, more: open.length - transactions.length };
  }
}
