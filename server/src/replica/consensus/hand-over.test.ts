/** A planned hand-over in simulated time: what comes before what, how long each step is waited for, and who is served when it does not come to its end. */
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { HandOverCode } from '../../multipaxos/types/effects.ts';
import type { Ballot, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LeadQuestion } from '../../ports/control.ts';
import type { PrimaryDatabase } from '../../ports/database-server.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import type { Lsn } from '../../wal/lsn.ts';
import { HandOver, type HandOverOutcome, type HandOverWishes } from './hand-over.ts';

const [r1, r2, r3] = ['r1', 'r2', 'r3'] as [ReplicaId, ReplicaId, ReplicaId];
const ballot: Ballot = { round: 1, replica: r1 };
const soon: HandOverWishes = { to: null, transactionMs: 100, electedMs: 400 };
const never = new Promise<never>(() => undefined);

/** What it does, in order. */
let story: string[];
let time: SimulatedTime;
/** What is there around it. */
let world: {
  voters: ReplicaId[];
  /** What each answers; null: nothing. */
  answers: Record<string, { reason?: string; applied?: number; run?: string } | null>;
  commitPoint: number;
  isChanging: boolean;
  servedUnder: Ballot | null;
  serving: boolean;
  leader: ReplicaId | null;
  drained: Promise<void>;
  flushed: () => Promise<Lsn>;
  chosen: Promise<boolean>;
  /** The core's, one after the other; the last again and again. */
  codes: HandOverCode[];
  onDrain: () => void;
  /** How long an election takes. */
  electedMs: number;
  leaderServes: () => boolean;
};
let handOver: HandOver;

/** How far the story was when comparisons were given up. */
let madeWay: number | null;
beforeEach(() => {
  madeWay = null;
  story = [];
  time = new SimulatedTime();
  world = {
    voters: [r1, r2, r3],
    answers: { r2: {}, r3: {} },
    commitPoint: 10,
    isChanging: false,
    servedUnder: ballot,
    serving: true,
    leader: r1,
    drained: Promise.resolve(),
    flushed: () => Promise.resolve(500 as Lsn),
    chosen: Promise.resolve(true),
    codes: ['handedOver'],
    onDrain: () => undefined,
    electedMs: 0,
    leaderServes: () => false,
  };
  handOver = new HandOver({
    self: r1,
    run: 'this life',
    transport: { sendControl: (to, message) => question(to, message as LeadQuestion) },
    timers: time,
    logger: pino({ level: 'silent' }),
    leadership: () => ({ serving: world.serving, leader: world.leader, ballot }),
    leaderServes: () => world.leaderServes(),
    voters: () => world.voters,
    commitPoint: () => world.commitPoint as Slot,
    lagSlotsMax: 5,
    makeWay: () => (madeWay = story.length),
    isChanging: () => world.isChanging,
    service: {
      get servedUnder() {
        return world.servedUnder;
      },
      drain: () => {
        story.push('nobody new');
        world.onDrain();
      },
      drained: () => world.drained,
      serveElsewhere: () => {
        story.push('nobody');
        world.servedUnder = null;
      },
      serveHere: ({ round }) => story.push(`serves under ${round}`),
    },
    primary: () => ({ flushed: () => world.flushed() }) as PrimaryDatabase,
    rest: (isResting) => story.push(isResting ? 'rests' : 'ships'),
    awaitChosen: (lsn) => {
      story.push(`until ${lsn}`);
      return world.chosen;
    },
    announce: () => story.push('tells'),
    resign,
  });
});

function question(to: ReplicaId, { run, number }: LeadQuestion): void {
  story.push(`could ${to}?`);
  const answer = world.answers[to];
  if (answer === undefined || answer === null) return;
  const { reason = '', applied = 10 } = answer;
  time.after(1, () => {
    handOver.handleAnswer(to, {
      kind: 'LeadAnswer',
      run: answer.run ?? run,
      number,
      reason,
      applied: applied as Slot,
    });
  });
}

function resign(successor: ReplicaId): void {
  const code = world.codes.length > 1 ? world.codes.shift()! : world.codes[0]!;
  story.push(`${successor}: ${code}`);
  if (code === 'handedOver') {
    world.leader = null;
    time.after(world.electedMs, () => (world.leader = successor));
  }
  handOver.answered(code);
}

function run(wishes = soon): Promise<HandOverOutcome> {
  return time.until(handOver.run(wishes));
}

/** Each line once, however often it came in a row. */
function inShort(): string[] {
  return story.filter((line, index) => line !== story[index - 1]);
}

describe('a hand-over', () => {
  it('asks who could lead, lets nobody in, ends what is under way, serves nobody, has all chosen, tells so, and resigns', async () => {
    expect(await run()).toMatchObject({ code: 'done', leader: r2 });
    expect(story).toEqual([
      'could r2?',
      'could r3?',
      'nobody new',
      'nobody',
      'until 500',
      'rests',
      'tells',
      'r2: handedOver',
    ]);
  });

  it('gives up a comparison, which may hold back commits, before it lets nobody in, and not before somebody could lead', async () => {
    await run();
    expect(story[madeWay!]).toBe('nobody new');
    madeWay = null;
    world.answers = {};
    world.servedUnder = ballot;
    expect(await run()).toMatchObject({ code: 'noSuccessor' });
    expect(madeWay).toBeNull();
  });

  it('waits for what is under way, and not for longer than it may', async () => {
    let end = (): void => undefined;
    world.drained = new Promise((resolve) => (end = resolve));
    const first = handOver.run(soon);
    await time.pass(50);
    expect(story.at(-1)).toBe('nobody new');
    end();
    await time.until(first);
    expect(time.nowMs()).toBeLessThan(60);
    world = { ...world, servedUnder: ballot, leader: r1, drained: never };
    const begunMs = time.nowMs();
    expect(await run()).toMatchObject({ code: 'done' });
    expect(time.nowMs() - begunMs).toBeGreaterThanOrEqual(100);
    expect(time.nowMs() - begunMs).toBeLessThan(110);
  });

  it('is one at a time', async () => {
    world.drained = never;
    const first = handOver.run(soon);
    expect(await handOver.run(soon)).toEqual({ code: 'busy', reason: 'A hand-over is under way already.' });
    expect(await time.until(first)).toMatchObject({ code: 'done' });
    world.leader = r1;
    world.servedUnder = null;
    expect(await run()).toEqual({ code: 'notLeader' });
  });

  it('asks the core again while something is under way, or the successor does not know all', async () => {
    world.codes = ['busy', 'behind', 'busy', 'handedOver'];
    expect(await run()).toMatchObject({ code: 'done', leader: r2 });
    expect(story.slice(-8)).toEqual([
      'tells',
      'r2: busy',
      'tells',
      'r2: behind',
      'tells',
      'r2: busy',
      'tells',
      'r2: handedOver',
    ]);
  });

  it('does nothing while the members change: nobody would be served until that is over', async () => {
    world.isChanging = true;
    expect(await run()).toEqual({ code: 'busy', reason: 'A change of the members is under way.' });
    expect(story).toEqual(['could r2?', 'could r3?']);
  });

  it('says who leads as soon as that is heard, or that nobody does', async () => {
    world.electedMs = 30;
    const outcome = await run();
    expect(outcome).toMatchObject({ code: 'done', leader: r2 });
    expect('tookMs' in outcome && outcome.tookMs).toBeGreaterThanOrEqual(30);
    expect('tookMs' in outcome && outcome.tookMs).toBeLessThan(40);
    world = { ...world, servedUnder: ballot, leader: r1, electedMs: 500 };
    expect(await run()).toEqual({
      code: 'timedOut',
      reason: 'It has resigned, and no other leader was heard for 400 ms.',
    });
    expect(story.at(-1)).toBe('r2: handedOver');
  });
});

describe('a hand-over that waits until clients are served', () => {
  const patient = { ...soon, servedMs: 1000 };

  it('says who leads when that one serves, and not before', async () => {
    const servesAtMs = time.nowMs() + 300;
    world.leaderServes = () => time.nowMs() >= servesAtMs;
    const outcome = await run(patient);
    expect(outcome).toMatchObject({ code: 'done', leader: r2 });
    expect('tookMs' in outcome && outcome.tookMs).toBeGreaterThanOrEqual(290);
  });

  it('says of one that was elected, and does not serve in time, what that one waits for', async () => {
    time.after(500, () => (world.answers = { r2: { reason: 'it is starting (PostgreSQL is starting.)' } }));
    expect(await run({ ...patient, to: r2 })).toEqual({
      code: 'timedOut',
      reason:
        'r2 was elected but does not serve yet, after 1000 ms: it is starting (PostgreSQL is starting.). Its PostgreSQL must be promoted first.',
    });
    world = { ...world, servedUnder: ballot, leader: r1, answers: { r2: {} } };
    time.after(500, () => (world.answers = {}));
    expect(await run(patient)).toMatchObject({
      code: 'timedOut',
      reason: expect.stringMatching(
        /^r2 was elected but does not serve yet, .*: it does not answer\./,
      ) as string,
    });
  });

  it('says who leads instead of one that could not be promoted', async () => {
    const instead = (leader: ReplicaId): void => {
      time.after(500, () => {
        world.leader = leader;
        world.servedUnder = leader === r1 ? ballot : null;
        world.leaderServes = () => leader !== r1;
      });
    };
    instead(r3);
    expect(await run(patient)).toMatchObject({ code: 'done', leader: r3 });
    for (const [to, leader] of [
      [r2, r3],
      [null, r1],
    ] as const) {
      world = { ...world, servedUnder: ballot, leader: r1, leaderServes: () => false };
      instead(leader);
      expect(await run({ ...patient, to })).toEqual({
        code: 'timedOut',
        reason: `r2 was elected, did not come to serve clients, and leads no more: ${leader} leads, and serves them.`,
      });
    }
  });

  it('says that nobody leads, where that is so', async () => {
    time.after(500, () => (world.leader = null));
    expect(await run(patient)).toMatchObject({
      code: 'timedOut',
      reason: expect.stringMatching(/^r2 was elected, .*: no leader is known\.$/) as string,
    });
  });
});

describe('a hand-over that does not come to its end', () => {
  it.each([
    [
      'what PostgreSQL has is not chosen',
      () => (world.chosen = never),
      /Not all that PostgreSQL has written/,
    ],
    ['PostgreSQL does not say what it has', () => (world.flushed = () => never), /Not all that PostgreSQL/],
    ['PostgreSQL is away', () => (world.flushed = () => Promise.reject(new Error('gone'))), /Not all that/],
    ['something is always under way', () => (world.codes = ['busy']), /Not all that PostgreSQL/],
    ['nobody knows all', () => (world.codes = ['behind']), /^r2 and r3 did not get all that is chosen/],
  ])('serves again within 1.5 s: %s', async (_what, change, reason) => {
    void change();
    const begunMs = time.nowMs();
    const outcome = await run();
    expect(outcome.code).toBe('timedOut');
    expect('reason' in outcome && outcome.reason).toMatch(reason);
    expect(time.nowMs() - begunMs).toBeLessThan(1600);
    expect(story.slice(-2)).toEqual(['ships', 'serves under 1']);
  });

  it('serves nobody where leadership is lost meanwhile', async () => {
    world.codes = ['notLeader'];
    world.onDrain = () => (world.serving = false);
    expect(await run()).toEqual({ code: 'notLeader' });
    expect(story).not.toContain('serves under 1');
  });

  it('does nothing more where leadership is lost while sessions end', async () => {
    world.onDrain = () => (world.servedUnder = null);
    expect(await run()).toEqual({ code: 'notLeader' });
    expect(story.at(-1)).toBe('nobody new');
  });

  it('may be followed by another', async () => {
    world.codes = ['behind'];
    expect(await run()).toMatchObject({ code: 'timedOut' });
    world.codes = ['handedOver'];
    world.servedUnder = ballot;
    expect(await run()).toMatchObject({ code: 'done' });
  });
});

describe('who leads next', () => {
  it('is whoever has replayed the most', async () => {
    world.answers = { r2: { applied: 8 }, r3: { applied: 9 } };
    expect(await run()).toMatchObject({ code: 'done', leader: r3 });
  });

  it('is another who is ready where the readiest does not answer any more', async () => {
    world.codes = ['behind'];
    const outcome = handOver.run(soon);
    await time.pass(90);
    expect(inShort()).not.toContain('r3: behind');
    await time.pass(30);
    expect(story).toContain('r3: behind');
    world.codes = ['behind', 'handedOver'];
    await time.until(outcome);
    expect(story.filter((line) => line.endsWith('handedOver'))).toHaveLength(1);
  });

  it('is nobody else than who was asked for', async () => {
    world.codes = ['behind'];
    expect(await run({ ...soon, to: r3 })).toMatchObject({ code: 'timedOut' });
    expect(story.filter((line) => line.startsWith('r2'))).toEqual([]);
    expect(story).not.toContain('could r2?');
  });

  it.each([
    ['itself', r1, 'r1 leads already.'],
    ['nobody whom the group knows', 'r9' as ReplicaId, 'r9 is no voter.'],
    ['a learner', 'r4' as ReplicaId, 'r4 is no voter.'],
  ])('is not %s', async (_who, to, reason) => {
    expect(await run({ ...soon, to })).toEqual({ code: 'noSuccessor', reason });
    expect(story).toEqual([]);
  });

  it('is nobody where there is no other voter', async () => {
    world.voters = [r1];
    expect(await run()).toEqual({ code: 'noSuccessor', reason: 'There is no other voter.' });
  });

  it('is nobody who is silent, not ready or too far behind, and why is said', async () => {
    world.voters = [r1, r2, r3, 'r4' as ReplicaId];
    world.answers = { r2: null, r3: { reason: 'it is recovering' }, r4: { applied: 4 } };
    expect(await run()).toEqual({
      code: 'noSuccessor',
      reason: 'r2 did not answer within 300 ms. r3 is not ready: it is recovering. r4 has 6 slots to replay.',
    });
    expect(story).not.toContain('nobody new');
    world.answers['r4'] = { applied: 5 };
    expect(await run()).toMatchObject({ code: 'done', leader: 'r4' });
  });

  it('is nobody who answered another life of this process, or an earlier question', async () => {
    world.answers = { r2: { run: 'another life' }, r3: null };
    expect(await run()).toMatchObject({ code: 'noSuccessor' });
    world.answers = { r2: null, r3: null };
    const again = handOver.run(soon);
    const late = { kind: 'LeadAnswer', run: 'this life', reason: '', applied: 10 as Slot } as const;
    handOver.handleAnswer(r2, { ...late, number: 1 });
    expect(await time.until(again)).toMatchObject({ code: 'noSuccessor' });
  });

  it('may be a life of a replica that is not its first', async () => {
    world.voters = [r1, 'r2.2' as ReplicaId];
    expect(await run()).toMatchObject({ code: 'done', leader: r2 });
    expect(story).toContain('r2.2: handedOver');
  });
});
