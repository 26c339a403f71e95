/**
 * Keeps the lock table of a standby from being filled by clients that read there.
 *
 * A standby's replay takes the exclusive locks of the primary's transactions again. Where the lock table has no entry left for one, PostgreSQL ends: the replay cannot wait, and nothing can be given up for it at that moment. Anybody can take advisory locks at a standby, several hundred in a millisecond. So a session of our own looks at
 * what readers hold, again and again. Those that hold most are ended long before the table is full, and their roles kept out for a while: who tries again and again would be lucky once. WAL is given to the standby only while a look of some milliseconds ago has found room for what it may lock.
 *
 * Responsible for: looking, ending sessions of readers (which ones: `readersToEnd`), and saying when WAL may come (`room`). Sessions of the superuser that initdb makes (10), and the replay, hold what they need.
 * Invariants: one look at a time, in a session that was opened while there was room; what it asks takes no entry of the table, for it asks functions alone, and it takes no longer where the table is full. WAL waits for so long at most, and not at all where nothing can be seen. It ends with this run of the standby.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { ownSql } from '../../pgwire/own-sql.ts';
import { entriesSql } from './lock-holders.ts';
import { OwnSession } from './own-session.ts';

/** Between two looks: while readers take more, or roles are kept out; while readers hold something else than before; the same; while there are none; where a look failed; while WAL waits. */
const waitMs = { growing: 4, some: 15, steady: 40, alone: 50, failed: 50, full: 3 } as const;
/** Without readers it sleeps so long after the last was announced, and then until the next one is. */
const awakeMs = 10_000;
/** Between two looks at the replay's locks. */
const replayEveryMs = 1_000;
/** So long a role whose session was ended for its locks begins no other. */
const keptOutMs = 10_000;
/** What was seen so long ago still holds: much less than it takes to fill the table. */
const freshMs = 10;
/** The same where nobody held anything: the looks that are made anyway are enough. */
const unheldMs = 100;
/** WAL waits no longer: a failover may wait for it. */
const heldBackMsMax = 2_000;
/** Of the entries that the replay leaves, all readers together. */
const shareMax = 1 / 6;

/** A parallel worker's locks are its leader's. Row by row: of a full table no more is looked at than has to be. Locks that a session keeps for itself (fastpath) take nothing from others. $1: so many are looked at, which are anybody's, as hashing has it. */
const heldSql = ownSql(`
  WITH readers AS MATERIALIZED (
    SELECT session.pid, coalesce(session.leader_pid, session.pid) AS leader, session.usesysid AS role FROM pg_catalog.pg_stat_get_activity(NULL) AS session
    WHERE session.backend_type = ANY ('{client backend,parallel worker}'::pg_catalog.text[]) AND (session.usesysid IS NULL OR session.usesysid <> 10)),
  taken AS MATERIALIZED (
    SELECT (each.lock).pid FROM (SELECT pg_catalog.pg_lock_status() AS lock OFFSET 0) AS each
    WHERE NOT (each.lock).fastpath AND (each.lock).pid = ANY (ARRAY(SELECT readers.pid FROM readers WHERE readers.leader <> ALL ($2::pg_catalog.int4[]))) LIMIT $1::pg_catalog.int4)
  SELECT readers.leader AS pid, readers.role, pg_catalog.count(taken.pid)::pg_catalog.int4 AS locks
  FROM readers LEFT JOIN taken ON taken.pid = readers.pid GROUP BY 1, 2`);
/** Looks at each lock that there is. */
const replaySql = ownSql(`
  SELECT pg_catalog.count(*)::pg_catalog.int4 AS locks FROM pg_catalog.pg_lock_status() AS held
  WHERE held.pid = ANY (ARRAY(SELECT session.pid FROM pg_catalog.pg_stat_get_activity(NULL) AS session WHERE session.backend_type = 'startup'))`);

export interface ReaderLocks {
  readonly pid: number;
  readonly locks: number;
  /** Null: it is logging in. */
  readonly role: number | null;
}

interface StandbyLocks {
  /** What the settings say. */
  readonly entries: number;
  /** Locks of the primary's transactions. */
  readonly replay: number;
}

/** So many locks readers may hold together. Pure. */
export function allowedOf({ entries, replay }: StandbyLocks): number {
  return Math.floor(Math.max(0, entries - replay) * shareMax);
}

/** Who holds most is ended first, until the others hold an eighth of what readers may: those that take locks at the same pace are not ended one by one. Pure. */
export function readersToEnd(allowed: number, readers: readonly ReaderLocks[]): readonly ReaderLocks[] {
  let held = sumOf(readers);
  if (held <= allowed) return [];
  const most = readers.filter(({ locks }) => locks > 0).toSorted((a, b) => b.locks - a.locks);
  return most.filter(({ locks }) => {
    const isTooMuch = held > allowed / 8;
    if (isTooMuch) held -= locks;
    return isTooMuch;
  });
}

/** Room for what is replayed before the next look. Readers may hold what they may; while they take more, an eighth of it. Pure. */
export function hasRoom(allowed: number, held: number, heldBefore: number): boolean {
  return held === 0 || held <= (held > heldBefore ? allowed / 8 : allowed);
}

function sumOf(readers: readonly ReaderLocks[]): number {
  return readers.reduce((sum, { locks }) => sum + locks, 0);
}

export type OnReaderEnded = (what: ReaderLocks & { readonly entries: number }) => void;

interface Seen {
  /** When it was asked. */
  readonly atMs: number;
  readonly held: number;
  readonly hasRoom: boolean;
  readonly nextMs: number;
}

export class ReaderLockWatch {
  private readonly session: OwnSession;
  private readonly isOver: () => boolean;
  private readonly onEnded: OnReaderEnded;
  private entries: number | null = null;
  /** Roles that are kept out, each until then. */
  private readonly keptOut = new Map<number, number>();
  /** Sessions that were there at the last look. */
  private present: ReadonlySet<number> = new Set();
  private replay = { atMs: Number.NEGATIVE_INFINITY, locks: 0 };
  /** Told to end, and still there: what they hold is about to be free. */
  private ending: ReadonlySet<number> = new Set();
  /** Null: PostgreSQL did not answer, or lets nobody in yet. */
  private seen: Seen | null = null;
  private looking: Promise<void> | null = null;
  private announcedAtMs = Number.NEGATIVE_INFINITY;
  /** Null: it does not sleep. */
  private wakeUp: (() => void) | null = null;

  /** `isOver`: PostgreSQL was stopped, or is no standby any more. */
  constructor(place: { readonly socketDir: string }, isOver: () => boolean, onEnded: OnReaderEnded) {
    this.session = new OwnSession(place);
    this.isOver = isOver;
    this.onEnded = onEnded;
  }

  /** Until it is over. Never rejects. */
  async run(): Promise<void> {
    while (!this.isOver()) {
      await this.look();
      if (this.present.size === 0 && performance.now() - this.announcedAtMs > awakeMs) await this.sleep();
      else await wait(this.seen?.nextMs ?? waitMs.failed, undefined, { ref: false });
    }
    await this.session.close();
  }

  /** A client is about to read here. */
  readerComes(): void {
    this.announcedAtMs = performance.now();
    this.wakeUp?.();
  }

  /** Nobody reads, and nobody keeps WAL waiting. */
  private async sleep(): Promise<void> {
    const woken = new AbortController();
    this.wakeUp = () => woken.abort();
    this.seen = null;
    await wait(awakeMs, undefined, { ref: false, signal: woken.signal }).catch(() => undefined);
    this.wakeUp = null;
  }

  /** Resolves when WAL may be given to the standby; null: it may now. Never rejects. */
  room(): Promise<void> | null {
    return this.isRoom() ? null : this.untilRoom();
  }

  private isRoom(): boolean {
    if (this.seen === null || this.isOver()) return true;
    const { atMs, held, hasRoom: wasRoom } = this.seen;
    return wasRoom && performance.now() - atMs <= (held === 0 ? unheldMs : freshMs);
  }

  private async untilRoom(): Promise<void> {
    const late = new AbortController();
    const deadline = wait(heldBackMsMax, undefined, { ref: false, signal: late.signal }).catch(
      () => undefined,
    );
    const until = performance.now() + heldBackMsMax;
    while (!this.isRoom() && performance.now() < until) {
      await Promise.race([this.look(), deadline]);
      // An answer may take longer than it is fresh.
      if (this.seen?.hasRoom !== false) break;
      await wait(waitMs.full, undefined, { ref: false });
    }
    late.abort();
  }

  /** One at a time. Never rejects. */
  private look(): Promise<void> {
    this.looking ??= this.read()
      .then(
        (seen) => void (this.seen = seen),
        () => void (this.seen = null),
      )
      .finally(() => (this.looking = null));
    return this.looking;
  }

  /** @throws Error if PostgreSQL does not answer */
  private async read(): Promise<Seen | null> {
    const client = await this.session.get();
    this.entries ??= Number((await client.query<{ entries: string }>(entriesSql)).rows[0]!.entries);
    const { entries } = this;
    const before = this.seen?.held ?? 0;
    const allowed = allowedOf({ entries, replay: this.replay.locks });
    const atMs = performance.now();
    const { rows: readers } = await client.query<ReaderLocks>({
      name: 'held',
      text: heldSql,
      values: [allowed + 1, [...this.ending]],
    });
    if (this.isOver()) return null;
    const going = readers.filter(({ pid }) => this.ending.has(pid));
    const greedy = readersToEnd(allowed, readers);
    const late = this.sessionsKeptOut(readers, atMs).filter((one) => !greedy.includes(one));
    for (const { role } of greedy) if (role !== null) this.keptOut.set(role, atMs + keptOutMs);
    const toEnd = [...greedy, ...late];
    this.ending = new Set([...going, ...toEnd].map(({ pid }) => pid));
    // What pg_terminate_backend does. That one looks the role up first, for which a full lock table has no room.
    for (const { pid } of toEnd) endProcess(pid);
    for (const { pid, locks, role } of greedy) this.onEnded({ pid, locks, role, entries });
    const held = sumOf(readers);
    if (held <= allowed / 8 && atMs > this.replay.atMs + replayEveryMs) {
      const { rows } = await client.query<{ locks: number }>({ name: 'replay', text: replaySql });
      this.replay = { atMs, locks: rows[0]!.locks };
    }
    const next = this.keptOut.size > 0 ? waitMs.growing : nextMs(readers.length, held, before);
    return { atMs, held, hasRoom: this.ending.size === 0 && hasRoom(allowed, held, before), nextMs: next };
  }

  /** New ones of roles that are kept out. Those that were there before may stay. */
  private sessionsKeptOut(readers: readonly ReaderLocks[], nowMs: number): readonly ReaderLocks[] {
    for (const [role, until] of this.keptOut) if (until < nowMs) this.keptOut.delete(role);
    const { present } = this;
    this.present = new Set(readers.filter(({ role }) => role !== null).map(({ pid }) => pid));
    return readers.filter(({ pid, role }) => role !== null && this.keptOut.has(role) && !present.has(pid));
  }
}

function nextMs(readers: number, held: number, before: number): number {
  if (readers === 0) return waitMs.alone;
  // Some locks come and go with each statement.
  if (held > before + 100) return waitMs.growing;
  return held === before && held > 0 ? waitMs.steady : waitMs.some;
}

/** It may have gone by itself. */
function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
