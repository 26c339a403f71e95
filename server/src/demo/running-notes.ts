/**
 * Notes of who the demo's processes are, written down one after the other while it runs.
 *
 * Invariant: what cannot be written (a full disk, a directory that was deleted) is told once until it can be written again, and ends nothing.
 */
export interface RunningNotes {
  note(pids: readonly number[]): void;
  /** What was noted until now is written, or was told of. */
  settled(): Promise<void>;
}

export function createRunningNotes(
  write: (pids: readonly number[]) => Promise<void>,
  say: (line: string) => void,
): RunningNotes {
  let last = Promise.resolve();
  let isTold = false;
  return {
    note(pids) {
      last = last
        .then(() => write(pids))
        .then(
          () => void (isTold = false),
          (error: Error) => {
            if (isTold) return;
            isTold = true;
            say(
              `Cannot write down which processes run: ${error.message}. All goes on; should this demo be killed, look for what it leaves yourself.`,
            );
          },
        );
    },
    settled: () => last,
  };
}
