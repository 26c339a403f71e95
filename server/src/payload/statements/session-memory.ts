/**
 * What is remembered of sessions in the database, so that a replica that was restarted opens them again as they were: a row ahead of each request, and one behind it that has its answer.
 *
 * Rows are only added, each with its slot: those above the pointer that a crash leaves are of no effect. They are written ahead of the next request, in transactions of the replica's own: so a request that is in the
 * database has its row there. Invariant: of each session the newest row at or below the pointer is there.
 */
import type { TransactionStatus } from '../../pgwire/message-types.ts';
import type { StatementDatabase, StatementLogin } from '../../ports/statement-database.ts';
import type { ClientSession } from './client-session.ts';
import type { SessionState } from './session-state.ts';

/** Longer answers are not kept over a restart. */
const keptBytesMax = 64 * 1024;

export interface RememberedSession {
  readonly id: string;
  readonly login: StatementLogin;
  readonly seq: number;
  /** Null: not known. */
  readonly last: { readonly answer: string; readonly status: TransactionStatus | 'closed' } | null;
  readonly state: SessionState;
  readonly customNames: readonly string[];
  /** It is in a block that has failed and holds nothing. */
  readonly isHollow: boolean;
  /** A request was under way that may change what is remembered. */
  readonly isUnsure: boolean;
  readonly isClosed: boolean;
}

export class SessionMemory {
  private readonly database: StatementDatabase;
  private position = 0;
  private waiting: { readonly slot: number; readonly session: number; readonly state: string }[] = [];

  constructor(database: StatementDatabase) {
    this.database = database;
  }

  /** Is in the database, if not durable, when it resolves. */
  async before(slot: number, session: ClientSession, seq: number, mayChangeState: boolean): Promise<void> {
    this.add(slot, session, { seq, last: null, isUnsure: mayChangeState || session.stateIsOld });
    await this.flush();
  }

  behind(slot: number, session: ClientSession): void {
    const { seq, last } = session;
    const kept =
      last === null || last.answer.length > keptBytesMax
        ? null
        : { answer: last.answer.toString('base64'), status: last.status };
    this.add(slot, session, { seq, last: kept, isUnsure: session.stateIsOld && session.status !== 'I' });
  }

  closed(slot: number, session: ClientSession): void {
    this.add(slot, session, { seq: session.seq, last: null, isUnsure: false, isClosed: true });
  }

  async flush(): Promise<void> {
    if (this.waiting.length === 0) return;
    const rows = this.waiting;
    this.waiting = [];
    await this.database.query(
      'INSERT INTO pg_barista.statement_session SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])',
      [
        rows.map(() => (this.position += 1)),
        rows.map(({ slot }) => slot),
        rows.map(({ session }) => session),
        rows.map(({ state }) => state),
      ],
    );
  }

  /** A statement begins that commits by itself. */
  async beginAlone(slot: number): Promise<void> {
    await this.database.query('INSERT INTO pg_barista.statement_alone VALUES ($1, false)', [slot]);
  }

  async endAlone(slot: number, step: number, open: number): Promise<void> {
    await this.database.query(
      `DELETE FROM pg_barista.statement_alone; INSERT INTO pg_barista.sqlpaxoslog VALUES (${slot}, ${step}, ${open})`,
    );
  }

  async isHalfDone(): Promise<boolean> {
    const rows = await this.database.query('SELECT FROM pg_barista.statement_alone WHERE NOT is_done');
    return rows.length > 0;
  }

  /** Of the sessions as they were at the pointer, by number. What is above it is forgotten. */
  async load(pointer: number): Promise<ReadonlyMap<number, RememberedSession>> {
    await this.database.query('DELETE FROM pg_barista.statement_session WHERE slot > $1', [pointer]);
    const rows = await this.database.query(
      `SELECT DISTINCT ON (session) session::text, state, (SELECT max(position) FROM pg_barista.statement_session)::text AS newest
       FROM pg_barista.statement_session ORDER BY session, position DESC`,
    );
    const found = new Map<number, RememberedSession>();
    for (const row of rows) {
      this.position = Number(row['newest']);
      const remembered = JSON.parse(String(row['state'])) as RememberedSession;
      if (!remembered.isClosed) found.set(Number(row['session']), remembered);
    }
    return found;
  }

  /** What has been superseded by rows that are durable. */
  async forget(durable: number): Promise<void> {
    await this.database.query(
      `DELETE FROM pg_barista.statement_session s USING (
         SELECT session, max(position) AS newest FROM pg_barista.statement_session WHERE slot <= $1 GROUP BY session
       ) n WHERE s.session = n.session AND (s.position < n.newest OR (s.position = n.newest AND s.state LIKE '%"isClosed":true}'))`,
      [durable],
    );
  }

  private add(
    slot: number,
    session: ClientSession,
    row: Pick<RememberedSession, 'seq' | 'last' | 'isUnsure'> & { readonly isClosed?: boolean },
  ): void {
    const { id, login, state, customNames, isHollow } = session;
    const all: RememberedSession = {
      id,
      login,
      seq: row.seq,
      last: row.last,
      state,
      customNames: [...customNames],
      isHollow,
      isUnsure: row.isUnsure,
      isClosed: row.isClosed ?? false,
    };
    this.waiting.push({ slot, session: session.number, state: JSON.stringify(all) });
  }
}
