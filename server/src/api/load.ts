/** The load that the demo runs by itself, and what it knows of each write: `POST /api/load`, and frames of the stream. */

/** `perSecond`: requests of all clients together, as far as they are answered in time. `readShare`: of these, 0 to 1. */
export interface LoadSettings {
  readonly isRunning: boolean;
  readonly clients: number;
  readonly perSecond: number;
  readonly readShare: number;
}

/** Writes since the load began. `refused`: the client was told that it did not take effect; `unknown`: it was told nothing, or that nobody knows. `readsRefused`: for whatever reason. */
export interface LoadCounts {
  readonly acknowledged: number;
  readonly refused: number;
  readonly unknown: number;
  readonly reads: number;
  readonly readsRefused: number;
}

/** `missing`: of what was acknowledged before it was looked through last. `checkedAgoMs` null: it never was. `problem`: why it could not be looked through when that was tried last. */
export interface LoadAtReplica {
  readonly id: string;
  readonly checkedAgoMs: number | null;
  readonly missing: number;
  readonly problem: string | null;
}

/** Something that must not be, and what is known of it. `row`: the write's id. `lost`: `replica` lacks it. `stale`: a read there did not show it, though it had been acknowledged, or shown to somebody, before the read began. Times are of the run's clock; `acknowledgedAtMs` null: nobody was told that it took effect. */
export interface LoadFinding {
  readonly kind: 'lost' | 'stale';
  readonly row: number;
  readonly replica: string;
  readonly acknowledgedAtMs: number | null;
  readonly foundAtMs: number;
}

export interface LoadStatus {
  readonly settings: LoadSettings;
  readonly counts: LoadCounts;
  /** Acknowledged, and missing at some replica that was looked through since. */
  readonly lost: number;
  /** Some of these. */
  readonly lostIds: readonly number[];
  /** Refused, and there all the same. */
  readonly risen: number;
  /** Reads that did not show what they had to. Missing: this load does not judge what it reads. */
  readonly stale?: number;
  /** The first of each kind. Missing: this load does not tell. */
  readonly findings?: readonly LoadFinding[];
  readonly replicas: readonly LoadAtReplica[];
}
