/** What `barista doctor` has found out, and what it makes of that. Shapes only. */
import type { ReplicaStatus } from '../../api/status.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';

/** `error`: it does not work, or data is in danger. `warning`: it works, and something will break it. `notice`: worth knowing. */
export type Severity = 'error' | 'warning' | 'notice';

export interface Finding {
  readonly severity: Severity;
  /** A whole sentence. */
  readonly what: string;
  /** What a person can do about it; whole sentences. */
  readonly todo: string;
}

/** One small judgement. Looks at nothing but the facts. */
export type Rule = (facts: DoctorFacts) => readonly Finding[];

/** What could be looked up, or why not. */
export type Known<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

/** A directory. What is not there has no space. */
export interface PlaceFacts {
  readonly path: string;
  readonly exists: boolean;
  /** Why this process cannot read and write it; null: it can. Of one that is not there: whether it could be made. */
  readonly accessProblem: string | null;
  /** The lower nine bits; null: it is not there. */
  readonly mode: number | null;
  readonly freeBytes: number | null;
  readonly totalBytes: number | null;
  /** Null: this file system does not count them. */
  readonly freeFiles: number | null;
  readonly device: number | null;
  readonly isInMemory: boolean;
}

export interface MemberFacts {
  readonly id: string;
  /** Of its port for peers and of that for SQL clients: milliseconds until a connection was there. */
  readonly peer: Known<number>;
  readonly pgwire: Known<number>;
}

export interface ProgramFacts {
  /** Such as `18.4`. */
  readonly version: string;
  readonly majorVersion: number;
}

export interface ArchiveFacts {
  /** Pieces without a gap, by positions, the oldest first. */
  readonly stretches: readonly { readonly from: number; readonly to: number }[];
  readonly cluster: string | null;
}

export interface BackupFacts {
  readonly name: string;
  readonly takenAtMs: number;
  /** The position at its beginning. */
  readonly end: number;
  readonly bytes: number;
}

export interface DoctorFacts {
  readonly nowMs: number;
  readonly configFile: string;
  readonly config: Known<ReplicaConfig>;
  /** Bits of the files that hold the secret; null: it could not be looked at. */
  readonly secretModes: readonly { readonly path: string; readonly mode: number }[];
  readonly isRoot: boolean;
  readonly dataDir: PlaceFacts | null;
  /** A file system is mounted at `dataDir/postgres`. */
  readonly isPostgresMounted: boolean;
  readonly archivePlace: PlaceFacts | null;
  readonly backupPlace: PlaceFacts | null;
  readonly programs: Known<ProgramFacts> | null;
  /** The major version of the database that is there; null: there is none, or it cannot be read. */
  readonly dataMajorVersion: number | null;
  /** Milliseconds that writes of a page took to be durable; one each. */
  readonly syncMs: Known<readonly number[]> | null;
  readonly status: Known<ReplicaStatus> | null;
  readonly members: readonly MemberFacts[];
  /** By how much the wall clock went ahead of the monotonic one while all this was looked up. */
  readonly clockShiftMs: number;
  /** Null: nobody here can say. */
  readonly isClockSynchronized: boolean | null;
  readonly clockSource: string | null;
  /** How many files the replica's process may have open; null: it does not run here, or that cannot be read. */
  readonly openFilesMax: number | null;
  readonly archive: Known<ArchiveFacts> | null;
  readonly backups: Known<readonly BackupFacts[]> | null;
  /** Databases that were set aside. */
  readonly setAside: readonly string[];
}
