/**
 * Steps that no event tells, put in where an event shows that they were taken: what a PostgreSQL wrote, flushed or received before it stopped or shipped.
 *
 * Judges nothing: TLC does, and it judges what was put in like the rest. Pure.
 */
import type { EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ApplyEvent, ApplyEventItem, ApplyItem } from './apply-event.ts';
import type { ApplyFacts } from './apply-facts.ts';
import { eventFields, noParameters, type Fields } from './apply-fields.ts';
import { follow, newTrack, type Track } from './apply-track.ts';

export interface ApplyStep {
  readonly action: string;
  readonly fields: Fields;
  /** Null: put in. */
  readonly event: ApplyEventItem | null;
}

export interface Conversion {
  readonly items: readonly ApplyItem[];
  readonly facts: ApplyFacts;
  readonly steps: ApplyStep[];
  readonly tracks: Map<ReplicaId, Track>;
  /** Items that are taken already, out of turn. */
  readonly taken: Set<ApplyItem>;
  /** Where in `items` each proposal is. */
  readonly proposals: ReadonlyMap<EntryLabel, number>;
  /** What is chosen so far, and the newest leadership. */
  top: number;
  elected: number;
  forgottenAt: number;
  /** Puts in that what stands in this slot and below is chosen: an event shows it, or the consensus layer does. */
  readonly chooseUpTo: (slot: number) => void;
}

export function put(
  { steps }: Conversion,
  action: string,
  fields: Fields,
  event: ApplyEventItem | null = null,
): void {
  steps.push({ action, fields, event });
}

export function trackOf({ tracks }: Conversion, replica: ReplicaId): Track {
  const track = tracks.get(replica) ?? newTrack();
  tracks.set(replica, track);
  return track;
}

/** What a primary has in its WAL up to `end` it has written, and flushed. */
export function writeUpTo(
  conversion: Conversion,
  replica: ReplicaId,
  end: number,
  commits: readonly string[] = [],
): void {
  write(conversion, replica, end, commits);
  const { facts } = conversion;
  const track = trackOf(conversion, replica);
  if (end <= track.flushed) return;
  put(conversion, 'LocalFlush', { r: facts.replicaRank(replica), p: facts.positionRank(end) });
  track.flushed = end;
}

function write(conversion: Conversion, replica: ReplicaId, end: number, commits: readonly string[]): void {
  const { facts } = conversion;
  const track = trackOf(conversion, replica);
  const b = track.leads === null ? 0 : facts.ballotRank(track.leads);
  const asked = commits
    .filter((xid) => track.leads !== null && facts.isAsked(track.leads, xid))
    .map((xid) => facts.xidRank(xid));
  const units = facts.unitEnds(track.wal, end).map((position) => ({
    b,
    w: facts.isWhole(track.timeline, position),
    e: facts.isRest(track.timeline, position),
    c: position === end ? asked : [],
  }));
  const r = facts.replicaRank(replica);
  if (units.length > 0) put(conversion, 'Write', { r, units });
  track.wal = Math.max(track.wal, end);
}

/** A primary goes on behind its whole records, which end at `position`: of part of a record behind them nothing is left but the place that it takes, and it writes what says so. */
export function resume(
  conversion: Conversion,
  replica: ReplicaId,
  event: Extract<ApplyEvent, { name: 'Resume' }>,
  item: ApplyEventItem | null = null,
): void {
  const { facts } = conversion;
  const track = trackOf(conversion, replica);
  const overwritten = event.position < track.wal ? facts.nextEnd(track.wal) : null;
  put(
    conversion,
    'Resume',
    {
      ...noParameters,
      ...eventFields(event, facts),
      w: overwritten !== null && facts.isWhole(event.timeline, overwritten),
      r: facts.replicaRank(replica),
    },
    item,
  );
  track.wal = overwritten ?? track.wal;
  follow(track, event);
}

/** PostgreSQL stops. What is found in its directory later, it has written or received before. */
export function addWhatIsFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const track = trackOf(conversion, replica);
  if (track.mode === 'down') return;
  const later = conversion.items.slice(index + 1);
  for (const item of later) {
    if (item.kind !== 'event' || item.replica !== replica) continue;
    const { event } = item;
    if (event.name === 'BeginCopy') return;
    if (track.mode === 'primary') {
      if (event.name === 'DatabaseUp') return;
      if (event.name !== 'Resume' && event.name !== 'CheckPrefix') continue;
      // A machine that fails before another PostgreSQL starts may take it back.
      writeWhatIsShippedLater(conversion, replica, { end: event.position, later });
      return;
    }
    if (event.name !== 'Replay') continue;
    receive(conversion, replica, Math.min(Math.max(event.flushed, event.replayed), track.chosenEnd));
    return;
  }
}

/**
 * What a leadership left behind in its directory names its transactions only when the next one, which resumes, ships it. A range of which less was found names all of its transactions: they count as written with what
 * was found: of several looks with the least, as what was found at first may have gone with its machine before it was shipped.
 */
function writeWhatIsShippedLater(
  conversion: Conversion,
  replica: ReplicaId,
  { end, later }: { readonly end: number; readonly later: readonly ApplyItem[] },
): void {
  const track = trackOf(conversion, replica);
  let found = end;
  for (const item of later) {
    if (item.kind !== 'event' || item.replica !== replica) continue;
    const { event } = item;
    if (event.name === 'BeginCopy' || event.name === 'Promote') break;
    if (event.name === 'CheckPrefix' || event.name === 'Resume') found = Math.min(found, event.position);
    if (event.name === 'Ship' && event.start >= track.wal && event.start < found)
      write(conversion, replica, Math.min(event.end, found), event.commits);
  }
  if (end > track.wal) write(conversion, replica, end, []);
}

/** A standby has this, and did not tell. */
export function receive({ facts, steps, tracks }: Conversion, replica: ReplicaId, position: number): void {
  const track = tracks.get(replica);
  if (track === undefined || position <= track.wal) return;
  const fields = { flushed: facts.positionRank(position), replayed: facts.positionRank(track.replayed) };
  steps.push({ action: 'Receive', fields: { r: facts.replicaRank(replica), ...fields }, event: null });
  track.wal = position;
}

/** Entries that hold no command: nobody records that they are folded in. */
export function holdsNoCommand(label: EntryLabel | undefined): boolean {
  return label !== undefined && /^(noop$|start:|members:)/.test(label);
}
