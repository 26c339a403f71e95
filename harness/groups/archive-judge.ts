/**
 * Judges archives of WAL: what is in one is chosen, at every time, and in the end it is the chosen WAL, byte by byte, up to its end.
 *
 * What is missing must be said: an archive that has no gap in what it keeps has all of it.
 */
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';
import { formatLsn, type Lsn } from '../../server/src/wal/lsn.ts';
import { timelineAt, type WalPosition } from '../../server/src/wal/position.ts';

/** What is compared at once. */
const comparedBytes = 64 * 1024;

export class ArchiveJudge {
  /** Compared, of all archives in the end. */
  bytes = 0;
  private readonly haveToldOfGaps = new Set<string>();
  private readonly fault: (what: string) => void;
  private readonly chosenEnd: (timeline: number) => Lsn;

  constructor(fault: (what: string) => void, chosenEnd: (timeline: number) => Lsn) {
    this.fault = fault;
    this.chosenEnd = chosenEnd;
  }

  look(members: readonly MemoryMember[]): void {
    for (const member of members) {
      const { id, archive } = member;
      if ((reportOf(member)?.report.gaps ?? 0) > 0) this.haveToldOfGaps.add(id);
      const durable = archive?.disk.durable ?? null;
      if (durable === null) continue;
      const chosen = this.chosenEnd(durable.timeline);
      if (durable.end > chosen)
        this.fault(
          `${id} has archived ${formatLsn(durable.end)} of timeline ${durable.timeline}, which is chosen up to ${formatLsn(chosen)}`,
        );
    }
  }

  /** Each has all that is chosen durably, but for those that have told of a gap: what comes behind that counts from the next segment on, which no run reaches. */
  areComplete(members: readonly MemoryMember[]): boolean {
    this.look(members);
    return members.every((member) => {
      const { report, position } = reportOf(member) ?? {};
      const end = report?.end ?? null;
      return end === null || end === formatLsn(position!.end) || this.haveToldOfGaps.has(member.id);
    });
  }

  conclude(members: readonly MemoryMember[]): void {
    this.look(members);
    for (const member of members) {
      const { report, position } = reportOf(member) ?? {};
      if (member.archive === null || report === undefined) continue;
      const contents = member.archive.disk.contents();
      const last = contents.at(-1);
      const end = last === undefined ? null : formatLsn((last.from + last.bytes.length) as Lsn);
      if (report.end !== null && end !== report.end)
        this.fault(`the archive of ${member.id} ends at ${end}, and says that it does at ${report.end}`);
      if (contents.length > 1 && !this.haveToldOfGaps.has(member.id))
        this.fault(`the archive of ${member.id} has a gap, of which it has not told`);
      for (const { from, bytes } of contents) this.compare(member.id, from, bytes, position!, members);
    }
  }

  /** With what the databases have there, whichever still has it. */
  private compare(
    id: string,
    from: Lsn,
    bytes: Buffer,
    position: WalPosition,
    members: readonly MemoryMember[],
  ): void {
    for (let done = 0; done < bytes.length; ) {
      const at = (from + done) as Lsn;
      const timeline = timelineAt(position, at);
      const fork = position.forks.find((other) => other.at > at)?.at ?? Number.POSITIVE_INFINITY;
      const wanted = Math.min(comparedBytes, bytes.length - done, fork - at);
      const found = members
        .map(({ postgres }) => postgres.disk.wal.read(at, timeline, wanted))
        .find((read) => read.length > 0);
      const archived = bytes.subarray(done, done + (found?.length ?? wanted));
      if (found !== undefined && !found.equals(archived))
        this.fault(
          `the archive of ${id} differs from what is chosen within ${archived.length} bytes at ${formatLsn(at)}`,
        );
      if (found !== undefined) this.bytes += found.length;
      done += archived.length;
    }
  }
}

/** Null: it does not run. */
function reportOf({ replica, process }: MemoryMember) {
  const report = replica?.status(0).archive ?? null;
  const position = process?.assembled?.payload.position ?? null;
  return report === null || position === null ? null : { report, position };
}
