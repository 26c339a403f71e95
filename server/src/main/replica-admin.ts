/** What operators ask of a replica, put together from its parts: the replica's own answers, and the backup that the postgres adapter makes. */
import { openBackup } from '../adapters/postgres/backup/backup-file.ts';
import type { BackupSource } from '../adapters/postgres/backup/base-backup.ts';
import type { HeldResourceWatch } from '../adapters/postgres/inspection/held-resources.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { AdminAnswer, HttpAdmin } from '../gateways/http/admin-routes.ts';
import { CopyError } from '../ports/copy.ts';
import type { LogIdentity } from '../ports/log-store.ts';
import type { Replica } from '../replica/replica.ts';
import type { ReplicaDatabase } from './replica-database.ts';

export interface AdminParts {
  readonly replica: Replica;
  readonly database: ReplicaDatabase;
  readonly backups: BackupSource;
  readonly identity: LogIdentity;
  readonly held: Pick<HeldResourceWatch, 'endSession'>;
}

export function replicaAdmin(config: ReplicaConfig, parts: AdminParts): HttpAdmin {
  const { admin } = parts.replica;
  return {
    members: (request) => admin.members(request),
    verify: (request) => admin.verify(request),
    transferLeadership: (request) => admin.transferLeadership(request),
    async endSession({ pid }) {
      try {
        if (await parts.held.endSession(pid)) return { ok: true, answer: { ok: true, pid } };
        const message = `No client's session of this replica's PostgreSQL has process id ${pid}.`;
        return { ok: false, error: { code: 'badRequest', message } };
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        return {
          ok: false,
          error: { code: 'unavailable', message: `PostgreSQL does not answer: ${reason}.` },
        };
      }
    },
    async backup() {
      try {
        const { stream } = await openBackup({ source: parts.backups, header: headerOf(config, parts) });
        return { ok: true, answer: stream };
      } catch (error) {
        if (!(error instanceof CopyError)) throw error;
        return { ok: false, error: { code: 'unavailable', message: error.message } };
      }
    },
  };
}

/** `behind` null: the replica is not in its group yet; `whyNot` says what it waits for. */
export function adminOf(behind: () => HttpAdmin | null, whyNot: () => string): HttpAdmin {
  const unavailable = (): AdminAnswer<never> => ({
    ok: false,
    error: { code: 'unavailable', message: whyNot() },
  });
  return {
    members: async (request) => behind()?.members(request) ?? unavailable(),
    verify: async (request) => behind()?.verify(request) ?? unavailable(),
    transferLeadership: async (request) => behind()?.transferLeadership(request) ?? unavailable(),
    endSession: async (request) => behind()?.endSession(request) ?? unavailable(),
    backup: async () => behind()?.backup() ?? unavailable(),
  };
}

/** What a backup of this replica says of itself. */
export function headerOf(
  { group }: ReplicaConfig,
  { database, identity: { cluster } }: Pick<AdminParts, 'database' | 'identity'>,
) {
  return { group, cluster, postgresVersion: database.server.info().version ?? '' };
}
