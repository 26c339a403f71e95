/** Replicas of a running demo that come and go, and backups of it: what the page asks, and what it is told. */
export type ReplicaChangeRequest =
  | { readonly action: 'add' }
  /** From the members, and from this machine: its data are deleted. */
  | { readonly action: 'remove'; readonly replica: string };

export interface ReplicaChanged {
  readonly ok: true;
  /** Which one came or went. */
  readonly replica: string;
  readonly message: string;
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
