/** How a leader and a follower recover (low-overhead-paxos-replication.txt, 5.1 and 5.2: procedures 1 and 2), as stories of three cores. */
import { describe, expect, it } from 'vitest';
import { entryLabel } from './entry.ts';
import { r1, r2, r3, slot } from './testing/one-core.ts';
import { ThreeCores } from './testing/three-cores.ts';

/** r1 leads; `b` is chosen, with the vote of r2, and r3 has not heard of it. */
function chosenWithoutR3(): ThreeCores {
  const group = new ThreeCores();
  group.elect(r1);
  group.propose(r1, 'a');
  group.pass();
  group.cut(r3);
  group.propose(r1, 'b');
  expect(group.givenTo(r1).slice(1)).toEqual(['a/1', 'b/1']);
  expect(group.givenTo(r3).slice(1)).toEqual(['a/1']);
  return group;
}

describe('a new leader (procedure 1)', () => {
  it('has what the others hold beyond its commit point chosen again, and serves when all of it is applied', () => {
    const group = chosenWithoutR3();
    group.crash(r1);
    group.mend(r3);
    group.applyNothing(r3);
    group.elect(r3);
    expect(group.core(r3).state.role).toBe('leader');
    expect(group.givenTo(r3).slice(1, 3)).toEqual(['a/1', 'b/1']);
    expect(group.core(r3).state.leadership?.serving).toBe(false);
    // It takes nothing as long as it may not know what was acknowledged.
    group.propose(r3, 'early');
    expect(group.givenTo(r3)).not.toContain('early/1');
    group.applyAll(r3);
    expect(group.core(r3).state.leadership?.serving).toBe(true);
    group.propose(r3, 'c');
    expect(group.givenTo(r3).at(-1)).toBe('c/1');
  });

  it('applies by itself only what its own commit point covers: the rest may be another’s yet', () => {
    const group = new ThreeCores();
    group.elect(r1);
    group.propose(r1, 'a');
    group.pass();
    group.cut(r1);
    group.propose(r1, 'unchosen');
    group.crash(r1);
    group.elect(r2);
    group.propose(r2, 'b');
    group.crash(r2);
    group.mend(r1);
    group.restart(r1);
    expect(group.givenTo(r1)).not.toContain('unchosen/1');
    group.elect(r1);
    expect(group.core(r1).state.role).toBe('leader');
    expect(group.givenTo(r1)).not.toContain('unchosen/1');
    expect(group.givenTo(r1)).toContain('b/1');
  });
});

describe('a follower that was restarted (procedure 2)', () => {
  it('keeps what it holds beyond its commit point until the leader has written there, and gives none of it to its database', () => {
    const group = new ThreeCores();
    group.elect(r1);
    group.propose(r1, 'a');
    group.pass();
    group.cut(r1);
    group.propose(r1, 'lost');
    group.crash(r1);
    group.elect(r2);
    group.propose(r2, 'kept');
    group.restart(r1);
    const lost = group.core(r1).state.log.get(slot(3));
    expect(lost === undefined ? null : entryLabel(lost.entry)).toBe('lost/1');
    expect(group.givenTo(r1)).not.toContain('lost/1');
    group.mend(r1);
    for (let n = 0; n < 5; n += 1) group.pass();
    expect(group.givenTo(r1)).toEqual(group.givenTo(r2));
    expect(group.givenTo(r1)).toContain('kept/1');
    expect(group.givenTo(r1)).not.toContain('lost/1');
  });

  it('loses nothing that was chosen where the leader changes before it was sent that again', () => {
    const group = chosenWithoutR3();
    group.crash(r1);
    group.restart(r2);
    group.restart(r2);
    group.mend(r3);
    group.elect(r3);
    expect(group.givenTo(r3).slice(1, 3)).toEqual(['a/1', 'b/1']);
    group.restart(r1);
    for (let n = 0; n < 5; n += 1) group.pass();
    expect(group.givenTo(r1).slice(1, 3)).toEqual(['a/1', 'b/1']);
  });
});
