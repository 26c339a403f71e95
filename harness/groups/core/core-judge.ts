/**
 * Judges what the protocol cores of a group do, from outside: by their disks, by what leaves them, and by what they tell of their actions.
 *
 * Responsible for: which judge hears of what, and the rules of leaders. The rules are named in core-rule.ts.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { ballotLabel } from '../../../server/src/multipaxos/ballot.ts';
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { Message } from '../../../server/src/multipaxos/types/messages.ts';
import type { EntryLabel, ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../../server/src/multipaxos/types/records.ts';
import type { CoreTraceEvent } from '../../../server/src/multipaxos/types/trace.ts';
import type { MemoryGroup } from '../../../server/src/replica/testing/memory-group.ts';
import type { MemoryMember } from '../../../server/src/replica/testing/memory-member.ts';
import type { MemberWatch } from '../../../server/src/replica/testing/member-watch.ts';
import { AcceptorJudge } from './acceptor-judge.ts';
import type { CoreFault } from './core-rule.ts';
import { MembersJudge } from './members-judge.ts';
import { ToldPointers } from './told-pointers.ts';

export class CoreJudge implements MemberWatch {
  private readonly fault: CoreFault;
  private readonly machine: (id: ReplicaId) => MemoryMember;
  private readonly members: MembersJudge;
  private readonly acceptors: AcceptorJudge;
  private readonly told: ToldPointers;
  /** Of each core: what it holds in memory above its commit point. */
  private readonly held = new Map<ReplicaId, Map<Slot, EntryLabel>>();

  constructor(machine: (id: ReplicaId) => MemoryMember, fault: (what: string) => void) {
    this.machine = machine;
    this.fault = (rule, detail) => fault(`${rule}: ${detail}`);
    this.members = new MembersJudge(this.fault);
    this.acceptors = new AcceptorJudge(this.members, this.fault);
    this.told = new ToldPointers((member) => this.databaseOf(member));
  }

  // ------------------------------------------------------------------------------------------- disks and messages

  logOpens(member: ReplicaId, recovered: RecoveredLog, isNew: boolean): void {
    this.members.logOpens(member, recovered, isNew);
    this.acceptors.logOpens(member, recovered);
    this.told.opens(member);
  }

  /** What is only asked for promises nothing. */
  writes(member: ReplicaId): void {
    this.told.writes(member);
  }

  areDurable(member: ReplicaId, records: readonly LogRecord[]): void {
    for (const record of records) {
      this.members.isDurable(member, record);
      this.acceptors.isDurable(member, record);
    }
    this.told.areDurable(member);
  }

  letsGo(member: ReplicaId, upTo: Slot): void {
    this.isInDatabase(member, 'lets go of', upTo, this.databaseOf(member));
    this.acceptors.letsGo(member, upTo);
  }

  sends(member: ReplicaId, _to: ReplicaId, message: Message): void {
    this.acceptors.sends(member, message);
    if (message.kind === 'HeartbeatAck')
      this.isInDatabase(member, 'says to have', message.durableApplicationPointer, this.told.most(member));
  }

  private databaseOf(member: ReplicaId): Slot {
    return this.machine(replicaOf(member)).postgres.disk.state?.position.slot ?? (0 as Slot);
  }

  private isInDatabase(member: ReplicaId, what: string, slot: Slot, has: Slot): void {
    if (slot > has)
      this.fault('PurgedIsDurable', `${member} ${what} slot ${slot}, and its database has ${has}`);
  }

  // ------------------------------------------------------------------------------------------------------ actions

  event(event: TraceEvent): void {
    const { replica } = event;
    this.told.note(replica);
    if (event.layer === 'consensus') this.action(replica, event);
    if (event.layer !== 'apply') return;
    if (event.name === 'Feed') this.acceptors.isChosen(replica, event.slot, event.label);
    if (event.name === 'Skip' || event.name === 'BeginLeadership')
      this.acceptors.isChosen(replica, event.slot, null);
  }

  private action(member: ReplicaId, event: CoreTraceEvent): void {
    const { name, state } = event;
    if (name === 'Restart') {
      this.held.set(member, new Map());
      this.acceptors.restarts(member, event);
    }
    if (name === 'BecomeLeader') this.members.leads(state.ballot);
    if (name === 'Serve') this.serves(member, event);
    this.follow(member, event);
  }

  /** Everything that its commit point passes is chosen, and is what it holds. */
  private follow(member: ReplicaId, { name, state, votes = [], base = 0 as Slot }: CoreTraceEvent): void {
    const held = this.held.get(member) ?? new Map<Slot, EntryLabel>();
    this.held.set(member, held);
    // An Fsync tells what was written before.
    if (name !== 'Fsync') for (const [slot, , label] of votes) held.set(slot, label);
    this.acceptors.allChosen(member, state.commitPoint);
    for (const [slot, label] of held) {
      if (slot > state.commitPoint) continue;
      // What the database holds takes the place of old votes.
      if (slot > base) this.acceptors.isChosen(member, slot, label);
      held.delete(slot);
    }
  }

  private serves(member: ReplicaId, { state }: CoreTraceEvent): void {
    const pointer = this.machine(replicaOf(member)).process?.assembled?.payload.pointer ?? 0;
    const chosen = this.acceptors.chosenBelow(state.ballot);
    if (pointer < chosen)
      this.fault(
        'ServesAllThatIsChosen',
        `${member} serves in ${ballotLabel(state.ballot)} and has applied ${pointer} of ${chosen}`,
      );
  }

  /** To be called often. */
  look({ machines }: MemoryGroup): void {
    this.told.look();
    const holders = machines.filter(
      ({ process }) => process?.assembled?.core.leaseHeld(process.timers.nowMs()) === true,
    );
    if (holders.length > 1)
      this.fault('OneLeaseHolder', `${holders.map(({ id }) => id).join(' and ')} hold a lease`);
    for (const { id, process } of holders) {
      const { lastSlot } = process!.assembled!.core.snapshot();
      const { newestChosen } = this.acceptors;
      if (newestChosen > lastSlot)
        this.fault(
          'LeaderKnowsWhatIsChosen',
          `${id} holds a lease and has ${lastSlot}, and ${newestChosen} is chosen`,
        );
    }
  }
}
