import { describe, expect, test } from 'vitest';
import { describeEntry, foldNotes, notesMax } from './entry-notes.ts';
import type { EntryNotes } from './entry-notes.ts';
import { ballot, other } from './testing.ts';

const apply = (body: Readonly<Record<string, unknown>>) => other({ seq: 1 }, { layer: 'apply', ...body });
const range = { timeline: 3, start: 0x3000000, end: 0x3000400, leadership: ballot(2, 'r2') };
const leadership = {
  leadership: ballot(4, 'r3'),
  timeline: 4,
  fork: 0x3000200,
  nextXid: '900',
  resumes: false,
};
const none: EntryNotes = new Map();
const textOf = (notes: EntryNotes, label: string): string => describeEntry(label, notes.get(label));

describe('what is known of an entry', () => {
  test('is its range of WAL, from the leader or from a follower', () => {
    const shipped = foldNotes(none, [apply({ name: 'Ship', label: 'a/1', ...range, commits: [] })]);
    const fed = foldNotes(none, [apply({ name: 'Feed', label: 'a/1', slot: 7, ...range })]);
    expect(shipped).toEqual(fed);
    expect(textOf(fed, 'a/1')).toBe('WAL 0/3000000 – 0/3000400 · 1 KB · timeline 3');
  });

  test('is the leadership that begins with it', () => {
    const begins = foldNotes(none, [apply({ name: 'ProposeLeadership', label: 'a/1', ...leadership })]);
    expect(textOf(begins, 'a/1')).toBe('r3 leads in ballot 4·r3, begins timeline 4 at 0/3000200');
    const resumed = { ...leadership, resumes: true };
    const resumes = foldNotes(none, [apply({ name: 'BeginLeadership', label: 'a/1', slot: 8, ...resumed })]);
    expect(textOf(resumes, 'a/1')).toContain('goes on with timeline 4');
  });

  test('is that it changed nothing, once a replica says so', () => {
    const shipped = foldNotes(none, [apply({ name: 'Ship', label: 'a/1', ...range, commits: [] })]);
    const why = 'a newer leader began below it';
    const skipped = foldNotes(shipped, [apply({ name: 'Skip', slot: 7, label: 'a/1', why })]);
    expect(textOf(skipped, 'a/1')).toBe(
      'WAL 0/3000000 – 0/3000400 · 1 KB · timeline 3 · nobody’s: a newer leader began below it',
    );
    // Told again by each of the others.
    expect(foldNotes(skipped, [apply({ name: 'Skip', slot: 7, label: 'a/1', why })])).toBe(skipped);
    const unseen = foldNotes(none, [apply({ name: 'Skip', slot: 7, label: 'b/1', why })]);
    expect(textOf(unseen, 'b/1')).toBe('Nobody’s: a newer leader began below it');
    const verify = foldNotes(none, [apply({ name: 'Skip', slot: 7, label: 'c/1', why: 'verify' })]);
    expect(textOf(verify, 'c/1')).toContain('comparison');
  });

  test('follows from the label where it holds nothing for a database', () => {
    expect(textOf(none, 'noop')).toContain('no-op');
    expect(textOf(none, 'start:3·r2')).toContain('new leader');
    expect(textOf(none, 'members:2:3·r2')).toContain('members');
    expect(textOf(none, 'a/1')).toBe('');
  });

  test('is bounded, and the oldest is forgotten first', () => {
    const many = Array.from({ length: notesMax + 2 }, (_, at) =>
      apply({ name: 'Feed', label: `a/${at}`, slot: at, ...range }),
    );
    const notes = foldNotes(none, many);
    expect(notes.size).toBe(notesMax);
    expect([notes.has('a/1'), notes.has('a/2')]).toEqual([false, true]);
  });

  test('stays the same object if nothing is told', () => {
    const notes = foldNotes(none, [apply({ name: 'Feed', label: 'a/1', slot: 1, ...range })]);
    expect(foldNotes(notes, [apply({ name: 'Replay', flushed: 1, replayed: 1 })])).toBe(notes);
  });
});
