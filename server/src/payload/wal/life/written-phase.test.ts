import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../multipaxos/types/entries.ts';
import type { DirectoryState } from '../../../ports/database-directory.ts';
import type { Timeline } from '../../../wal/lsn.ts';
import { positionNone } from '../../../wal/position.ts';
import { pause } from '../../pause.ts';
import { ballot, leadership, lsn, range, start } from '../testing/entries.ts';
import { LifeFixture, positionAfter, primaryOf, silentPrimary, stateOf } from './testing/life-fixture.ts';
import { settleWritten } from './written-phase.ts';

const [b1, b2, b3] = [ballot(1, 'r1'), ballot(2, 'r2'), ballot(3, 'r1')];
/** Slot 2 begins at 100, and each slot above it ends ten bytes higher. */
const ofB1 = [
  start(b1),
  leadership(b1, 1, 100),
  ...Array.from({ length: 40 }, (_, n) => range(b1, 1, 100 + 10 * n, 10)),
];
const ofB2 = [start(b2), leadership(b2, 2, 500), range(b2, 2, 500, 30)];
const written = stateOf(primaryOf(b1), positionAfter(ofB1, 12));
const founder = stateOf({ kind: 'founder', isNew: true }, positionNone);

function setUp(log: readonly Entry[], { ownEnd = 200 } = {}) {
  const life = new LifeFixture(log);
  life.directory.endOfWal = () => Promise.resolve(lsn(ownEnd));
  const settle = (state: DirectoryState) => settleWritten(life.context, state);
  return { life, settle };
}

describe('a directory that may hold WAL which was never chosen', () => {
  it('is a standby of what it has, however far the log goes on', async () => {
    const { life, settle } = setUp([...ofB1, ...ofB2], { ownEnd: 255 });
    const state = {
      ...stateOf({ kind: 'standby' }, positionAfter(ofB1, 17)),
      configuration: expect.anything(),
    };
    expect(await life.time.until(settle(written))).toEqual({ kind: 'standby', state });
    expect(life.disk.state).toEqual(state);
    expect(life.disk.state!.position.end).toBe(250);
  });

  it('is lost where others went another way below its end', async () => {
    const { life, settle } = setUp([...ofB1, ...ofB2], { ownEnd: 501 });
    expect(await life.time.until(settle(written))).toMatchObject({ kind: 'lost', loss: { cause: 'parted' } });
  });

  it('is told as a standby once it says so, durably, and not before', async () => {
    const { life, settle } = setUp([...ofB1, ...ofB2], { ownEnd: 255 });
    life.directory.write = () => Promise.reject(new Error('the disk does not take it'));
    await expect(life.time.until(settle(written))).rejects.toThrow('the disk');
    expect(life.events).not.toContainEqual(expect.objectContaining({ outcome: 'standby' }));
  });

  it('makes known the leadership that it knows of: its replica leads in no lower ballot', async () => {
    const { life, settle } = setUp([...ofB1, ...ofB2]);
    await life.time.until(settle(written));
    expect(life.story).toEqual(['known: 1 of r1']);
  });

  it.each([
    ['none', 'a standby', { kind: 'standby' }],
    ['done', 'a standby', { kind: 'standby' }],
    ['other', 'lost', { kind: 'lost', loss: { cause: 'parted' } }],
  ] as const)('whose promotion came to "%s" is %s', async (came, _what, next) => {
    const promoted = [...ofB1, start(b3), leadership(b3, 2, 500), range(b3, 2, 500, 10)];
    const { life, settle } = setUp(promoted, { ownEnd: 500 });
    const asked: (readonly [Timeline, Timeline])[] = [];
    life.directory.settlePromotion = async (from, timeline) => {
      asked.push([from, timeline]);
      // Meanwhile the log is folded on.
      await pause(life.time, 100);
      return came;
    };
    const promoting = stateOf({ kind: 'promoting', leadership: b3 }, positionAfter(promoted, 44));
    expect(await life.time.until(settle(promoting))).toMatchObject(next);
    expect(asked).toEqual([[1, 2]]);
    // Of one on another timeline nothing is known.
    const told = life.events.filter(({ name }) => name === 'CheckPrefix');
    expect(told).toMatchObject(
      came === 'other'
        ? []
        : [{ outcome: 'standby', timeline: came === 'none' ? 1 : 2, slot: life.disk.state?.position.slot }],
    );
  });

  it.each([
    ['timeline', { timeline: 2 as Timeline }],
    ['database', { timeline: 1 as Timeline, system: 8n }],
  ])('is lost if PostgreSQL comes up with another %s than the log says', async (_what, rest) => {
    const { life, settle } = setUp(ofB1, { ownEnd: 520 });
    life.startPrimary = () => Promise.resolve(silentPrimary(rest));
    life.payload.lead(b3);
    const next = await life.time.until(settle(written));
    expect(next).toMatchObject({ kind: 'lost', loss: { cause: 'databaseLost' } });
    expect(life.story.slice(1)).toEqual(['start', 'stop: immediate']);
  });
});

describe('a primary that ends before its leadership has begun', () => {
  it('is looked at again, and tells what may become of its directory only once', async () => {
    const { life, settle } = setUp(ofB1, { ownEnd: 520 });
    life.startPrimary = () => Promise.reject(new Error('it does not start'));
    life.payload.lead(b3);
    await expect(life.time.until(settle(written))).rejects.toThrow('it does not start');
    life.payload.follow();
    void settle(written);
    await life.time.pass(100);
    const told = life.events.filter(({ name }) => name === 'CheckPrefix');
    expect(told).toMatchObject([{ outcome: 'undecided', position: 520 }]);
  });

  it('is stopped where it came up after its leadership was over', async () => {
    const { life, settle } = setUp(ofB1, { ownEnd: 520 });
    let comeUp = (): void => undefined;
    life.startPrimary = () =>
      new Promise((resolve) => (comeUp = () => resolve(silentPrimary({ timeline: 1 as Timeline }))));
    life.payload.lead(b3);
    const next = settle(written);
    await life.time.pass(100);
    life.payload.follow();
    await life.time.pass(100);
    comeUp();
    expect(await life.time.until(next)).toEqual({ kind: 'inspect' });
    expect(life.story.slice(1)).toEqual(['start', 'stop: immediate']);
  });

  it.each([
    ['resumes', ofB1, written, 520],
    ['founds the group', [], founder, 0],
  ] as const)(
    'ends that leadership, and what is started again is part of a newer one: it %s',
    async (_what, log, state, ownEnd) => {
      const { life, settle } = setUp(log, { ownEnd });
      life.startPrimary = () => Promise.resolve(silentPrimary({ timeline: 1 as Timeline }));
      life.propose = () => ({ code: 'proposed', label: 'r1 1' });
      life.payload.lead(b3);
      const next = settle(state);
      await life.time.pass(100);
      expect(life.events.map(({ name }) => name)).toContain('ProposeLeadership');
      expect(life.story).not.toContain('step down');
      life.payload.suspect('it has died');
      expect(await life.time.until(next)).toEqual({ kind: 'inspect' });
      expect(life.story.slice(-2)).toEqual(['step down', 'stop: immediate']);
    },
  );
});

describe('the directory of a founder', () => {
  it('is lost if another replica has begun the group with another database', async () => {
    const { life, settle } = setUp([start(b2), leadership(b2, 1, 100)]);
    const reason = 'the group was begun by r2, with another database';
    expect(await life.time.until(settle(founder))).toEqual({
      kind: 'lost',
      loss: { cause: 'databaseLost', reason },
    });
  });

  it('is a primary if its own leadership was chosen in the moment of a crash', async () => {
    const begun = [start(b1), leadership(b1, 1, 100)];
    const { life, settle } = setUp(begun);
    expect(await life.time.until(settle(founder))).toMatchObject({
      kind: 'written',
      state: { role: primaryOf(b1), position: positionAfter(begun) },
    });
  });

  it('is not used before all that is chosen is known: another may have begun the group', async () => {
    const { life, settle } = setUp([start(b2), leadership(b2, 1, 100)]);
    let read = (): void => undefined;
    life.logIsRead = new Promise((resolve) => {
      read = resolve;
    });
    life.payload.lead(b3);
    const settled = settle(founder);
    await life.time.pass(3000);
    expect(life.story).not.toContain('start');
    read();
    expect(await life.time.until(settled)).toMatchObject({ kind: 'lost' });
    expect(life.story).not.toContain('start');
  });
});
