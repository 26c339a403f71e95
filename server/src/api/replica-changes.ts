/** Replicas of a running demo that come and go, and backups of it: what the page asks, and what it is told. */
export type ReplicaChangeRequest =
  | { readonly action: 'add' }
  /** From the members, and from this machine: its data are deleted. */
  | { readonly action: 'remove'; readonly replica: string }
  /** Another one is added, and when that votes this one is removed. */
  | { readonly action: 'replace'; readonly replica: string };

export interface ReplicaChanged {
  readonly ok: true;
  /** Which one came or went; of a replacement the one that came, and what is left of it goes on. */
  readonly replica: string;
  readonly message: string;
}

/** What became of the change that was asked for last: `asked` of the leader and under way; `joining`: the new one was started, and does not vote yet. */
export interface ReplicaChangeStatus {
  readonly state: 'idle' | 'asked' | 'joining' | 'done' | 'failed';
  /** For people, whole sentences. */
  readonly text: string;
  /** The new one that does not vote yet; null unless `joining`. */
  readonly added: string | null;
  /** Who goes when it does; null: nobody. */
  readonly replaced: string | null;
}

export interface BackupTaken {
  /** The whole path, on the demo's machine. */
  readonly file: string;
  readonly bytes: number;
  readonly takenAt: string;
}

export interface BackupsStatus {
  /** Null: none is being taken. */
  readonly running: { readonly file: string; readonly bytes: number } | null;
  readonly last: BackupTaken | null;
  /** Why the last one that was asked for is not there; null: it is. */
  readonly problem: string | null;
}
