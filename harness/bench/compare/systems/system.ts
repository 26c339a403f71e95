/** What is compared, as the measurements see it: where clients connect, which databases there are, and which processes. */
import type { SqlTarget } from '../../sql.ts';
import type { WorkloadName } from '../loads/workloads.ts';

export type SystemId =
  | 'plain'
  | 'native'
  | 'remoteApply'
  | 'barista'
  | 'direct'
  | 'follower'
  | 'readers'
  | 'pgpool'
  | 'galera';

/** A main process; all that descends from it belongs to it. */
export interface Part {
  /** What it is in its system, such as `leader`. Parts of one role count together. */
  readonly role: string;
  readonly pid: number;
}

export interface System {
  readonly id: SystemId;
  readonly label: string;
  /** Which clients and programs it understands. */
  readonly engine: 'postgres' | 'mariadb';
  /** Whose tables these are: what is loaded there is there for all that share them. */
  readonly tablesOf: SystemId;
  runs(workload: WorkloadName): boolean;
  /** Somebody else's: what fails there is told, and is not the end of the benchmark. */
  readonly isPeer: boolean;
  /** Where tables are made and loaded. Asked for before each use, for leadership may have moved. */
  client(): Promise<SqlTarget>;
  /** Where the clients of a load connect, in equal parts. Asked for before each run. */
  doors(): Promise<readonly SqlTarget[]>;
  /** Every PostgreSQL of it, as its superuser. */
  databases(): Promise<readonly SqlTarget[]>;
  parts(): Promise<readonly Part[]>;
}

export const systemLabels: Readonly<Record<SystemId, string>> = {
  plain: 'one PostgreSQL',
  native: 'standbys',
  remoteApply: 'standbys, remote_apply',
  barista: 'Barista',
  direct: 'Barista, socket',
  follower: "Barista, follower's port",
  readers: 'Barista, reads at all ports',
  pgpool: 'pgpool-II',
  galera: 'MariaDB Galera',
};

/** In the order in which reports list them. */
export const systemIds = Object.keys(systemLabels) as readonly SystemId[];

/** The demo's, so the same on every system. */
export const account = { user: 'barista', password: 'barista', database: 'barista' } as const;
