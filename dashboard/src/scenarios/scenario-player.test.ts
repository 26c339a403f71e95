/** A play is of the chapter that was begun last, and ends with what it is played on: answers that come late, and a server that goes away. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ClusterReplica } from '../../../server/src/api/status.ts';
import { clusterOf, ballot, replica } from '../model/testing.ts';
import type { FaultOutcome } from '../run/requests.ts';
import { openRun } from '../run/run-store.ts';
import type { RunSource, SourceListener } from '../run/source.ts';
import { leaderDies } from './plays/leader-dies.ts';
import { playerOf } from './scenario-player.ts';

const led = { role: 'leader', leader: 'r1' } as Parameters<typeof replica>[1];
const whole = [replica('r1', led), replica('r2'), replica('r3')];
const down = [replica('r1', led, { process: 'stopped' }), replica('r2'), replica('r3')];
const next = replica('r2', { role: 'leader', leader: 'r2', ballot: ballot(2, 'r2') } as Parameters<
  typeof replica
>[1]);
const refused: FaultOutcome = { ok: false, error: { code: 'conflict', message: 'r1 is not running' } };

function wire() {
  let listener: SourceListener | null = null;
  let nowMs = 0;
  const answers: ((outcome: FaultOutcome) => void)[] = [];
  const source = {
    kind: 'live',
    title: 'main',
    subscribe(one: SourceListener) {
      listener = one;
      one.onConnection({ kind: 'open' });
      return () => undefined;
    },
    nowMs: () => nowMs,
    requests: { fault: () => new Promise<FaultOutcome>((resolve) => answers.push(resolve)) },
    world: null,
    retryNow: () => undefined,
  } as unknown as RunSource;
  const store = openRun(source);
  const player = playerOf(store);
  return {
    player,
    answers,
    async tell(atMs: number, replicas: readonly ClusterReplica[]) {
      nowMs = atMs;
      listener!.onFrames([{ type: 'cluster', cluster: clusterOf(...replicas) }], atMs);
      await vi.advanceTimersByTimeAsync(200);
    },
    lose: () => listener!.onConnection({ kind: 'lost', attempt: 1, retryAtMs: 0 }),
    find: () => listener!.onConnection({ kind: 'open' }),
    pass(ms: number) {
      nowMs += ms;
    },
    async answer(n: number, outcome: FaultOutcome) {
      answers[n]!(outcome);
      await vi.advanceTimersByTimeAsync(0);
    },
    stage: () => player.play()?.stage,
  };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('what is refused', () => {
  it('ends the play, and is nothing to wait longer for', async () => {
    const wired = wire();
    await wired.tell(1_000, whole);
    wired.player.begin(leaderDies, 'r2', 1);
    await wired.answer(0, refused);
    expect(wired.stage()).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('r1 is not running') as string,
    });
    wired.player.waitLonger(1);
    await wired.tell(2_000, down);
    expect(wired.stage()?.kind).toBe('refused');
  });

  it('late is nothing to a play that has gone on, to another one, and to the same one begun again', async () => {
    const wired = wire();
    await wired.tell(1_000, whole);
    wired.player.begin(leaderDies, 'r2', 1);
    await wired.tell(2_000, down);
    expect(wired.stage()?.kind).toBe('told');
    wired.player.goOn(1);
    await wired.tell(3_000, [down[0]!, next, down[2]!]);
    wired.player.goOn(1);
    expect(wired.answers).toHaveLength(2);
    await wired.answer(0, refused);
    expect(wired.stage()?.kind).toBe('waiting');

    const again = wire();
    await again.tell(1_000, whole);
    again.player.begin(leaderDies, 'r2', 1);
    again.player.leave();
    again.player.begin(leaderDies, 'r3', 1);
    await again.answer(0, refused);
    expect(again.stage()?.kind).toBe('waiting');
    await again.answer(1, refused);
    expect(again.stage()?.kind).toBe('refused');
  });
});

describe('a server that goes away', () => {
  it('ends the wait, which is as long again when it is back', async () => {
    const wired = wire();
    await wired.tell(1_000, whole);
    wired.player.begin(leaderDies, 'r2', 1);
    wired.lose();
    expect(wired.stage()).toMatchObject({
      kind: 'missed',
      saw: expect.stringContaining('does not answer') as string,
    });
    wired.pass(100_000);
    wired.player.waitLonger(1);
    expect(wired.stage()?.kind).toBe('missed');
    wired.find();
    wired.player.waitLonger(1);
    expect(wired.stage()).toMatchObject({ kind: 'waiting', sinceMs: 101_000 });
    await wired.tell(102_000, down);
    expect(wired.stage()?.kind).toBe('told');
  });
});
