/**
 * What the checker beside a cluster tells (`npm start -- --check`), and the protocol by which it does.
 *
 * The checker is a process of its own: the server imports nothing of it. It is given the directories in which replicas record their traces. On its standard output it writes one `CheckStatus` a line, as JSON, first when it has
 * seen what was recorded before (that it leaves out), then whenever that changes; on its
 * standard input it reads, as JSON a line, which processes run, and when that was looked at (`ProcessesWord`). It ends when its standard input does.
 */

/** One that is `stopped` then had recorded all that it did before `atUs`, in microseconds of the clock of trace events; of what came after nothing is said. */
export interface ProcessesWord {
  readonly atUs: number;
  readonly processes: Readonly<Record<string, 'running' | 'paused' | 'stopped'>>;
}

export interface CheckStatus {
  /** Events that the specification allows. */
  readonly checked: number;
  /** Recorded and not judged yet. */
  readonly behind: number;
  /** How old the oldest of those is. */
  readonly behindMs: number;
  /** Never judged: there were more than could be kept. */
  readonly skipped: number;
  /** The first event that the specification does not allow: of which incarnation, and which of its run. */
  readonly refused: {
    readonly replica: string;
    readonly action: string;
    readonly reason: string;
    readonly run: string;
    readonly seq: number;
  } | null;
  /** Why nothing more is judged; null: it goes on. */
  readonly ended: string | null;
}
