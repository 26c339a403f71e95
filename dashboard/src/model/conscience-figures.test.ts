/** What the conscience shows: nothing that must not be is left out, and nothing is called good of which nothing is known. */
import { describe, expect, it } from 'vitest';
import type { LoadStatus } from '../../../server/src/api/load.ts';
import { conscienceOf } from './conscience-figures.ts';

const asked = { id: 'r1', checkedAgoMs: 900, missing: 0, problem: null };
const status: LoadStatus = {
  settings: { isRunning: true, clients: 4, perSecond: 50, readShare: 0.2 },
  counts: { acknowledged: 182, refused: 3, unknown: 0, reads: 40, readsRefused: 0 },
  lost: 0,
  lostIds: [],
  risen: 0,
  replicas: [asked],
};
const shown = (change: Partial<LoadStatus>) => {
  const { figures, tone } = conscienceOf({ ...status, ...change });
  return { tone, figures: figures.map((one) => `${one.value} ${one.name} ${one.tone ?? '-'}`) };
};

describe('the conscience', () => {
  it('shows stale reads where reads are judged, and only there', () => {
    expect(shown({}).figures).toEqual(['182 acknowledged -', '0 lost good', '0 unknown -']);
    expect(shown({ stale: 0 }).figures[2]).toBe('0 stale reads good');
    expect(shown({ stale: 1 })).toMatchObject({ tone: 'bad', figures: { 2: '1 stale read bad' } });
  });

  it('calls reads good only when there were some', () => {
    expect(shown({ stale: 0, counts: { ...status.counts, reads: 0 } }).figures[2]).toBe('0 stale reads -');
  });

  it('shows what was refused and is there all the same', () => {
    expect(shown({ risen: 2 })).toMatchObject({ tone: 'bad', figures: { 2: '2 refused, yet there bad' } });
  });

  it('says nothing good of what is lost while nobody can be asked', () => {
    expect(shown({ replicas: [{ ...asked, problem: 'down' }] })).toMatchObject({
      tone: 'idle',
      figures: { 1: '0 found lost; nobody can be asked now -' },
    });
    expect(shown({ lost: 1, replicas: [] })).toMatchObject({ tone: 'bad' });
  });
});
