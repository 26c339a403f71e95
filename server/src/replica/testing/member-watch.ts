/**
 * What can be seen from outside of a replica's protocol core: what its disk keeps, and what leaves for others.
 *
 * Responsible for: telling it to whoever watches, at the moment when it holds. Changes nothing.
 */
import type { Message } from '../../multipaxos/types/messages.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../multipaxos/types/records.ts';
import type { LogStore } from '../../ports/log-store.ts';

/** `member` is the name of an incarnation. */
export interface MemberWatch {
  /** Its log is made, `isNew`, or opened with what the disk has of it. */
  logOpens(member: ReplicaId, recovered: RecoveredLog, isNew: boolean): void;
  /** The log is asked to keep them; again, if it had no room. */
  writes(member: ReplicaId, records: readonly LogRecord[]): void;
  /** The log has said that they survive any crash. */
  areDurable(member: ReplicaId, records: readonly LogRecord[]): void;
  letsGo(member: ReplicaId, upTo: Slot): void;
  sends(member: ReplicaId, to: ReplicaId, message: Message): void;
}

export function bothWatch(one: MemberWatch, other: MemberWatch): MemberWatch {
  return {
    logOpens(...told) {
      one.logOpens(...told);
      other.logOpens(...told);
    },
    writes(...told) {
      one.writes(...told);
      other.writes(...told);
    },
    areDurable(...told) {
      one.areDurable(...told);
      other.areDurable(...told);
    },
    letsGo(...told) {
      one.letsGo(...told);
      other.letsGo(...told);
    },
    sends(...told) {
      one.sends(...told);
      other.sends(...told);
    },
  };
}

export function watchedLog(log: LogStore, watch: MemberWatch): LogStore {
  const { member } = log.identity;
  return {
    ...log,
    async append(records) {
      watch.writes(member, records);
      await log.append(records);
      watch.areDurable(member, records);
    },
    purge(upTo) {
      watch.letsGo(member, upTo);
      return log.purge(upTo);
    },
  };
}
