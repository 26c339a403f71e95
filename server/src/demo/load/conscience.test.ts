import { describe, expect, it } from 'vitest';
import { countReachable } from '../../ports/testing/count-reachable.ts';
import { Conscience } from './conscience.ts';

function written(conscience: Conscience, ...outcomes: ('acknowledged' | 'refused' | 'unknown')[]): number[] {
  return outcomes.map((outcome) => {
    const id = conscience.begins();
    conscience.ends(id, outcome);
    return id;
  });
}

describe('the conscience', () => {
  it('counts what clients were told, and finds nothing lost where all that was acknowledged is there', () => {
    const conscience = new Conscience();
    const ids = written(conscience, 'acknowledged', 'refused', 'unknown', 'acknowledged');
    conscience.judge('r1', conscience.look(), new Set([ids[0]!, ids[3]!]), 0);
    // What nobody was told of may be there.
    conscience.judge('r2', conscience.look(), new Set([ids[0]!, ids[2]!, ids[3]!]), 0);
    expect(conscience.counts()).toMatchObject({ acknowledged: 2, refused: 1, unknown: 1 });
    expect(conscience.lost()).toEqual({ lost: 0, lostIds: [], risen: 0 });
  });

  it('finds what a replica lacks, once however many lack it, and what is there though it was refused', () => {
    const conscience = new Conscience();
    const [one, two] = written(conscience, 'acknowledged', 'refused');
    conscience.judge('r1', conscience.look(), new Set([two!]), 100);
    conscience.judge('r2', conscience.look(), new Set(), 100);
    expect(conscience.lost()).toEqual({ lost: 1, lostIds: [one], risen: 1 });
    expect(conscience.atReplicas(['r1', 'r3'], 150)).toEqual([
      { id: 'r1', checkedAgoMs: 50, missing: 1, problem: null },
      { id: 'r3', checkedAgoMs: null, missing: 0, problem: null },
    ]);
  });

  it('expects nothing of a replica that was acknowledged behind the question', () => {
    const conscience = new Conscience();
    const id = conscience.begins();
    const look = conscience.look();
    conscience.ends(id, 'acknowledged');
    conscience.judge('r1', look, new Set(), 0);
    expect(conscience.lost().lost).toBe(0);
    conscience.judge('r1', conscience.look(), new Set(), 0);
    expect(conscience.lost().lost).toBe(1);
  });

  it('keeps what was lost though it is there later, and what was let go of is judged no more', () => {
    const conscience = new Conscience(7, 5_000);
    const [first] = written(conscience, 'acknowledged');
    expect(first).toBe(8);
    const look = conscience.look();
    conscience.judge('r1', look, new Set(), 0);
    conscience.judge('r1', look, new Set([8]), 0);
    expect(conscience.lost().lost).toBe(1);
    const [second] = written(conscience, 'acknowledged');
    const early = conscience.look();
    for (let n = 0; n < 5_000; n += 1) written(conscience, 'acknowledged');
    expect(conscience.floor).toBe(second);
    conscience.judge('r2', early, new Set(), 0);
    expect(conscience.lost().lost).toBe(1);
    expect(conscience.look().acknowledged).toHaveLength(5_000);
  });

  it('believes a client that reads its own write and does not find it', () => {
    const conscience = new Conscience();
    const [id] = written(conscience, 'acknowledged');
    conscience.read('answered');
    conscience.read('refused');
    conscience.read({ missing: id! });
    expect(conscience.counts()).toMatchObject({ reads: 2, readsRefused: 1 });
    expect(conscience.lost().lostIds).toEqual([id]);
  });

  it('lets a read be that misses a row which is judged no more', () => {
    const conscience = new Conscience(0, 2);
    written(conscience, 'acknowledged', 'acknowledged', 'acknowledged');
    expect(conscience.floor).toBe(1);
    conscience.read({ missing: 1 });
    expect(conscience.lost().lost).toBe(0);
    conscience.read({ missing: 2 });
    expect(conscience.lost().lostIds).toEqual([2]);
  });

  it('keeps no more of many writes that were lost or rose again than of a few, and counts them all', () => {
    const rowsMax = 1_000;
    const conscience = new Conscience(0, rowsMax);
    const lose = (count: number): number => {
      for (let n = 0; n < count; n += rowsMax / 2) {
        const ids = written(
          conscience,
          ...Array.from({ length: rowsMax / 2 }, (_, i) => (i % 2 === 0 ? 'acknowledged' : 'refused')),
        );
        conscience.judge('r1', conscience.look(), new Set(ids.filter((id) => id % 2 === 0)), 0);
      }
      return countReachable(conscience);
    };
    const early = lose(2 * rowsMax);
    const late = lose(200_000 - 2 * rowsMax);
    expect(late).toBe(early);
    expect(conscience.lost()).toMatchObject({ lost: 100_000, risen: 100_000 });
    expect(conscience.lost().lostIds).toEqual(Array.from({ length: 10 }, (_, index) => 2 * index + 1));
  });

  it('says why a replica was not asked, until it was', () => {
    const conscience = new Conscience();
    conscience.failed('r1', 'connection refused');
    expect(conscience.atReplicas(['r1'], 0)[0]?.problem).toBe('connection refused');
    conscience.judge('r1', conscience.look(), new Set(), 0);
    expect(conscience.atReplicas(['r1'], 0)[0]?.problem).toBeNull();
  });
});
