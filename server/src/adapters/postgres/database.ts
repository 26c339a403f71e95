/**
 * The Database port over a replica's own PostgreSQL: ordered apply, the application pointer, and the end of sessions.
 *
 * Invariants: the pointer moves in the transaction that it stands for; a slot at or below the pointer, or recorded above it,
 * is never applied again; how many rows each statement found is checked, so a replica that differs stops at once.
 * Connections are opened when needed and after each failure; whether PostgreSQL should run is not decided here.
 */
import type { Client } from 'pg';
import type { TransactionPayload } from '../../apply/effects.ts';
import type { Slot } from '../../multipaxos/types.ts';
import { DatabaseError } from '../../ports/database.ts';
import type { ApplicationPointer, Database, KeptWithPointer, SlotToApply } from '../../ports/database.ts';
import { openApplySession } from './apply-session.ts';
import type { ApplySession } from './apply-session.ts';
import { toDatabaseError } from './database-error.ts';
import { createEffectBuffer } from './effect-buffer.ts';
import type { ApplyMode, EffectBuffer } from './effect-buffer.ts';
import { AmbiguousRowsError } from './net-rows.ts';
import { connectPg, rollBackPrepared } from './pg-client.ts';
import { assertNoGap, beginAtPointer, commitAtPointer, flushPointer, readPointer } from './pointer.ts';
import type { PostgresServer } from './postgres-server.ts';

const sessionsEndTimeoutMs = 15_000;

export function createDatabase(server: PostgresServer): Database {
  return new PgDatabase(server);
}

class PgDatabase implements Database {
  private readonly server: PostgresServer;
  private session: ApplySession | null = null;
  private control: Client | null = null;
  /** One piece of work at a time on each connection. */
  private sessionTail: Promise<unknown> = Promise.resolve();
  private controlTail: Promise<unknown> = Promise.resolve();
  /** Transactions that could not be read twice and have to be staged when they come again. */
  private readonly stagedSlots = new Set<Slot>();

  constructor(server: PostgresServer) {
    this.server = server;
  }

  applicationPointer(): Promise<ApplicationPointer> {
    return this.withControl('reading the application pointer', readPointer);
  }

  movePointer(upTo: Slot, keep: KeptWithPointer): Promise<void> {
    return this.withControl('moving the application pointer', async (client) => {
      await client.query('BEGIN');
      await commitAtPointer(client, upTo, keep);
    });
  }

  flush(): Promise<Slot> {
    return this.withControl('making the application pointer durable', flushPointer);
  }

  endSessions(): Promise<void> {
    // What the applier knows of tables may have been changed by the sessions that end here.
    this.dropSession();
    return this.withControl('ending sessions', endSessions);
  }

  apply(batch: readonly SlotToApply[], keep: KeptWithPointer): Promise<void> {
    const last = batch.at(-1);
    if (last === undefined) return Promise.resolve();
    const work = this.sessionTail.then(() => this.applyBatch(batch, keep, last.slot));
    this.sessionTail = work.catch(() => undefined);
    return work;
  }

  /**
   * The quick way if that goes; else slot by slot by the way that always goes, so that an error names its slot. Either way one
   * transaction: what is kept with the pointer belongs to the last slot and would be wrong at an earlier one.
   */
  private async applyBatch(batch: readonly SlotToApply[], keep: KeptWithPointer, last: Slot): Promise<void> {
    try {
      const quick = !batch.some(({ slot }) => this.stagedSlots.has(slot));
      if (quick) return await this.applyOnce(batch, last, keep, 'net');
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== 'applyFailed') throw error;
    }
    await this.applyOnce(batch, last, keep, 'staged');
    for (const { slot } of batch) this.stagedSlots.delete(slot);
    return undefined;
  }

  private async applyOnce(
    batch: readonly SlotToApply[],
    last: Slot,
    keep: KeptWithPointer,
    mode: ApplyMode,
  ): Promise<void> {
    let doing = batch.length === 1 ? `slot ${last}` : `slots ${batch[0]?.slot ?? last} to ${last}`;
    try {
      const session = await this.openSession();
      const at = await beginAtPointer(session.client);
      assertNoGap(at, batch);
      const buffer = createEffectBuffer(session, mode);
      for (const { slot, transaction } of batch) {
        if (transaction === null || slot <= at.pointer || at.above.has(slot)) continue;
        if (mode === 'staged') doing = `slot ${slot}`;
        await this.gather(slot, transaction, buffer, at.transactions);
        if (mode === 'staged') await buffer.flush();
      }
      await buffer.flush();
      await commitAtPointer(session.client, last, keep);
      if (session.worn) this.dropSession();
    } catch (error) {
      await this.session?.client.query('ROLLBACK').catch(() => undefined);
      this.session?.forgetRelations();
      const known =
        error instanceof AmbiguousRowsError
          ? new DatabaseError('applyFailed', error.message, { cause: error })
          : toDatabaseError(error, doing);
      if (known.code === 'databaseDown') this.dropSession();
      throw known === error
        ? new DatabaseError(known.code, `${doing}: ${known.message}`, { cause: error })
        : known;
    }
  }

  private async gather(
    slot: Slot,
    parts: Exclude<SlotToApply['transaction'], null>,
    buffer: EffectBuffer,
    applied: ReadonlySet<string>,
  ): Promise<void> {
    let final: TransactionPayload | null = null;
    for await (const part of parts) {
      if (applied.has(part.transaction)) return;
      for (const effect of part.effects) await buffer.add(effect);
      final = part;
    }
    if (final?.last === true) {
      if (final.request !== undefined) await buffer.addRequest(slot, final.request);
      return;
    }
    // A stream that was read before and cannot be read again: whoever asks next brings a new one.
    this.stagedSlots.add(slot);
    throw new DatabaseError('databaseDown', `the parts of slot ${slot} ended before its last one`);
  }

  private async openSession(): Promise<ApplySession> {
    if (this.session !== null) return this.session;
    const session = await openApplySession(this.server);
    // A connection that broke while idle must not fail the next call: PostgreSQL may have been restarted since.
    session.client.once('end', () => {
      if (this.session === session) this.session = null;
    });
    this.session = session;
    return session;
  }

  private async openControl(): Promise<Client> {
    if (this.control !== null) return this.control;
    const { socketDir, database } = this.server;
    const control = await connectPg({ socketDir, database });
    control.once('end', () => {
      if (this.control === control) this.control = null;
    });
    this.control = control;
    return control;
  }

  private dropSession(): void {
    const { session } = this;
    this.session = null;
    if (session !== null) void session.client.end().catch(() => undefined);
  }

  private withControl<T>(doing: string, work: (client: Client) => Promise<T>): Promise<T> {
    const done = this.controlTail.then(async () => {
      try {
        return await work(await this.openControl());
      } catch (error) {
        const known = toDatabaseError(error, doing);
        const { control } = this;
        this.control = null;
        if (control !== null) void control.end().catch(() => undefined);
        throw known;
      }
    });
    this.controlTail = done.catch(() => undefined);
    return done;
  }
}

/** Everybody but the operator and this replica, who are the superuser. A session that is still logging in has no user yet. */
async function endSessions(client: Client): Promise<void> {
  const deadline = performance.now() + sessionsEndTimeoutMs;
  for (;;) {
    const left = await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND usesysid IS DISTINCT FROM 10`,
    );
    if (left.rowCount === 0) break;
    if (performance.now() > deadline) {
      throw new DatabaseError('databaseDown', `${left.rowCount ?? 0} sessions do not end`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await rollBackPrepared(client);
  // What sessions drew from sequences without agreement, and what a crash skipped, was given to nobody who knows it for certain.
  await client.query('SELECT _barista.reset_sequences()');
}
