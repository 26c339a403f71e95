/**
 * Judges that a standby replays chosen WAL and nothing else. Spec: StandbyIsChosen of OrderedApply.tla.
 *
 * A position alone does not tell, as others may have got as far on another timeline: what an old leader wrote in vain looks like theirs then, until somebody reads it. So it is noted how far each timeline is chosen.
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';
import { formatLsn, type Lsn } from '../../server/src/wal/lsn.ts';
import type { WalPosition } from '../../server/src/wal/position.ts';

export class StandbyJudge {
  private readonly fault: (what: string) => void;
  /** By timeline: where what is known to be chosen on it ends. */
  private readonly chosenOn = new Map<number, number>();

  constructor(fault: (what: string) => void) {
    this.fault = fault;
  }

  event(member: MemoryMember, event: TraceEvent): void {
    if (event.layer !== 'apply') return;
    if (event.name === 'Feed') this.chosen(event.timeline, event.end);
    if (event.name === 'BeginLeadership') this.chosen(event.timeline, event.fork);
    // What a leader ships is of its own timeline.
    if (event.name === 'Release') this.chosen(positionOf(member)?.timeline ?? 0, event.position);
  }

  /** Where what is known to be chosen of a timeline ends. */
  chosenEnd(timeline: number): Lsn {
    return (this.chosenOn.get(timeline) ?? 0) as Lsn;
  }

  private chosen(timeline: number, end: number): void {
    if (end > (this.chosenOn.get(timeline) ?? 0)) this.chosenOn.set(timeline, end);
  }

  look(members: readonly MemoryMember[]): void {
    for (const member of members) this.position(positionOf(member));
    for (const { id, postgres } of members) {
      const { standby = null } = postgres.run ?? {};
      if (standby === null) continue;
      const { at, timeline } = standby.endOfReplay;
      const chosen = this.chosenEnd(timeline);
      if (at > chosen)
        this.fault(
          `the standby of ${id} has replayed ${formatLsn(at)} on timeline ${timeline}, which is chosen up to ${formatLsn(chosen)}`,
        );
    }
  }

  private position(position: WalPosition | null): void {
    if (position === null) return;
    this.chosen(position.timeline, position.end);
    for (const { timeline, at } of position.forks) this.chosen(timeline - 1, at);
  }
}

function positionOf({ process }: MemoryMember): WalPosition | null {
  return process?.assembled?.payload.position ?? null;
}
