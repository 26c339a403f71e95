/** What the checker of a cluster that runs tells: one such object a line, as JSON, whenever it changes. The demo reads the same (server/src/api/check.ts says it again: the server imports nothing from here). */

export interface LiveReport {
  /** Events that the specification allows. */
  readonly checked: number;
  /** Read and not judged yet. */
  readonly behind: number;
  /** How old the oldest of those is. */
  readonly behindMs: number;
  /** Never judged: there were too many to keep. */
  readonly skipped: number;
  /** The first event that the specification does not allow. */
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
