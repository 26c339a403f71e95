/**
 * The looks of one new leader at what may have commits not wait to be chosen (weakened-commits.ts), until all is clear or something is found.
 *
 * Responsible for: what a look cannot see. A transaction that was prepared before (PREPARE TRANSACTION) may hold any such setting, and nobody names it again when it is committed; so nothing is clear while one of them is there.
 * What it brought may have been taken back by the time that it is looked for, and a session that got it keeps it; so where something was prepared, the sessions that began before the look that finds nothing must have ended, too.
 * The same where no look has told anything before clients were served. A look before that which fails is only made again: the sessions of a pool live on for ever.
 * What is prepared after the first look has passed the gateway in this generation, and was seen there.
 */
import type { Client } from 'pg';
import type { CommitsLook, LookAtCommits } from '../../../ports/commits-look.ts';
import { answerMs, connectPg } from '../pg-client.ts';
import { findWeakenedCommitsIn } from './weakened-commits.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';

interface Place {
  readonly socketDir: string;
}

/** A new leader's own. */
export function lookAtCommits(place: Place): LookAtCommits {
  const looks = new Looks(place);
  return (isServed) => looks.look(isServed);
}

class Looks {
  private readonly place: Place;
  /** Clients may have had sessions before anything was clear: a look has found transactions that were prepared before, or was made too late. */
  private isLate = false;
  /** Prepared before the first look and not seen to have ended since, by transaction id; null: not asked yet. */
  private prepared: ReadonlySet<string> | null = null;
  /** PostgreSQL's time after a later look that found nothing. */
  private cleanSince: string | null = null;

  constructor(place: Place) {
    this.place = place;
  }

  async look(isServed: boolean): Promise<CommitsLook> {
    if (isServed) this.isLate = true;
    const { socketDir } = this.place;
    const client = await connectPg({ socketDir, database: 'postgres', silentMsMax: answerMs.thorough });
    try {
      // Before the catalogs: what is committed in between is in one of them.
      const prepared = await this.stillPrepared(client);
      if (prepared.length > 0) {
        this.isLate = true;
        const names = prepared.slice(0, 20).join(', ');
        const reason = `transactions were prepared before, and are not decided: ${names}`;
        return { code: 'unclear', reason };
      }
      if (this.cleanSince === null) {
        const found = await findWeakenedCommitsIn(this.place, client);
        if (found.length > 0) return { code: 'weakened', found };
        if (!this.isLate) return { code: 'clean' };
        this.cleanSince = await timeOf(client);
      }
      if (!(await hasSessionsBefore(client, this.cleanSince))) return { code: 'clean' };
      const reason = 'sessions live that may have got a setting before it was looked for';
      return { code: 'unclear', reason };
    } finally {
      await client.end();
    }
  }

  /** Their names, quoted. */
  private async stillPrepared(client: Client): Promise<string[]> {
    const { rows } = await client.query<{ xid: string; name: string }>(
      'SELECT transaction::pg_catalog.text AS xid, pg_catalog.quote_literal(gid) AS name FROM pg_catalog.pg_prepared_xacts ORDER BY prepared',
    );
    const { prepared: before } = this;
    const still = rows.filter(({ xid }) => before === null || before.has(xid));
    this.prepared = new Set(still.map(({ xid }) => xid));
    return still.map(({ name }) => name);
  }
}

async function timeOf(client: Client): Promise<string> {
  const { rows } = await client.query<{ now: string }>(
    'SELECT pg_catalog.clock_timestamp()::pg_catalog.text AS now',
  );
  return rows[0]!.now;
}

/** Whether a client's session lives that began before `time`. Those of this role are Barista's own. */
async function hasSessionsBefore(client: Client, time: string): Promise<boolean> {
  const { rows } = await client.query<{ live: boolean }>(
    ownSql(`SELECT EXISTS (SELECT FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'
       AND (usename IS NULL OR usename <> current_user) AND backend_start < $1::pg_catalog.timestamptz) AS live`),
    [time],
  );
  return rows[0]!.live;
}
