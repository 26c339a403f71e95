/** What operators ask of a replica, put together from its parts: the replica's own answers, and the backup that the postgres adapter makes. */
import { openBackup } from '../adapters/postgres/snapshot/backup.ts';
import type { AdminAnswer, HttpAdmin } from '../gateways/http/admin-routes.ts';
import type { LogIdentity } from '../ports/log-store.ts';
import { SnapshotError, type SnapshotSource } from '../ports/snapshot.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { DatabaseKeeper } from '../replica/database-keeper.ts';
import type { Replica } from '../replica/replica.ts';

export interface AdminParts {
  readonly replica: Replica;
  readonly payload: WalPayload;
  readonly database: ReplicaDatabase;
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
    async backup() {
      const now = parts();
      if (now === null) return unavailable();
      try {
        const { stream } = await openBackup({ source: now.copies, header: headerOf(config, now) });
        return { ok: true, answer: stream };
      } catch (error) {
        if (!(error instanceof SnapshotError)) throw error;
        return { ok: false, error: { code: 'unavailable', message: error.message } };
      }
    },
  };
}

function headerOf(config: ReplicaConfig, { replica, keeper, identity }: AdminParts) {
  return {
    group: config.group,
    cluster: identity.cluster,
    pointerAtLeast: replica.status(0, 0).applicationPointer,
    configuration: replica.membership.configuration,
    postgresVersion: keeper.info().version ?? '',
  };
}
