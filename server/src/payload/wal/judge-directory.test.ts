import { describe, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { judgeDirectory, mayResume } from './judge-directory.ts';
import type { Timeline } from '../../wal/lsn.ts';
import { ballot, lsn } from './testing/entries.ts';
import { positionNone, type WalPosition } from '../../wal/position.ts';

const mine = ballot(5, 'r1');
const chosen: WalPosition = { ...positionNone, leadership: mine, timeline: 3 as Timeline, end: lsn(200) };
const parted: WalPosition = {
  ...chosen,
  leadership: ballot(6, 'r2'),
  timeline: 4 as Timeline,
  end: lsn(500),
  forks: [{ timeline: 4 as Timeline, at: lsn(180) }],
};

function judge(ownEnd: number, position: WalPosition) {
  return judgeDirectory({ leadership: mine, timeline: 3 as Timeline, ownEnd: lsn(ownEnd) }, position);
}

describe('the directory of a primary', () => {
  it('is a prefix as far as all of its WAL is chosen', () => {
    expect(judge(200, chosen)).toEqual({ kind: 'prefix' });
    expect(judge(192, chosen)).toEqual({ kind: 'prefix' });
    expect(judge(180, parted)).toEqual({ kind: 'prefix' });
  });

  it('is its own replica’s as long as nobody else has led', () => {
    expect(judge(201, chosen)).toEqual({ kind: 'own' });
    const resumed = { ...chosen, leadership: ballot(9, 'r1') };
    expect(judge(201, resumed)).toEqual({ kind: 'own' });
    expect(judge(200, resumed)).toEqual({ kind: 'prefix' });
  });

  it('has parted where the next timeline forks below its end, however far the others have come', () => {
    expect(judge(181, parted)).toEqual({ kind: 'parted', at: 180 });
    expect(judge(400, parted)).toEqual({ kind: 'parted', at: 180 });
  });

  it('has parted somewhere if its fork is not known any more', () => {
    const far: WalPosition = {
      ...parted,
      timeline: 9 as Timeline,
      forks: [{ timeline: 9 as Timeline, at: lsn(300) }],
    };
    expect(judge(100, far)).toEqual({ kind: 'parted', at: 0 });
  });
});

describe('a replica that leads goes on with what it had written', () => {
  const host = (member: string, commitPoint: number) => ({
    member: member as ReplicaId,
    commitPoint: commitPoint as Slot,
  });
  const folded: WalPosition = { ...chosen, slot: 40 as Slot };

  it('if it led last, by all of the log that is known to be chosen', () => {
    expect(mayResume(host('r1', 40), folded)).toBe(true);
    expect(mayResume(host('r1', 39), folded)).toBe(true);
  });

  it('not before it has folded all of that: another may have led in the rest', () => {
    expect(mayResume(host('r1', 41), folded)).toBe(false);
  });

  it('not after another has led, or as another incarnation of itself', () => {
    expect(mayResume(host('r1', 40), { ...folded, leadership: parted.leadership })).toBe(false);
    expect(mayResume(host('r1#2', 40), folded)).toBe(false);
  });
});
