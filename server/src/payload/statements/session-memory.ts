/**
 * What is remembered of sessions in the database, so that a replica that was restarted opens them again as they were.
 *
 * Each request changes the session's seq and its last answer, few change more. So seqs travel with the pointer, in the transaction of whoever moves it; rows, which have all, are written now and then, and ahead of what may move
 * the pointer where a session has changed otherwise. Rows are only added, each with its slot: those above the pointer that a crash leaves are of no effect.
 * Invariants: of each session the newest row at or below the pointer is there, but for seqs, which are with pointers, and for answers, which may be forgotten (not so which calls are known); few seqs travel.
 */
import type { TransactionStatus } from '../../pgwire/message-types.ts';
import type { StatementDatabase, StatementLogin } from '../../ports/statement-database.ts';
import { type CallsRow, namesOf, withoutAnswers } from './call-memory.ts';
import type { ClientSession } from './client-session.ts';
import type { GivenSettings } from './login-settings.ts';
import { decodeOperation, encodeOperation, type RequestOperation } from './operation.ts';
import type { SessionState } from './session-state.ts';
import { ownSql } from '../../pgwire/own-sql.ts';

/** Longer answers are not kept over a restart. */
const keptBytesMax = 64 * 1024;

export interface RememberedSession {
  readonly id: string;
  readonly login: StatementLogin;
  /** Left out, as `identity`: by a version that did not note it. */
  readonly given?: GivenSettings;
  readonly identity?: string;
  readonly seq: number;
  /** Null: not known. */
  readonly last: { readonly answer: string; readonly status: TransactionStatus | 'closed' } | null;
  readonly calls?: CallsRow | undefined;
  readonly state: SessionState;
  readonly customNames: readonly string[];
  /** It is in a block that has failed and holds nothing. */
  readonly isHollow: boolean;
  /** A request was under way that may change what is remembered. */
  readonly isUnsure: boolean;
  readonly isClosed: boolean;
}

/** With a pointer; a row is written for each when there are more. */
const seqsMax = 32;

interface Row {
  readonly slot: number;
  readonly step: number;
  readonly number: number;
  readonly remembered: Omit<RememberedSession, 'last'>;
  /** Not yet as it is written: most are superseded before. */
  readonly last: ClientSession['last'];
}

export class SessionMemory {
  private readonly database: StatementDatabase;
  private position = 0;
  /** The newest of each session that are not in the database. */
  private readonly waiting = new Map<number, Row>();
  /** The newest of each session that are, without their answers. */
  private readonly written = new Map<number, Row['remembered']>();
  private mustWrite = false;
  /** Where the executor stands: what it writes down is so from there on. */
  private slot = 0;
  private step = 0;
  /** Requests that are held back may be written down. */
  private hasHeld = true;

  constructor(database: StatementDatabase) {
    this.database = database;
  }

  /** Ahead of a request that may move the pointer. What must be in the database then is there, if not durable. */
  async before(): Promise<void> {
    if (this.mustWrite || this.waiting.size >= seqsMax) await this.flush();
  }

  /** Ahead of a request that may change more than its session's seq, or of which a crash may leave a part. */
  async beforeChange(session: ClientSession, seq: number, isUnsure: boolean): Promise<void> {
    this.add(session, { seq, last: null, isUnsure });
    await this.flush();
  }

  /** Requests of one slot, and those of earlier ones that go on there, are told apart by steps, as pointers are. */
  standsAt(slot: number, step: number): void {
    this.slot = slot;
    this.step = step;
  }

  behind(session: ClientSession): void {
    const { seq, last } = session;
    this.add(session, { seq, last, isUnsure: session.stateIsOld && session.status !== 'I' });
  }

  closed(session: ClientSession): void {
    this.add(session, { seq: session.seq, last: null, isUnsure: false, isClosed: true });
  }

  /** One that could not be opened again. */
  closedUnopened(number: number, remembered: RememberedSession): void {
    this.waiting.set(number, {
      slot: this.slot,
      step: this.step,
      number,
      remembered: { ...remembered, isClosed: true },
      last: null,
    });
    this.mustWrite = true;
  }

  /** What is to travel with the pointer that this request moves. */
  seqs(session: ClientSession, seq: number): string {
    const others = [...this.waiting.values()].filter(({ number }) => number !== session.number);
    return [
      ...others.map(({ number, remembered }) => `${number}:${remembered.seq}`),
      `${session.number}:${seq}`,
    ].join(' ');
  }

  async flush(): Promise<void> {
    if (this.waiting.size === 0) return;
    const rows = [...this.waiting.values()];
    this.waiting.clear();
    this.mustWrite = false;
    await this.database.query(
      `INSERT INTO pg_barista.statement_session (position, slot, session, state, step)
       SELECT * FROM ROWS FROM (pg_catalog.unnest($1::bigint[]), pg_catalog.unnest($2::bigint[]), pg_catalog.unnest($3::bigint[]), pg_catalog.unnest($4::pg_catalog.text[]), pg_catalog.unnest($5::int[])) AS u`,
      [
        rows.map(() => (this.position += 1)),
        rows.map(({ slot }) => slot),
        rows.map(({ number }) => number),
        rows.map(({ remembered, last }) => JSON.stringify({ last: keptOf(last), ...remembered })),
        rows.map(({ step }) => step),
      ],
    );
    for (const { number, remembered } of rows)
      if (remembered.isClosed) this.written.delete(number);
      else this.written.set(number, { ...remembered, calls: withoutAnswers(remembered.calls) });
  }

  /**
   * A statement begins that commits by itself. All WAL of before is flushed when it resolves: a VACUUM takes a page for one that everybody sees only where the commits of its rows are, and how many those are decides plans, and which page the next row goes to.
   */
  async beginAlone(slot: number): Promise<void> {
    await this.database.query(
      `SET LOCAL synchronous_commit = on; INSERT INTO pg_barista.statement_alone VALUES (${slot}, false)`,
    );
  }

  async endAlone(slot: number, step: number, open: number): Promise<void> {
    await this.database.query(
      `DELETE FROM pg_barista.statement_alone; INSERT INTO pg_barista.sqlpaxoslog VALUES (${slot}, ${step}, ${open}, '')`,
    );
  }

  /** Nothing is open; `held`: but these have come, and are held back. Durable when it resolves. */
  async writeAtRest(
    pointer: number,
    step: number,
    held: readonly (readonly [slot: number, request: RequestOperation])[],
  ): Promise<void> {
    const write = `SET LOCAL synchronous_commit = on; INSERT INTO pg_barista.sqlpaxoslog VALUES (${pointer}, ${step}, 0, '')`;
    const rows = held.map(
      ([slot, request]) => `(${slot}, '\\x${Buffer.from(encodeOperation(request)).toString('hex')}')`,
    );
    const forget = this.hasHeld || rows.length > 0 ? '; DELETE FROM pg_barista.statement_held' : '';
    const note = rows.length > 0 ? `; INSERT INTO pg_barista.statement_held VALUES ${rows.join(', ')}` : '';
    await this.database.query(`${write}${forget}${note}`);
    this.hasHeld = rows.length > 0;
  }

  /** What was held back at the pointer, in slot order. */
  async loadHeld(pointer: number): Promise<readonly (readonly [slot: number, request: RequestOperation])[]> {
    const rows = await this.database.query(
      ownSql(
        'SELECT slot::pg_catalog.text, operation FROM pg_barista.statement_held h WHERE slot <= $1 ORDER BY h.slot',
      ),
      [pointer],
    );
    return rows.flatMap((row) => {
      const operation = decodeOperation(row['operation'] as Buffer);
      return operation.kind === 'request' ? [[Number(row['slot']), operation] as const] : [];
    });
  }

  async isHalfDone(): Promise<boolean> {
    const rows = await this.database.query('SELECT FROM pg_barista.statement_alone WHERE NOT is_done');
    return rows.length > 0;
  }

  /** Of the sessions as they were at the pointer, by number. What is above it is forgotten. */
  async load(pointer: number, step: number): Promise<ReadonlyMap<number, RememberedSession>> {
    await this.database.query(
      ownSql('DELETE FROM pg_barista.statement_session WHERE (slot, step) > ($1, $2)'),
      [pointer, step],
    );
    const rows = await this.database.query(
      `SELECT DISTINCT ON (session) session::pg_catalog.text, state, (SELECT pg_catalog.max(position) FROM pg_barista.statement_session)::pg_catalog.text AS newest
       FROM pg_barista.statement_session ORDER BY session, position DESC`,
    );
    const seqs = await this.database.readSeqs();
    const found = new Map<number, RememberedSession>();
    for (const row of rows) {
      this.position = Number(row['newest']);
      const number = Number(row['session']);
      const remembered = JSON.parse(String(row['state'])) as RememberedSession;
      if (remembered.isClosed) continue;
      const seq = seqs.get(number) ?? 0;
      const isNewer = seq > remembered.seq;
      found.set(number, isNewer ? { ...remembered, seq, last: null } : remembered);
    }
    return found;
  }

  /** What has been superseded by rows that are durable. That a session is closed stands at the end of its row. */
  async forget(durable: number): Promise<void> {
    await this.database.query(
      ownSql(`DELETE FROM pg_barista.statement_session s USING (
         SELECT session, pg_catalog.max(position) AS newest FROM pg_barista.statement_session WHERE slot <= $1 GROUP BY session
       ) n WHERE s.session = n.session AND (s.position < n.newest OR (s.position = n.newest AND s.state OPERATOR(pg_catalog.~~) '%"isClosed":true}'))`),
      [durable],
    );
    // Nobody else does: autovacuum is off.
    await this.database.query('VACUUM pg_barista.statement_session');
  }

  private add(
    session: ClientSession,
    row: Pick<RememberedSession, 'seq' | 'isUnsure'> &
      Pick<ClientSession, 'last'> & { readonly isClosed?: boolean },
  ): void {
    const { id, login, given, identity, number, state, customNames, isHollow } = session;
    const { seq, last, isUnsure, isClosed = false } = row;
    const names = [...customNames];
    const calls = session.calls.row();
    const remembered = {
      id,
      login,
      given,
      identity,
      seq,
      calls,
      state,
      customNames: names,
      isHollow,
      isUnsure,
      isClosed,
    };
    this.waiting.set(number, { slot: this.slot, step: this.step, number, remembered, last });
    this.mustWrite ||= !isSameButForSeq(this.written.get(number), remembered);
  }
}

function keptOf(last: ClientSession['last']): RememberedSession['last'] {
  if (last === null || last.answer.length > keptBytesMax) return null;
  return { answer: last.answer.toString('base64'), status: last.status };
}

function isSameButForSeq(one: Row['remembered'] | undefined, other: Row['remembered']): boolean {
  return (
    one !== undefined &&
    one.state === other.state &&
    namesOf(one.calls) === namesOf(other.calls) &&
    one.customNames.length === other.customNames.length &&
    one.isHollow === other.isHollow &&
    one.isUnsure === other.isUnsure &&
    one.isClosed === other.isClosed
  );
}
