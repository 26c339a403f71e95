/**
 * The sessions in which a primary's barriers wait: commits of the replica's own.
 *
 * Responsible for: having a session for each. One is kept; another is opened when that one still waits, or somebody has ended it. What is chosen is known elsewhere.
 */
import type { Client } from 'pg';
import { parseLsn, type Lsn } from '../../wal/lsn.ts';
import { answerMs, connectPg } from './pg-client.ts';

export class BarrierSessions {
  private readonly socketDir: string;
  private readonly silentMsMax: number;
  private idle: Client | null = null;

  /** `silentMsMax`: until a barrier's position is told. */
  constructor(socketDir: string, silentMsMax: number = answerMs.quick) {
    this.socketDir = socketDir;
    this.silentMsMax = silentMsMax;
  }

  /** Opens a session ahead of the first barrier: of a standby, too, that is about to be a primary. Where that fails, `begin` says so when it tries again. */
  async warmUp(): Promise<void> {
    const session = await this.open().catch(() => null);
    if (session !== null) this.keep(session);
  }

  /** Resolves with the commit under way: its position is above that of everything that was visible at the call. @throws Error if its session is ended before */
  async begin(): Promise<Lsn> {
    const session = this.idle ?? (await this.open());
    if (this.idle === session) this.idle = null;
    // Sent at once: the position is known before the commit has waited.
    const begun = session.query('BEGIN');
    const told = session.query<{ position: string }>(
      "SELECT pg_catalog.pg_logical_emit_message(true, 'barista', '')::pg_catalog.text AS position",
    );
    session.query('COMMIT').then(
      () => this.keep(session),
      () => void session.end().catch(() => undefined),
    );
    const [, { rows }] = await Promise.all([begun, told]);
    return parseLsn(rows[0]!.position);
  }

  private async open(): Promise<Client> {
    const session = await connectPg({
      socketDir: this.socketDir,
      database: 'postgres',
      pipeline: true,
      silentMsMax: this.silentMsMax,
      commitsWait: true,
    });
    session.once('end', () => {
      if (this.idle === session) this.idle = null;
    });
    return session;
  }

  private keep(session: Client): void {
    if (this.idle === null) this.idle = session;
    else void session.end().catch(() => undefined);
  }
}
