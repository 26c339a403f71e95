/** A play goes on when what it waits for is so, and says so when it is not. */
import { describe, expect, it } from 'vitest';
import { initialState, reduceDashboard } from '../model/dashboard-state.ts';
import { ballot, clusterOf, replica } from '../model/testing.ts';
import type { ClusterReplica } from '../../../server/src/api/status.ts';
import { refusalOf } from './may-play.ts';
import { beginPlay, goOn, refusedPlay, waitLonger, watchPlay } from './play.ts';
import { leaderDies } from './plays/leader-dies.ts';
import { beginSeeing, type Seen } from './seen.ts';

const led = { role: 'leader', leader: 'r1' } as Parameters<typeof replica>[1];
const whole = [replica('r1', led), replica('r2'), replica('r3')];

function seenAt(atMs: number, replicas: readonly ClusterReplica[] = whole): Seen {
  const frames = [{ type: 'cluster', cluster: clusterOf(...replicas) }] as const;
  return beginSeeing(reduceDashboard(initialState, { kind: 'frames', frames, atMs }), atMs)!;
}
const down = replica('r1', led, { process: 'stopped' });
const next = replica('r2', { role: 'leader', leader: 'r2', ballot: ballot(2, 'r2') } as Parameters<
  typeof replica
>[1]);

describe('a play', () => {
  it('asks by the names of this run, and begins with its first acts', () => {
    const { play, acts } = beginPlay(leaderDies, 'r3', seenAt(0));
    expect(play.question.choices.map(({ id }) => id)).toEqual(['r2', 'r3', 'nobody']);
    expect(acts).toEqual([{ action: 'crash', replica: 'r1' }]);
    expect(play.marks.replicas).toEqual(['r1']);
  });

  it('names some of many replicas, and the others together', () => {
    const nine = ['r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8', 'r9'].map((id) =>
      replica(id, id === 'r1' ? led : {}),
    );
    const { choices } = leaderDies.question(seenAt(0, nine));
    expect(choices.map(({ id }) => id)).toEqual(['r2', 'r3', 'rest', 'nobody']);
  });

  it('stays in a chapter until that has come about, and what was said stays', () => {
    let { play } = beginPlay(leaderDies, 'r3', seenAt(0));
    play = watchPlay(play, seenAt(1_000));
    expect(play.stage.kind).toBe('waiting');
    expect(goOn(play).play).toBe(play);
    play = watchPlay(play, seenAt(2_000, [down, ...whole.slice(1)]));
    expect(play.stage.kind).toBe('told');
    const [said] = play.said;
    play = watchPlay(goOn(play).play, seenAt(4_000, [down, next, whole[2]!]));
    expect(play.said[0]).toBe(said);
    expect(play.said[1]?.caption).toContain('r2 leads');
  });

  it('says what it saw instead when the bound has passed, and waits as long again when it is told to', () => {
    const { play } = beginPlay(leaderDies, 'r3', seenAt(0));
    const { withinMs } = leaderDies.chapters[0]!;
    expect(watchPlay(play, seenAt(withinMs)).stage.kind).toBe('waiting');
    const missed = watchPlay(play, seenAt(withinMs + 1));
    expect(missed.stage).toMatchObject({ kind: 'missed' });
    expect(missed.stage.kind === 'missed' && missed.stage.saw).toContain('r1 is leader in ballot 1·r1');
    const again = waitLonger(missed, withinMs + 1);
    expect(again.stage).toMatchObject({ kind: 'waiting', untilMs: 2 * withinMs + 1 });
    expect(watchPlay(again, seenAt(withinMs + 2, [down, ...whole.slice(1)])).stage.kind).toBe('told');
  });

  it('says that the group has refused', () => {
    const { play } = beginPlay(leaderDies, 'r3', seenAt(0));
    const { stage } = refusedPlay(play, 'r1 is not running');
    expect(stage.kind === 'refused' && stage.why).toContain('r1 is not running');
    const told = watchPlay(play, seenAt(2_000, [down, ...whole.slice(1)]));
    expect(refusedPlay(told, 'too late')).toBe(told);
  });
});

describe('a scenario is refused', () => {
  const ground = { kind: 'live', seen: seenAt(0), isPast: false, isLost: false } as const;
  const simulatedOnly = { ...leaderDies, plays: 'simulated' as const };
  it('never without a reason, and with what would help', () => {
    expect(refusalOf(leaderDies, ground)).toBeNull();
    expect(refusalOf(leaderDies, { ...ground, kind: 'file' })?.offer).toBe('simulate');
    expect(refusalOf(simulatedOnly, ground)?.offer).toBe('simulate');
    expect(refusalOf(simulatedOnly, { ...ground, kind: 'simulated' })).toBeNull();
    expect(refusalOf(leaderDies, { ...ground, isPast: true })?.offer).toBe('now');
    expect(refusalOf(leaderDies, { ...ground, isLost: true })?.why).toContain('does not answer');
    expect(refusalOf(leaderDies, { ...ground, seen: null })?.offer).toBeNull();
  });

  it('by a group that is broken, on its way, or another', () => {
    const of = (replicas: readonly ClusterReplica[]) =>
      refusalOf(leaderDies, { ...ground, seen: seenAt(0, replicas) });
    expect(of([down, ...whole.slice(1)])).toMatchObject({
      offer: 'whole',
      why: expect.stringContaining('r1 is down'),
    });
    expect(of([whole[0]!, replica('r2', { state: 'restoring' }), whole[2]!])).toMatchObject({ offer: null });
    expect(of(whole.slice(0, 2))).toMatchObject({ offer: 'simulate' });
    expect(of(whole.map(({ id }) => replica(id, { payload: 'statements' })))).toMatchObject({
      offer: 'simulate',
    });
  });
});
