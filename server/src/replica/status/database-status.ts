/** What is told of a replica's PostgreSQL, read off the payload and the server. Changes nothing. */
import { formatLsn } from '../../payload/wal/lsn.ts';
import type { WalPayload } from '../../payload/wal/wal-payload.ts';
import type { DatabaseServer } from '../../ports/database-server.ts';
import type { Checkups } from '../database/checkup.ts';
import type { DatabaseHealth } from '../database/database-health.ts';
import type { DatabaseStatus } from './status-report.ts';

export function databaseStatus(
  payload: WalPayload,
  server: Pick<DatabaseServer, 'info'>,
  health: Pick<DatabaseHealth, 'up'>,
  checkups: Pick<Checkups, 'counts'>,
): DatabaseStatus {
  const { directoryRole, position } = payload;
  const wal =
    directoryRole === null || position === null
      ? null
      : {
          role: directoryRole.kind,
          timeline: position.timeline,
          chosen: formatLsn(position.end),
          flushed: formatLsn(payload.flushed),
          replayed: formatLsn(payload.replayed),
          unchosenBytes: payload.unchosenBytes,
        };
  const { appliedEntries } = payload;
  return { postgres: { ...server.info(), up: health.up }, wal, appliedEntries, ...checkups.counts };
}
