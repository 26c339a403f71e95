/**
 * What became of a transaction whose COMMIT was under way when its leader went away.
 *
 * Responsible for: waiting until it is settled, and telling it from the log's beginnings of leaderships and this replica's own PostgreSQL. Spec: TellOutcome of OrderedApply.tla.
 * Invariant: an answer other than `unknown` is true for ever. The id of a transaction alone does not tell: the next leader gives the ids that the last one had not used, or had used in vain, to others. So the next id at the
 * beginning of the next leadership counts first.
 * While a leadership goes on a session may lose its process all the same: what is committed by then PostgreSQL tells, at the leader behind a barrier, at a standby once the leader shows it, too. What is not, only the leader's
 * PostgreSQL tells.
 */
import { sameBallot } from '../../multipaxos/ballot.ts';
import type { Ballot } from '../../multipaxos/types/names.ts';
import type { ApplyTraceEvent } from '../../api/events.ts';
import type {
  NamedRequest,
  OpenTransaction,
  RequestOutcome,
  SessionPlace,
  TransactionOutcome,
} from '../../ports/client-service.ts';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import type { DatabaseServer } from '../../ports/database-server.ts';
import type { Lsn } from '../../wal/lsn.ts';
import type { Ending, Successions } from './successions.ts';

export interface OutcomesOptions {
  readonly successions: Successions;
  readonly server: Pick<DatabaseServer, 'statusOf' | 'committedRequest' | 'mayActElsewhere'>;
  /** Of the chosen WAL, this replica's PostgreSQL has replayed everything below, or is the primary that goes on from there. */
  readonly replayed: () => Lsn;
  /** Clients are served here: everything that its PostgreSQL began with is chosen. */
  readonly serves: () => boolean;
  /** Under which leadership clients are served here; null: they are not. */
  readonly servedUnder: () => Ballot | null;
  /** At the leader: resolves when everything that is visible now is chosen. @throws Error if PostgreSQL is away */
  readonly barrier: () => Promise<void>;
  /** At a standby: resolves true when the leader shows all that is visible here now; false after `waitMs`. */
  readonly shownByLeader: (waitMs: number) => Promise<boolean>;
  /** This replica's PostgreSQL is a standby: it has chosen WAL and nothing else. */
  readonly isStandby: () => boolean;
  readonly onEvent: (event: ApplyTraceEvent) => void;
  readonly timers: Pick<Timers, 'nowMs' | 'after'>;
  readonly pollMs: number;
}

type Role = 'leader' | 'standby';
type IsSafe = (role: Role) => boolean;

const looksKeptMs = 60_000;
const looksKeptMax = 1_000;

export class Outcomes {
  private readonly options: OutcomesOptions;
  /** About transactions: how many were asked, and how many of them are not answered. */
  private questions = 0;
  private open = 0;
  /** Looks that are under way, by role and database: many sessions that are interrupted at once ask the same. */
  private readonly looks = new Map<string, Promise<boolean>>();
  /** What was found some time ago: good for what nothing is concluded from. */
  private readonly found = new Map<string, { readonly atMs: number; readonly acts: boolean }>();

  constructor(options: OutcomesOptions) {
    this.options = options;
  }

  async ofTransaction({ leadership, xid }: OpenTransaction, waitMs: number): Promise<TransactionOutcome> {
    const deadline = this.options.timers.nowMs() + waitMs;
    this.questions += 1;
    const asked = { question: this.questions, xid: String(xid), leadership };
    this.options.onEvent({ name: 'AskOutcome', open: this.open, ...asked });
    this.open += 1;
    const isSafe = this.safety(deadline);
    const outcome = await this.settle(deadline, () => this.lookAt(leadership, xid, isSafe));
    this.open -= 1;
    this.options.onEvent({ name: 'TellOutcome', ...asked, outcome: outcome ?? 'unknown' });
    return outcome ?? 'unknown';
  }

  async ofRequest(request: NamedRequest, leadership: Ballot, waitMs: number): Promise<RequestOutcome> {
    const deadline = this.options.timers.nowMs() + waitMs;
    const isSafe = this.safety(deadline);
    const found = await this.settle(deadline, () => this.lookFor(request, leadership, isSafe));
    return found ?? { code: 'unknown' };
  }

  /** True if that cannot be told. */
  async mayActElsewhere(session: SessionPlace, leadership: Ballot | null, waitMs: number): Promise<boolean> {
    const deadline = this.options.timers.nowMs() + waitMs;
    const found = await this.settle(deadline, async () => {
      const ending = leadership === null ? null : this.options.successions.endOf(leadership);
      if (ending === 'unknown') return true;
      // What was made under that leadership, and may have been used, is here only then.
      if (leadership !== null && !this.hasAllOf(leadership, ending)) return null;
      return leadership === null ? this.lookSeldom(session) : this.lookInto(session);
    });
    return found ?? true;
  }

  private async lookSeldom(session: SessionPlace): Promise<boolean> {
    const key = keyOf(session);
    const nowMs = this.options.timers.nowMs();
    const known = this.found.get(key);
    if (known !== undefined && nowMs - known.atMs < looksKeptMs) return known.acts;
    const acts = await this.lookInto(session);
    if (this.found.size >= looksKeptMax) this.found.clear();
    this.found.set(key, { atMs: nowMs, acts });
    return acts;
  }

  private lookInto(session: SessionPlace): Promise<boolean> {
    const key = keyOf(session);
    const known = this.looks.get(key);
    if (known !== undefined) return known;
    const look = this.options.server.mayActElsewhere(session).finally(() => this.looks.delete(key));
    this.looks.set(key, look);
    return look;
  }

  /** Null: cannot be told yet. */
  private async lookAt(leadership: Ballot, xid: bigint, isSafe: IsSafe): Promise<TransactionOutcome | null> {
    const ending = this.options.successions.endOf(leadership);
    if (ending === 'unknown') return 'unknown';
    if (ending === null) return this.lookAtPresent(leadership, xid, isSafe);
    if (xid >= ending.nextXid) return 'notCommitted';
    const isComplete = this.isComplete(ending);
    const status = await this.options.server.statusOf(xid);
    if (status === 'committed' && (isComplete || ending.fork === null)) return this.confirmed();
    if (!isComplete) return null;
    // Everything of its leadership is here: what is open there has no commit.
    return status === 'aborted' || status === 'open' ? 'notCommitted' : 'unknown';
  }

  /** Of a resumed leadership: a standby has replayed chosen WAL only, and a primary that serves has only what is chosen; one that does not serve yet has more. */
  private confirmed(): TransactionOutcome | null {
    return this.options.isStandby() || this.options.serves() ? 'committed' : null;
  }

  /** Null also for what is under way, though nobody waits for it. */
  private async lookAtPresent(
    leadership: Ballot,
    xid: bigint,
    isSafe: IsSafe,
  ): Promise<TransactionOutcome | null> {
    const said = await this.saidUnder(leadership, () => this.options.server.statusOf(xid));
    if (said === null) return null;
    const { role, answer: status } = said;
    if (status === 'committed') return isSafe(role) ? 'committed' : null;
    // A standby may not have heard of it yet.
    return status === 'aborted' && role === 'leader' ? 'notCommitted' : null;
  }

  /** What PostgreSQL answers while that leadership goes on; null: it tells nothing of it. */
  private async saidUnder<Answer>(
    leadership: Ballot,
    ask: () => Promise<Answer>,
  ): Promise<{ readonly role: Role; readonly answer: Answer } | null> {
    const role = this.roleUnder(leadership);
    if (role === null) return null;
    const answer = await ask();
    return this.roleUnder(leadership) === role ? { role, answer } : null;
  }

  /** What this replica's PostgreSQL is while that leadership goes on, as far as is known here; null: it tells nothing of it. */
  private roleUnder(leadership: Ballot): Role | null {
    const { servedUnder, isStandby, successions, replayed } = this.options;
    const served = servedUnder();
    if (served !== null) return sameBallot(served, leadership) ? 'leader' : null;
    const began = successions.beginningOfNewest(leadership);
    return began !== null && isStandby() && replayed() >= began ? 'standby' : null;
  }

  /** Whether what was visible at the first call is chosen, and shown by the leader. That is not waited for: it may take longer than the question. */
  private safety(deadline: number): IsSafe {
    const { barrier, shownByLeader, timers } = this.options;
    const found: Record<Role, 'unknown' | 'asked' | 'safe'> = { leader: 'unknown', standby: 'unknown' };
    return (role) => {
      if (found[role] === 'unknown') {
        found[role] = 'asked';
        const asked =
          role === 'leader'
            ? barrier().then(() => true)
            : shownByLeader(Math.max(1, deadline - timers.nowMs()));
        asked.then(
          (isSafe) => (found[role] = isSafe ? 'safe' : 'unknown'),
          () => (found[role] = 'unknown'),
        );
      }
      return found[role] === 'safe';
    };
  }

  private async lookFor(
    request: NamedRequest,
    leadership: Ballot,
    isSafe: IsSafe,
  ): Promise<RequestOutcome | null> {
    const ending = this.options.successions.endOf(leadership);
    if (ending === 'unknown') return { code: 'unknown' };
    if (ending === null) return this.lookForPresent(request, leadership, isSafe);
    if (!this.isComplete(ending)) return null;
    const found = await this.options.server.committedRequest(request);
    if (found === 'unknown') return { code: 'unknown' };
    return found === null ? { code: 'notCommitted' } : { code: 'committed', tag: found.tag };
  }

  /** That it is not there yet tells nothing: a session may be at its commit. */
  private async lookForPresent(
    request: NamedRequest,
    leadership: Ballot,
    isSafe: IsSafe,
  ): Promise<RequestOutcome | null> {
    const said = await this.saidUnder(leadership, () => this.options.server.committedRequest(request));
    if (said === null || said.answer === null || said.answer === 'unknown') return null;
    return isSafe(said.role) ? { code: 'committed', tag: said.answer.tag } : null;
  }

  private hasAllOf(leadership: Ballot, ending: Ending | null): boolean {
    return ending === null ? this.roleUnder(leadership) === 'leader' : this.isComplete(ending);
  }

  /** This replica's PostgreSQL has everything of that leadership. */
  private isComplete({ fork }: Ending): boolean {
    const { serves, replayed, isStandby } = this.options;
    // What was a primary has more than is chosen, and less than all that is.
    return serves() || (fork !== null && isStandby() && replayed() >= fork);
  }

  private async settle<T>(deadline: number, look: () => Promise<T | null>): Promise<T | null> {
    const { timers, pollMs } = this.options;
    for (;;) {
      // PostgreSQL may just be starting, or be gone: it is asked again.
      const found = await look().catch(() => null);
      if (found !== null || timers.nowMs() >= deadline) return found;
      await pause(timers, pollMs);
    }
  }
}

function keyOf({ database, role, owner }: SessionPlace): string {
  return JSON.stringify([database, role, owner]);
}
