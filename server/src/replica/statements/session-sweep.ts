/**
 * Sessions that this replica's clients had in an earlier life of it: nobody comes back to them, and they are closed at all replicas.
 *
 * Responsible for: whose sessions are this replica's, which their names tell, and finding those that have no client. One that is being opened, or closed, is not known for a moment: only who is seen twice in a row is given up.
 */
import { createHash } from 'node:crypto';
import type { ReplicaId } from '../../multipaxos/types/names.ts';

/** Of 32 hexadecimal digits that name a session: the rest, 96 bits, is drawn. */
const ownDigits = 8;

/** What the names of a replica's sessions begin with. Two of nine replicas have the same in one of a hundred million groups, which then would close each other's sessions. */
export function ownPrefix(replica: ReplicaId): string {
  return createHash('sha256').update(replica).digest('hex').slice(0, ownDigits);
}

export interface SweepOptions {
  readonly prefix: string;
  /** All that are open here, whosever they are. */
  readonly open: () => Iterable<string>;
  readonly hasClient: (session: string) => boolean;
  readonly close: (session: string) => void;
}

export class SessionSweep {
  private readonly options: SweepOptions;
  private suspects: ReadonlySet<string> = new Set();

  constructor(options: SweepOptions) {
    this.options = options;
  }

  /** Now and then. */
  look(): void {
    const { prefix, open, hasClient, close } = this.options;
    const left = [...open()].filter((session) => session.startsWith(prefix) && !hasClient(session));
    for (const session of left) if (this.suspects.has(session)) close(session);
    this.suspects = new Set(left);
  }
}
