/** What operators ask of a replica, put together from its parts: the replica's own answers, and the backup that the postgres adapter makes. */
import { openBackup } from '../adapters/postgres/backup/backup-file.ts';
import type { BackupSource } from '../adapters/postgres/backup/base-backup.ts';
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
}

/** `parts` null: the replica is not in its group yet; `whyNot` says what it waits for. */
export function replicaAdmin(
  config: ReplicaConfig,
  parts: () => AdminParts | null,
  whyNot: () => string,
): HttpAdmin {
  const unavailable = (): AdminAnswer<never> => {
    return { ok: false, error: { code: 'unavailable', message: whyNot() } };
  };
  return {
    members: async (request) => parts()?.replica.admin.members(request) ?? unavailable(),
    verify: async (request) => parts()?.replica.admin.verify(request) ?? unavailable(),
    transferLeadership: async (request) =>
      parts()?.replica.admin.transferLeadership(request) ?? unavailable(),
    async backup() {
      const now = parts();
      if (now === null) return unavailable();
      try {
        const { stream } = await openBackup({ source: now.backups, header: headerOf(config, now) });
        return { ok: true, answer: stream };
      } catch (error) {
        if (!(error instanceof CopyError)) throw error;
        return { ok: false, error: { code: 'unavailable', message: error.message } };
      }
    },
  };
}

/** What a backup of this replica says of itself. */
export function headerOf({ group }: ReplicaConfig, { database, identity: { cluster } }: AdminParts) {
  return { group, cluster, postgresVersion: database.server.info().version ?? '' };
}
