/**
 * What is known of a replica on the way through a run: from its events, for what has to be put in between them (apply-fill.ts). Pure.
 */
import { sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { Ballot, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { Lsn } from '../../../server/src/wal/lsn.ts';
import type { ApplyEvent } from './apply-event.ts';

/** `wal`, `flushed`: where the WAL of a primary ends, and how far it is flushed; of a standby, what it has received and replayed, and `chosenEnd`: up to where it could be sent anything. */
export interface Track {
  isUp: boolean;
  mode: 'down' | 'standby' | 'primary';
  leads: Ballot | null;
  /** Its own leadership, of which its PostgreSQL is to become the primary. */
  begun: Extract<ApplyEvent, { name: 'BeginLeadership' }> | null;
  timeline: number;
  folded: number;
  durable: number;
  wal: number;
  flushed: number;
  replayed: number;
  chosenEnd: number;
  /** Where the whole records of `of` end, the WAL that was there when it was last looked at: behind it a piece of a record may lie. */
  checked: { readonly of: number; readonly position: Lsn } | null;
  /** The end of the segment whose empty rest a standby has replayed. */
  restTo: number;
  /** What the directory says; null: nobody has told. */
  role: Extract<ApplyEvent, { name: 'BeginLeadership' }>['role'] | null;
  /** Where it comes from; null: there is none. `isSent`: all of it was sent, whatever becomes of the source. */
  copies: ReplicaId | null;
  isSent: boolean;
}

export function newTrack(): Track {
  return {
    isUp: false,
    mode: 'down',
    leads: null,
    begun: null,
    timeline: 0,
    folded: 0,
    durable: 0,
    wal: 0,
    flushed: 0,
    replayed: 0,
    chosenEnd: 0,
    checked: null,
    restTo: 0,
    role: null,
    copies: null,
    isSent: false,
  };
}

/** What the event tells of its replica from now on. */
export function follow(track: Track, event: ApplyEvent): void {
  if ('timeline' in event) track.timeline = event.timeline;
  switch (event.name) {
    case 'FlushStandby':
      track.durable = event.slot;
      return;
    case 'CheckPrefix':
      track.checked = { of: track.wal, position: event.position };
      if (event.outcome !== 'standby') return;
      Object.assign(track, { durable: event.slot, folded: event.slot, role: 'standby' });
      Object.assign(track, { wal: event.position, replayed: 0 });
      return;
    case 'EndCopy':
      Object.assign(track, { durable: event.slot, folded: event.slot, role: 'standby' });
      Object.assign(track, { wal: event.position, replayed: 0, chosenEnd: event.position, restTo: 0 });
      track.copies = null;
      return;
    case 'Promote':
      Object.assign(track, { mode: 'primary', begun: null, wal: event.fork, flushed: event.fork });
      return;
    case 'Resume':
      Object.assign(track, { mode: 'primary', flushed: track.wal, role: 'primary' });
      return;
    case 'DatabaseUp':
      Object.assign(track, { mode: event.role === 'founder' ? 'primary' : 'standby', folded: event.slot });
      Object.assign(track, { chosenEnd: event.position, replayed: 0, role: event.role });
      return;
    case 'Replay':
      track.wal = Math.max(track.wal, event.flushed, event.replayed);
      track.replayed = event.replayed;
      return;
    case 'Depose':
      if (track.mode === 'primary') track.mode = 'down';
      Object.assign(track, { leads: null, begun: null });
      return;
    case 'DatabaseDown':
      Object.assign(track, { mode: 'down', begun: null });
      return;
    case 'Feed':
      Object.assign(track, { folded: event.slot, chosenEnd: event.end });
      return;
    case 'BeginLeadership':
      Object.assign(track, { folded: event.slot, chosenEnd: event.fork });
      if (track.mode === 'standby') track.wal = Math.min(track.wal, event.fork);
      track.role = event.role;
      track.begun = track.role === 'promoting' && isOwn(track, event.leadership) ? event : null;
      return;
    case 'Skip':
    case 'Barrier':
    case 'Release':
      track.folded = event.slot;
      return;
    case 'Open':
      track.folded = event.slot;
      if (track.role === 'promoting') track.role = 'primary';
      return;
    case 'BeginCopy':
      Object.assign(track, { role: 'copying', copies: replicaOf(event.source), isSent: false });
      return;
    case 'GiveUpCopy':
      track.copies = null;
      return;
    case 'Ship':
    case 'ProposeLeadership':
    case 'EndWait':
    case 'AskOutcome':
    case 'TellOutcome':
    case 'Purge':
      return;
    default:
      event satisfies never;
  }
}

function isOwn({ leads }: Track, leadership: Ballot): boolean {
  return leads !== null && sameBallot(leads, leadership);
}
