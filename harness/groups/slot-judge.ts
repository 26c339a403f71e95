/**
 * Judges what the replicas of a group say of the chosen WAL as they go on: all of them must make the same of each slot, feed and report nothing that is not chosen, and serve nothing either.
 *
 * Looks into the replicas for positions only, where that makes a mistake show at once instead of by luck.
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import { compareBallots } from '../../server/src/multipaxos/ballot.ts';
import type { Ballot, Slot } from '../../server/src/multipaxos/types/names.ts';
import { formatLsn, type Lsn } from '../../server/src/wal/lsn.ts';
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';

export class SlotJudge {
  /** Leaderships that began a timeline. */
  leaderships = 0;
  private readonly fault: (what: string) => void;
  private readonly timelines = new Map<number, string>();
  /** What each slot does, and who has said so first. */
  private readonly effects = new Map<Slot, { readonly what: string; readonly id: string }>();
  /** Leaderships that have begun, by the slots of their entries. */
  private readonly begun = new Map<Slot, Ballot>();
  /** The highest position that any replica has said to be chosen. */
  private chosenTo = 0 as Lsn;

  constructor(fault: (what: string) => void) {
    this.fault = fault;
  }

  event(member: MemoryMember, event: TraceEvent): void {
    if (event.layer !== 'apply') return;
    const { id } = member;
    if (event.name === 'BeginLeadership') this.leadership(id, event);
    if (event.name === 'Feed') this.feeds(member, event);
    if (event.name === 'Skip') this.effect(id, event.slot, `nothing, as ${event.why}`);
    if (event.name === 'Release') this.isChosen(event.position);
    if (event.name === 'Open') this.opens(member);
    if (event.name === 'Resume') this.resumes(id, event.leadership);
  }

  private feeds(
    { id, process }: MemoryMember,
    { slot, start, end }: Extract<TraceEvent, { name: 'Feed' }>,
  ): void {
    const commitPoint = process?.assembled?.core.commitPoint ?? null;
    if (commitPoint !== null && slot > commitPoint)
      this.fault(`${id} feeds its standby slot ${slot}, and ${commitPoint} is chosen`);
    this.isChosen(end);
    this.effect(id, slot, `WAL ${start} ${end}`);
  }

  private leadership(id: string, event: Extract<TraceEvent, { name: 'BeginLeadership' }>): void {
    const { timeline, leadership, resumes, slot, fork } = event;
    const who = `${leadership.round} of ${leadership.replica}`;
    this.effect(id, slot, `leadership ${who} on ${timeline} at ${fork}`);
    this.begun.set(slot, leadership);
    if (resumes) return;
    const before = this.timelines.get(timeline);
    if (before === undefined) this.leaderships += 1;
    if (before !== undefined && before !== who)
      this.fault(`timeline ${timeline} is of ${before} and, says ${id}, of ${who}`);
    this.timelines.set(timeline, who);
  }

  private effect(id: string, slot: Slot, what: string): void {
    const before = this.effects.get(slot);
    if (before !== undefined && before.what !== what)
      this.fault(`slot ${slot} is "${what}" for ${id}, and "${before.what}" for ${before.id}`);
    this.effects.set(slot, { what, id });
  }

  /** Of the leaderships below its own the newest was its own, too. Spec: MayResume of OrderedApply.tla. */
  private resumes(id: string, leadership: Ballot): void {
    const below = [...this.begun].filter(([, other]) => compareBallots(other, leadership) < 0);
    const [, last] = below.toSorted(([left], [right]) => left - right).at(-1) ?? [];
    if (last !== undefined && last.replica !== leadership.replica)
      this.fault(`${id} goes on as a primary under ${leadership.round}, and ${last.replica} led last`);
  }

  /** All that the first session can see was recovered, or replayed. */
  private opens({ id, postgres: { run }, process }: MemoryMember): void {
    const chosen = process?.assembled?.payload.chosenEnd ?? null;
    const newest = run?.primary?.newestSeen() ?? null;
    if (chosen !== null && newest !== null && newest > chosen)
      this.fault(`${id} serves what ends at ${formatLsn(newest)}, and ${formatLsn(chosen)} is chosen`);
  }

  /** A primary was told that everything below is chosen. */
  reported(member: MemoryMember | undefined, position: Lsn): void {
    const chosen = member?.process?.assembled?.payload.chosenEnd ?? null;
    if (chosen !== null && position > chosen)
      this.fault(`${member!.id} reported ${formatLsn(position)}, and ${formatLsn(chosen)} is chosen`);
  }

  isChosen(end: number): void {
    if (end > this.chosenTo) this.chosenTo = end as Lsn;
  }

  /** A standby has replayed everything below. */
  replayed(id: string, position: Lsn): void {
    if (position > this.chosenTo)
      this.fault(
        `the standby of ${id} has replayed ${formatLsn(position)}, and ${formatLsn(this.chosenTo)} is chosen`,
      );
  }
}
