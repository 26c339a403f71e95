/** What is compared, as the measurements see it: where clients connect, which PostgreSQLs there are, and which processes. */
import type { SqlTarget } from '../../sql.ts';

export type SystemId = 'plain' | 'native' | 'barista' | 'direct';

export interface System {
  readonly id: SystemId;
  readonly label: string;
  /** Where an ordinary client connects. Asked for before each run, for leadership may have moved. */
  client(): Promise<SqlTarget>;
  /** Every PostgreSQL of it, as its superuser. */
  databases(): Promise<readonly SqlTarget[]>;
  /** Main processes; all that descends from them belongs to it. */
  processes(): Promise<readonly number[]>;
}

export const systemLabels: Readonly<Record<SystemId, string>> = {
  plain: 'one PostgreSQL',
  native: 'two standbys',
  barista: 'Barista',
  direct: 'Barista, socket',
};

/** The demo's, so the same on every system. */
export const account = { user: 'barista', password: 'barista', database: 'barista' } as const;
