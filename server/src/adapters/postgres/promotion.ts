/**
 * Makes the primary of a new timeline of a standby that runs.
 *
 * Responsible for: the order of the steps, and their going on in another session where PostgreSQL goes on and the one in which they were asked for has ended.
 * Invariants: no other run of PostgreSQL than the one that was meant is promoted, however late; what is told to be promoted is on the timeline that was asked for, and forked where it was asked to.
 */
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Promotion } from '../../ports/database-server.ts';
import { formatLsn, historyName, type Timeline } from '../../wal/lsn.ts';
import { readFile, writeDurably } from './account-files.ts';
import { endClients } from './end-clients.ts';
import type { PostgresInstance } from './instance/postgres-instance.ts';
import type { OwnSession } from './own-session.ts';
import { completeTimelineStarts } from './timeline-starts.ts';

/** The standby. Nothing is fed to it any more. */
export interface PromotedRun {
  readonly instance: PostgresInstance;
  readonly session: OwnSession;
  /** It was stopped, and may have been started again since. */
  readonly isOver: () => boolean;
  /** Of earlier timelines it has received nothing since it was started, when the beginnings of all were complete. */
  readonly receivedFrom: number;
}

const pollMs = 5;
/** PostgreSQL lets no session in any more, or answers in none. */
const unansweredMs = 5_000;

/** Takes for ever if PostgreSQL hangs. @throws Error if it ends, is stopped, or becomes another primary than that */
export async function promoteStandby(run: PromotedRun, promotion: Promotion): Promise<void> {
  const { onStage = () => undefined } = promotion;
  const left = await ask(run, endClients);
  if (left.length > 0) promotion.onLeft?.(left);
  onStage('ended');
  await ask(run, awaitEndOfReceiving);
  onStage('received');
  // It reads its last record again, in the newest timeline's file, and does not survive that it is not there.
  await completeTimelineStarts(run.instance.dataDir, run.receivedFrom);
  await keepNumbers(run.instance.dataDir, promotion);
  onStage('completed');
  await ask(run, (client) => {
    run.instance.promoted();
    // Where it was asked before, and the answer was lost, this may be a primary already.
    return client.query('SELECT pg_catalog.pg_promote(false) WHERE pg_catalog.pg_is_in_recovery()');
  });
  while (await ask(run, isInRecovery)) await setTimeout(pollMs);
  onStage('promoted');
  await assertPromoted(run, promotion);
}

/** In one session after the other. Whatever is asked may be asked again. */
async function ask<T>(
  { instance, session, isOver }: PromotedRun,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  let unansweredSince: number | null = null;
  for (;;) {
    try {
      const client = await session.get();
      // Nobody may have waited for this any more.
      if (isOver()) throw new Error('PostgreSQL was stopped');
      return await work(client);
    } catch (cause) {
      if (isOver()) throw new Error('PostgreSQL was stopped while it was promoted', { cause });
      if (!instance.isAlive()) throw new Error('PostgreSQL ended while it was promoted', { cause });
      unansweredSince ??= performance.now();
      if (performance.now() - unansweredSince > unansweredMs) throw cause;
    }
    await setTimeout(pollMs);
  }
}

/** What it received before may still be on its way into a file. */
async function awaitEndOfReceiving(client: Client): Promise<void> {
  while ((await client.query('SELECT FROM pg_catalog.pg_stat_wal_receiver')).rowCount !== 0)
    await setTimeout(pollMs);
}

/** PostgreSQL takes the number after the newest history file that it finds. */
async function keepNumbers(dataDir: string, { timeline, history }: Promotion): Promise<void> {
  for (let number = timeline - 1; number > 1; number--) {
    const path = join(dataDir, 'pg_wal', historyName(number as Timeline));
    const there = await readFile(path).then(
      () => true,
      () => false,
    );
    if (there) return;
    await writeDurably(path, history(number as Timeline));
  }
}

async function isInRecovery(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ recovers: boolean }>(
    'SELECT pg_catalog.pg_is_in_recovery() AS recovers',
  );
  return rows[0]!.recovers;
}

/** Whatever PostgreSQL did, it is believed only as far as its files say so. */
async function assertPromoted(run: PromotedRun, { timeline, fork }: Promotion): Promise<void> {
  const { rows } = await ask(run, (client) =>
    client.query<{ name: string }>(
      'SELECT pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) AS name',
    ),
  );
  const actual = Number.parseInt(rows[0]!.name.slice(0, 8), 16);
  const path = join(run.instance.dataDir, 'pg_wal', historyName(timeline));
  const text = await readFile(path, 'utf8').catch(() => '');
  const at = text.trim().split('\n').at(-1)?.split('\t')[1];
  if (actual === timeline && at === formatLsn(fork)) return;
  throw new Error(
    `PostgreSQL was promoted to timeline ${actual}, forked at ${at ?? 'an unknown position'}, instead of timeline ${timeline} at ${formatLsn(fork)}`,
  );
}
