/** What an event of the layer `apply` says, in one line: what happens to WAL, to a replica's database, and to a client in doubt. Pure. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { formatBytes } from './format.ts';
import { formatBallot } from './cluster-view.ts';
import { unreachable } from './unreachable.ts';
import { formatLsn } from './wal-position.ts';

type ApplyEvent = Extract<TraceEvent, { layer: 'apply' }>;
type Named<Name extends ApplyEvent['name']> = Extract<ApplyEvent, { name: Name }>;

export function describeWal(event: ApplyEvent): string {
  return isOfDatabase(event) ? describeDatabase(event) : describeChosen(event);
}

function describeChosen(event: Exclude<ApplyEvent, DatabaseEvent>): string {
  switch (event.name) {
    case 'Ship':
      return `${range(event)} · ${event.label}`;
    case 'Feed':
      return `slot ${event.slot} · ${range(event)}`;
    case 'Release':
      return `slot ${event.slot} · commits up to ${formatLsn(event.position)} may return`;
    case 'Skip':
      return `slot ${event.slot} · ${event.why === 'verify' ? 'a comparison of data' : `nobody’s: ${event.why}`}`;
    case 'Replay':
      return `replayed ${formatLsn(event.replayed)} · flushed ${formatLsn(event.flushed)}`;
    case 'FlushStandby':
      return `slot ${event.slot} · all up to ${formatLsn(event.position)} is in the directory`;
    case 'ProposeLeadership':
    case 'BeginLeadership':
      return leadership(event);
    case 'Promote':
      return `PostgreSQL is a primary: timeline ${event.timeline} from ${formatLsn(event.fork)}`;
    case 'Resume':
      return `PostgreSQL is a primary again: timeline ${event.timeline}, with WAL up to ${formatLsn(event.position)}`;
    case 'Open':
      return `clients are let in · ballot ${formatBallot(event.leadership)}`;
    case 'Depose':
      return `ballot ${formatBallot(event.leadership)}: ${event.reason}`;
    case 'Purge':
      return `up to slot ${event.slot}${event.why === 'pressure' ? ', for want of space' : ''}`;
    case 'EndWait':
      return 'a COMMIT’s wait was ended early: answers are held';
    case 'Barrier':
      return `all up to ${formatLsn(event.position)} is chosen${event.opens ? ': answers go on' : ''}`;
    case 'AskOutcome':
      return `what became of transaction ${event.xid} of ballot ${formatBallot(event.leadership)}?`;
    case 'TellOutcome':
      return `transaction ${event.xid} of ballot ${formatBallot(event.leadership)}: ${outcomes[event.outcome]}`;
    default:
      return unreachable(event);
  }
}

type DatabaseEvent = Named<
  'DatabaseDown' | 'DatabaseUp' | 'CheckPrefix' | 'BeginCopy' | 'GiveUpCopy' | 'EndCopy'
>;

const databaseEvents: ReadonlySet<ApplyEvent['name']> = new Set<DatabaseEvent['name']>([
  'DatabaseDown',
  'DatabaseUp',
  'CheckPrefix',
  'BeginCopy',
  'GiveUpCopy',
  'EndCopy',
]);

function isOfDatabase(event: ApplyEvent): event is DatabaseEvent {
  return databaseEvents.has(event.name);
}

function describeDatabase(event: DatabaseEvent): string {
  switch (event.name) {
    case 'DatabaseDown':
      return event.reason;
    case 'DatabaseUp':
      return `${event.role} · timeline ${event.timeline} · ${formatLsn(event.position)} · slot ${event.slot}`;
    case 'CheckPrefix':
      return `${findings[event.outcome]} · its WAL ends at ${formatLsn(event.position)}`;
    case 'BeginCopy':
    case 'GiveUpCopy':
      return `from ${event.source}`;
    case 'EndCopy':
      return `from ${event.source} · timeline ${event.timeline} · ${formatLsn(event.position)} · slot ${event.slot}`;
    default:
      return unreachable(event);
  }
}

function range({ timeline, start, end }: Named<'Ship' | 'Feed'>): string {
  return `${formatBytes(end - start)} of WAL: ${formatLsn(start)} – ${formatLsn(end)}, timeline ${timeline}`;
}

function leadership({
  leadership,
  timeline,
  fork,
  resumes,
}: Named<'ProposeLeadership' | 'BeginLeadership'>): string {
  const what = resumes ? `timeline ${timeline} goes on` : `timeline ${timeline} begins`;
  return `ballot ${formatBallot(leadership)} · ${what} at ${formatLsn(fork)}`;
}

const outcomes: Readonly<Record<Named<'TellOutcome'>['outcome'], string>> = {
  committed: 'committed',
  notCommitted: 'not committed',
  unknown: 'nobody can tell',
};

const findings: Readonly<Record<Named<'CheckPrefix'>['outcome'], string>> = {
  standby: 'all that it wrote is chosen',
  parted: 'others went another way',
  undecided: 'it wrote more than is chosen',
};
