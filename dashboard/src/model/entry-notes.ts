/**
 * What entries of the log hold, as far as events tell: ranges of WAL, leaderships, comparisons, and what turned out to be nobody's.
 *
 * Keyed by label, for the leader tells of a range before it has a slot. Keeps: at most `notesMax`, the latest told of.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { OperationWord, ShownSession } from '../../../server/src/api/wal-summary.ts';
import type { Ballot, EntryLabel } from '../../../server/src/multipaxos/types/names.ts';
import { formatBytes } from './format.ts';
import { formatBallot } from './cluster-view.ts';
import { describeOperation } from './operation-text.ts';
import { unreachable } from './unreachable.ts';
import { formatLsn } from './wal-position.ts';

export const notesMax = 4096;

/** `why`: it changed nothing, for this reason; null: it took effect, or is not chosen yet. */
export type EntryNote =
  | {
      readonly kind: 'range';
      readonly timeline: number;
      readonly start: number;
      readonly end: number;
      readonly why: string | null;
    }
  | {
      readonly kind: 'leadership';
      readonly leadership: Ballot;
      readonly timeline: number;
      readonly fork: number;
      readonly resumes: boolean;
      readonly why: string | null;
    }
  | { readonly kind: 'verify' }
  /** Where statements travel. */
  | { readonly kind: 'operation'; readonly what: OperationWord; readonly session: ShownSession | null }
  /** Seen only when it was passed over. */
  | { readonly kind: 'skipped'; readonly why: string };

export type EntryNotes = ReadonlyMap<EntryLabel, EntryNote>;

export function foldNotes(notes: EntryNotes, batch: readonly TraceEvent[]): EntryNotes {
  let next: Map<EntryLabel, EntryNote> | null = null;
  for (const event of batch) {
    const told = toldBy(event, next ?? notes);
    if (told === null) continue;
    next ??= new Map(notes);
    next.delete(told.label);
    next.set(told.label, told.note);
  }
  if (next === null) return notes;
  while (next.size > notesMax) next.delete(next.keys().next().value!);
  return next;
}

interface Told {
  readonly label: EntryLabel;
  readonly note: EntryNote;
}

/** Null: it tells nothing new. */
function toldBy(event: TraceEvent, known: EntryNotes): Told | null {
  if (event.layer === 'apply') return noteOf(event, known);
  if (event.name !== 'SlotChosen' || event.what === null || known.has(event.label)) return null;
  return { label: event.label, note: { kind: 'operation', what: event.what, session: event.session } };
}

function noteOf(event: Extract<TraceEvent, { layer: 'apply' }>, known: EntryNotes): Told | null {
  if (event.name === 'Skip') return skipped(event.label, event.why, known.get(event.label));
  if (event.name === 'Ship' || event.name === 'Feed') {
    const { label, timeline, start, end } = event;
    return known.has(label) ? null : { label, note: { kind: 'range', timeline, start, end, why: null } };
  }
  if (event.name !== 'ProposeLeadership' && event.name !== 'BeginLeadership') return null;
  const { label, leadership, timeline, fork, resumes } = event;
  const note: EntryNote = { kind: 'leadership', leadership, timeline, fork, resumes, why: null };
  return known.has(label) ? null : { label, note };
}

function skipped(label: EntryLabel, why: string, note: EntryNote | undefined): Told | null {
  if (why === 'verify') return note === undefined ? { label, note: { kind: 'verify' } } : null;
  if (note === undefined) return { label, note: { kind: 'skipped', why } };
  const isNews = (note.kind === 'range' || note.kind === 'leadership') && note.why === null;
  return isNews ? { label, note: Object.assign({}, note, { why }) } : null;
}

/** One line. `note` undefined: nothing was heard of it but its label. */
export function describeEntry(label: EntryLabel, note: EntryNote | undefined): string {
  if (note === undefined) return describeLabel(label);
  switch (note.kind) {
    case 'range': {
      const { start, end, timeline, why } = note;
      const text = `WAL ${formatLsn(start)} – ${formatLsn(end)} · ${formatBytes(end - start)} · timeline ${timeline}`;
      return why === null ? text : `${text} · nobody’s: ${why}`;
    }
    case 'leadership':
      return describeLeadership(note);
    case 'verify':
      return 'A comparison of all replicas’ data';
    case 'operation':
      return describeOperation(note.what, note.session);
    case 'skipped':
      return `Nobody’s: ${note.why}`;
    default:
      return unreachable(note);
  }
}

function describeLeadership(note: Extract<EntryNote, { kind: 'leadership' }>): string {
  const { leadership, timeline, fork, resumes, why } = note;
  const from = `${resumes ? 'goes on with' : 'begins'} timeline ${timeline} at ${formatLsn(fork)}`;
  const text = `${leadership.replica} leads in ballot ${formatBallot(leadership)}, ${from}`;
  return why === null ? text : `${text} · without effect: ${why}`;
}

function describeLabel(label: EntryLabel): string {
  if (label === 'noop') return 'A no-op: fills a hole that an earlier proposer left';
  if (label.startsWith('start:')) return 'The first mark of a new leader';
  return label.startsWith('members:') ? 'A change of the members' : '';
}
