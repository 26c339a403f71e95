/** What is said of a moment. */
import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { ballot, other } from '../model/testing.ts';
import { captionAt, type Told } from './caption.ts';

const told: Told = {
  tracks: {
    flags: [
      { atMs: 10, kind: 'stopped', replica: 'r1', text: 'r1 is down' },
      { atMs: 40, kind: 'started', replica: 'r1', text: 'r1 was started' },
    ],
    elections: [
      { atMs: 20, replica: 'r3', ballot: ballot(2, 'r3'), kind: 'stood' },
      { atMs: 25, replica: 'r3', ballot: ballot(2, 'r3'), kind: 'won' },
    ],
  },
  events: [],
  msAt: (us) => us / 1_000,
};

describe('the caption', () => {
  it('is what happened last as of the moment, and nothing of what came later', () => {
    const texts = [5, 10, 22, 30, 50].map((ms) => captionAt(told, ms)?.text ?? null);
    expect(texts).toEqual([
      null,
      'r1 is down.',
      'r3 stands for election, under ballot 2·r3.',
      'r3 is elected, and leads under ballot 2·r3.',
      'r1 was started.',
    ]);
  });

  it('tells of a recovery by the words of its event', () => {
    const progress = { phase: 'copying', cause: 'bothLost', source: 'r3' as ReplicaId, attempts: 1 };
    const event = other(
      { seq: 45, replica: 'r2.2' },
      { layer: 'operation', name: 'RecoveryPhase', progress },
    );
    expect(captionAt({ ...told, events: [event] }, 50)?.text).toMatch(/^r2 copies PostgreSQL of r3: .*\.$/);
  });

  it('of one moment is who leads, whatever else befell then', () => {
    const { elections } = told.tracks;
    const fault = { atMs: 25, kind: 'fault', replica: null, text: 'r1 → r2: cut' } as const;
    expect(captionAt({ ...told, tracks: { flags: [fault], elections } }, 25)?.text).toContain('is elected');
  });
});
