/** What is told of a replica's PostgreSQL, read off the payload and the server. Changes nothing. */
import { formatLsn } from '../../wal/lsn.ts';
import type { WalPayload } from '../../payload/wal/wal-payload.ts';
import type { StandbyLag } from '../../api/measures.ts';
import type { ArchiveReport } from '../../api/status.ts';
import type { Archiving } from '../../payload/wal/archiving.ts';
import type { DatabaseServer } from '../../ports/database-server.ts';
import type { Checkups } from '../database/checkup.ts';
import type { DatabaseHealth } from '../database/database-health.ts';
import type { DatabaseStatus } from './status-report.ts';

export function databaseStatus(
  payload: WalPayload,
  server: Pick<DatabaseServer, 'info'>,
  health: Pick<DatabaseHealth, 'up'>,
  checkups: Pick<Checkups, 'counts'>,
  archiving: Pick<Archiving, 'status'> | null,
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
  const archive = archiving === null ? null : archiveReport(archiving);
  return {
    postgres: { ...server.info(), up: health.up },
    wal,
    archive,
    appliedEntries,
    ...checkups.counts,
    standbyLag: standbyLag(payload),
    oldestProposedAtMs: payload.context.shipper?.oldestProposedAtMs ?? null,
  };
}

function standbyLag({ context: { standby }, chosenEnd }: WalPayload): StandbyLag | null {
  if (standby === null || !standby.hasReported) return null;
  const behind = (lsn: number): number => Math.max(0, chosenEnd - lsn);
  return {
    receivedBehindBytes: behind(standby.received),
    flushedBehindBytes: behind(standby.flushed),
    replayedBehindBytes: behind(standby.replayed),
  };
}

function archiveReport(archiving: Pick<Archiving, 'status'>): ArchiveReport | null {
  const status = archiving.status();
  if (status === null) return null;
  const { timeline, durable, bytes, gaps, problem } = status;
  return { timeline, end: durable === null ? null : formatLsn(durable), bytes, gaps, problem };
}
