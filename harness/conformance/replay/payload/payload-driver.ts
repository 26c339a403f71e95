/**
 * Leads the payloads of a group through one behaviour of OrderedApply, action by action.
 *
 * Responsible for: what each action is to the code. Most are something that befalls it (an entry is chosen, PostgreSQL has flushed); what the code does of its own accord is only waited for. The table is in specs/ordered-apply.md.
 * @throws Error where the code does not ask for what the behaviour has next
 */
import { makeDatabase } from '../../../../server/src/payload/wal/testing/model-directory.ts';
import { ModelDisk } from '../../../../server/src/payload/wal/testing/model-disk.ts';
import { foldEntry } from '../../../../server/src/payload/wal/wal-history.ts';
import type { Entry } from '../../../../server/src/multipaxos/types/entries.ts';
import type { EntryLabel, GroupId, ReplicaId, Slot } from '../../../../server/src/multipaxos/types/names.ts';
import type { DirectoryRole } from '../../../../server/src/ports/database-directory.ts';
import { SimulatedTime } from '../../../../server/src/ports/testing/simulated-time.ts';
import { segmentBytes, type Lsn } from '../../../../server/src/wal/lsn.ts';
import { positionNone, type WalPosition } from '../../../../server/src/wal/position.ts';
import { asNumber, asRecord, asText } from '../spec-view.ts';
import { PayloadReplica, type ReplayLog } from './payload-replica.ts';
import {
  ballotOfLeadership,
  memberName,
  specEntryOf,
  type PayloadState,
  type SpecEntry,
  type WalUnit,
} from './payload-state.ts';
import { WalBook, xidsBefore } from './wal-book.ts';

const group = 'replay' as GroupId;
const system = 7n;
const slotsMax = 14;
/** What a question may take. */
const answerMs = 20;

export interface CodeProposal {
  readonly slot: number;
  readonly leadership: number;
  readonly entry: Entry;
}

export class PayloadDriver {
  readonly time = new SimulatedTime();
  readonly replicas: readonly PayloadReplica[];
  readonly proposals: CodeProposal[] = [];
  /** Where the next proposal of a leadership goes. */
  readonly next: number[] = [];
  readonly book: WalBook;
  private readonly chosen: Entry[] = [];
  private readonly positions: WalPosition[] = [positionNone];
  private state: PayloadState;
  private purgedTo = 0;
  private requests = 0;

  constructor(initial: PayloadState) {
    this.state = initial;
    const { disk, end } = newDatabase();
    this.book = new WalBook(end, system);
    const log: ReplayLog = {
      entry: (slot) => this.chosen[slot - 1]!,
      purged: () => this.purgedTo,
      propose: (leadership, payload) => this.propose(leadership, payload),
      ballot: (leadership) => ballotOfLeadership(this.state, leadership),
      newest: () => this.state.ballot,
      start: (leadership) => this.state.start[leadership - 1]!,
    };
    this.replicas = initial.replicas.map(
      (_, index) => new PayloadReplica(memberName(index + 1), { time: this.time, book: this.book, log }),
    );
    for (const replica of this.replicas) disk.copyTo(replica.postgres.disk);
  }

  private replica(number: number): PayloadReplica {
    return this.replicas[number - 1]!;
  }

  /** The group as the behaviour begins: its founder made and nobody else with a database, or with a first leader that serves. */
  async begin(): Promise<void> {
    const { replicas, ballot } = this.state;
    const founder = ballot === 0 ? replicas.findIndex(({ role }) => role === 'founder') : 0;
    this.put(this.replicas[founder]!, { kind: 'founder', isNew: true }, positionNone);
    const others = this.replicas.filter((_, index) => index !== founder);
    if (ballot === 0) {
      for (const other of others) {
        other.postgres.empty();
        this.put(other, { kind: 'copying', from: memberName(founder + 1) }, positionNone);
        other.start(0);
      }
      this.replicas[founder]!.start(0);
      await this.settle();
      return;
    }
    await this.beginLed(this.replicas[founder]!, others);
  }

  private async beginLed(leader: PayloadReplica, others: readonly PayloadReplica[]): Promise<void> {
    leader.start(0);
    await this.settle();
    this.next[1] = 2;
    leader.elected(1);
    this.choose({ kind: 'leaderStart', group, ballot: ballotOfLeadership(this.state, 1) });
    leader.hear(1);
    await this.settle();
    leader.postgres.startPrimary([]);
    await this.settle();
    this.choose(this.proposals[0]!.entry);
    leader.hear(2);
    await this.settle();
    for (const other of others) {
      this.put(other, { kind: 'standby' }, this.positions[2]!);
      other.start(2);
    }
    await this.settle();
    for (const other of others) other.postgres.startStandby(0, this.time);
    await this.settle();
  }

  private put({ postgres }: PayloadReplica, role: DirectoryRole, position: WalPosition): void {
    postgres.disk.state = { role, position, configuration: null };
  }

  /** All that the code does of its own accord is done. */
  async settle(ms = 30): Promise<void> {
    await this.time.pass(ms);
  }

  private choose(entry: Entry): void {
    this.chosen.push(entry);
    const slot = this.chosen.length as Slot;
    this.positions.push(foldEntry(this.positions[slot - 1]!, { slot, entry }).position);
  }

  private propose(leadership: number, payload: Uint8Array): EntryLabel | null {
    const slot = this.next[leadership]!;
    if (slot > slotsMax) return null;
    this.requests += 1;
    const proposal = { client: memberName(this.state.owner[leadership - 1]!), request: this.requests };
    this.proposals.push({ slot, leadership, entry: { kind: 'command', group, proposal, payload } });
    this.next[leadership] = slot + 1;
    return `${proposal.client} ${proposal.request}`;
  }

  private proposed(slot: number, { kind, leadership }: SpecEntry): Entry {
    if (kind === 'noop') return { kind, group };
    const ballot = ballotOfLeadership(this.state, leadership);
    if (kind === 'leaderStart') return { kind, group, ballot };
    if (kind === 'other') return { kind: 'configuration', group, ballot, version: slot, members: [] };
    const found = this.proposals.find((one) => one.slot === slot && one.leadership === leadership);
    if (found === undefined) throw new Error(`leadership ${leadership} has proposed nothing in slot ${slot}`);
    return found.entry;
  }

  // ------------------------------------------------------------------------------------------- actions

  /** Takes the code to the state behind this action, as far as it does not go there by itself. */
  async take(after: PayloadState): Promise<void> {
    const before = this.state;
    this.state = after;
    const { name, params } = after.act;
    const number = typeof params[0] === 'number' ? params[0] : 0;
    const replica = number === 0 ? null : this.replica(number);
    await this.act({ name, params, before, after, number, replica });
  }

  private async act(step: Step): Promise<void> {
    const { name, params, after } = step;
    switch (name) {
      case 'Choose':
        return this.choose(this.proposed(after.log.length, specEntryOf(params[0]!)));
      case 'Purge':
        return this.purge(after.purged);
      case 'RelievePressure':
        return this.purge(after.purged);
      default:
        return this.actOf(step, step.replica!);
    }
  }

  private purge(to: number): void {
    this.purgedTo = to;
    for (const { payload } of this.replicas) payload?.purged();
  }

  private async actOf(step: Step, replica: PayloadReplica): Promise<void> {
    const { name, before, after, number } = step;
    const [was, is] = [before.replicas[number - 1]!, after.replicas[number - 1]!];
    const { postgres } = replica;
    switch (name) {
      case 'Elect':
        this.next[after.ballot] = after.next[after.ballot - 1]!;
        return replica.elected(after.ballot);
      case 'ProposeOther':
        this.next[was.leads] = after.next[was.leads - 1]!;
        return;
      case 'Feed':
      case 'Skip':
      case 'Release':
      case 'BeginLeadership':
        if (is.at > replica.known) replica.hear(is.at);
        return;
      case 'Promote': {
        postgres.promote(is.timeline, is.flushed);
        return this.endCopiesFrom(number, before);
      }
      case 'Resume':
        return postgres.startPrimary(is.wal);
      case 'Depose':
        if (replica.leads !== 0) {
          postgres.willLeave(is.wal.length);
          replica.deposed();
        }
        if (was.mode !== is.mode) this.endCopiesFrom(number, before);
        return;
      case 'Write':
      case 'WriteOwn':
        return postgres.append(is.wal);
      case 'LocalFlush':
        return postgres.flush(is.flushed);
      case 'Ship':
        return postgres.send();
      case 'EndWait':
      case 'EndSession':
        postgres.endWait();
        return replica.letAnswersGo();
      case 'AnswerCommit':
      case 'AnswerRead':
        if (!replica.mayAnswer()) throw new Error('no answer may leave');
        return;
      case 'TellOutcome':
        return this.tellOutcome(step, replica);
      case 'FoldAnew':
        return postgres.failStart();
      case 'Replay':
        return postgres.replay(is.wal, is.applied);
      case 'FlushStandby':
        if (step.params[2] === false) replica.save();
        return;
      case 'CrashPostgres':
        postgres.die(is.wal.length);
        return this.endCopiesFrom(number, before);
      case 'CrashNode':
        replica.die();
        return this.endCopiesFrom(number, before);
      case 'CrashBoth':
        replica.die();
        postgres.lose(is.wal.length);
        return this.endCopiesFrom(number, before);
      case 'Restart':
        postgres.willLeave(is.wal.length);
        return replica.start(is.at);
      case 'DatabaseUp':
        if (is.mode === 'primary') return postgres.startPrimary(is.wal);
        return postgres.startStandby(is.applied, this.time);
      case 'CheckPrefix':
        return postgres.keepWhole(is.wal, is.flushed);
      case 'BeginCopy':
        this.endCopiesFrom(number, before);
        return replica.copying.begin(memberName(is.copiedFrom));
      case 'EndCopy':
        return this.endCopy(replica, this.replica(was.copiedFrom), is);
      case 'GiveUpCopy':
        return replica.copying.fail();
      // What the code does of its own accord, and what is no concern of its.
      case 'ProposeLeadership':
      case 'Open':
      case 'Barrier':
      case 'RunRead':
      case 'ReadStandby':
        return;
      default:
        throw new Error(`nobody knows how to do ${name}`);
    }
  }

  private endCopiesFrom(source: number, before: PayloadState): void {
    for (const [index, { copiedFrom }] of before.replicas.entries())
      if (copiedFrom === source) this.replicas[index]!.copying.fail();
  }

  private endCopy(
    replica: PayloadReplica,
    source: PayloadReplica,
    is: { readonly wal: readonly WalUnit[]; readonly durable: number },
  ): void {
    if (!replica.copying.isReceived) throw new Error('no copy is received');
    replica.postgres.replaceBy(source.postgres, is.wal.length);
    const position = this.positions[is.durable]!;
    this.put(replica, { kind: 'standby' }, position);
    if (replica.known < is.durable) replica.known = is.durable;
    const from: ReplicaId = source.member;
    replica.copying.end({
      from,
      position,
      configuration: null,
      bytesReceived: 0,
      bytesTotal: 0,
      blocksReceived: 0,
    });
  }

  private async tellOutcome(
    { params, after, before }: Step,
    { outcomes, payload }: PayloadReplica,
  ): Promise<void> {
    const { request, xid, leadership } = asRecord(params[1]);
    const transaction = {
      leadership: ballotOfLeadership(after, asNumber(leadership)),
      xid: BigInt(asNumber(xid) + xidsBefore),
    };
    const outcome = await this.time.until(outcomes!.ofTransaction(transaction, answerMs));
    // Of leaderships below where its folding began it knows nothing.
    if (outcome === 'unknown' && payload!.wal!.base.leadership.round > asNumber(leadership)) return;
    const told = after.told.find((one) => !before.told.includes(one)) ?? 'nothing new';
    const expected = `${asText(request)}: ${outcome}`;
    if (told !== expected) throw new Error(`a client is told ${expected}, and not ${told}`);
  }
}

interface Step {
  readonly name: string;
  readonly params: PayloadState['act']['params'];
  readonly before: PayloadState;
  readonly after: PayloadState;
  readonly number: number;
  readonly replica: PayloadReplica | null;
}

function newDatabase(): { readonly disk: ModelDisk; readonly end: Lsn } {
  const disk = new ModelDisk();
  makeDatabase(disk, system);
  const written = disk.wal.unsynced.to;
  if (written <= segmentBytes) throw new Error('a new database has no WAL');
  return { disk, end: written };
}
