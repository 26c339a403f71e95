/**
 * What a database had when a message was made that leaves now: one that waits for a write of the log, a HeartbeatAck among them, says what was true as that write began or later. Its database
 * may be another one by now, of a copy that has less.
 *
 * Responsible for: the most that a member's database has had since the oldest write that may still hold messages back. Who receives an old message must be able to live with it, as the
 * network holds messages up, too; what a log itself lets go of is judged by what its database has at that moment.
 */
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';

interface Held {
  isWriting: boolean;
  most: Slot;
}

export class ToldPointers {
  private readonly has: (member: ReplicaId) => Slot;
  private readonly held = new Map<ReplicaId, Held>();

  constructor(has: (member: ReplicaId) => Slot) {
    this.has = has;
  }

  /** One write at a time; one that had no room is asked for again. */
  writes(member: ReplicaId): void {
    this.held.set(member, { isWriting: true, most: this.most(member) });
  }

  /** What waited for it leaves in the same turn, behind this call. */
  areDurable(member: ReplicaId): void {
    const held = this.held.get(member);
    if (held !== undefined) held.isWriting = false;
    this.note(member);
  }

  /** Its database may have another position now. */
  note(member: ReplicaId): void {
    const held = this.held.get(member);
    if (held !== undefined) held.most = Math.max(held.most, this.has(member)) as Slot;
  }

  /** A process begins, and has no message of the one before. */
  opens(member: ReplicaId): void {
    this.held.delete(member);
  }

  /** Between turns: nothing is held back but by writes that are under way. */
  look(): void {
    for (const [member, { isWriting }] of this.held) if (!isWriting) this.held.delete(member);
  }

  most(member: ReplicaId): Slot {
    this.note(member);
    return this.held.get(member)?.most ?? this.has(member);
  }
}
