import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { AdoptOperation } from '../../payload/statements/operation.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { Adoptions } from './adoptions.ts';

const slot = (number: number): Slot => number as Slot;
const names = ['r1', 'r2', 'r3'] as ReplicaId[];

/** Three replicas that hear each other at once. */
function group() {
  const timers = new SimulatedTime();
  const all = new Map<ReplicaId, ReturnType<typeof replica>>();
  const submitted: AdoptOperation[] = [];
  let given = 0;
  const replica = (self: ReplicaId) => {
    const story: string[] = [];
    const asked: Slot[] = [];
    const at = { pointer: 0 as Slot | null, kept: 0 as Slot, claim: null as string | null, isCut: false };
    const adoptions = new Adoptions({
      self,
      voters: () => names,
      send: (to, bytes) => {
        const there = all.get(to);
        if (!at.isCut && there?.at.isCut === false) there.adoptions.take(self, bytes);
      },
      timers,
      randomName: () => {
        given += 1;
        return given.toString(16).padStart(32, '0');
      },
      database: {
        pointer: () => at.pointer,
        keptSlot: () => at.kept,
        claim: ({ name }) => {
          at.claim = name;
          return Promise.resolve();
        },
        claimed: () => Promise.resolve(at.claim === null ? null : { name: at.claim }),
      },
      submit: (operation) => submitted.push(operation),
      withdraw: ({ name }) => story.push(`withdraws ${name.slice(-1)}`),
      tellAgain: (where) => asked.push(where),
      onGoesOn: () => story.push('goes on'),
      onStanding: (where) => story.push(`stands ${where}`),
      onCopyThere: (where, reason) => story.push(`copy ${where} ${reason}`),
      onAdopted: (where) => story.push(`adopted ${where}`),
      logger: pino({ level: 'silent' }),
    });
    return { adoptions, at, story, asked };
  };
  for (const name of names) all.set(name, replica(name));
  const [r1, r2, r3] = names.map((name) => all.get(name)!);
  return { timers, submitted, r1: r1!, r2: r2!, r3: r3! };
}

const distinct = (submitted: readonly AdoptOperation[]) => [
  ...new Set(submitted.map(({ replica, name }) => `${replica} ${name.slice(-1)}`)),
];

describe('a database that is to go on where all differ', () => {
  it('is claimed by whoever comes first, once it has executed the slot, and by nobody else', async () => {
    const { timers, submitted, r1, r2, r3 } = group();
    r1.at.pointer = slot(6);
    for (const { adoptions } of [r1, r2, r3]) adoptions.differ(slot(7), 'r1' as ReplicaId);
    await timers.pass(3_000);
    expect(submitted).toEqual([]);
    r1.at.pointer = slot(7);
    await timers.pass(3_000);
    expect(distinct(submitted)).toEqual(['r1 1']);
    expect(r1.at.claim).toBe(submitted[0]?.name);
    expect(await r1.adoptions.holds(submitted[0]!.name)).toBe(true);
    expect(await r2.adoptions.holds(submitted[0]!.name)).toBe(false);
    await r1.adoptions.adopted(slot(9), submitted[0]!.name);
    expect(r1.story).toEqual(['withdraws 1', 'adopted 9']);
    // The others have not come so far yet.
    const { length } = submitted;
    r1.at.pointer = slot(9);
    await timers.pass(3_000);
    expect(submitted).toHaveLength(length);
  });

  it('is claimed by one that does not know of it any more, for it was restarted, and by the next where it is away', async () => {
    const { timers, submitted, r1, r2, r3 } = group();
    for (const { at } of [r1, r2, r3]) at.pointer = slot(7);
    for (const { adoptions } of [r2, r3]) adoptions.differ(slot(7), 'r1' as ReplicaId);
    await timers.pass(1_500);
    expect(distinct(submitted)).toEqual(['r1 1']);
    const away = group();
    for (const { at } of [away.r1, away.r2, away.r3]) at.pointer = slot(7);
    away.r1.at.isCut = true;
    for (const { adoptions } of [away.r2, away.r3]) adoptions.differ(slot(7), 'r1' as ReplicaId);
    await away.timers.pass(17_000);
    expect(distinct(away.submitted)).toEqual(['r2 1']);
  });

  it('is not claimed where a word that came late says who is right', async () => {
    const { timers, submitted, r2 } = group();
    r2.at.pointer = slot(7);
    r2.adoptions.differ(slot(7), 'r1' as ReplicaId);
    r2.adoptions.agree();
    await timers.pass(60_000);
    expect(submitted).toEqual([]);
  });

  it('is claimed by nobody any more once an adoption is chosen, however late it is executed', async () => {
    const { timers, submitted, r1, r2 } = group();
    r1.at.pointer = slot(6);
    r2.at.pointer = slot(7);
    r1.adoptions.differ(slot(7), 'r1' as ReplicaId);
    r2.adoptions.differ(slot(7), 'r1' as ReplicaId);
    for (const { adoptions } of [r1, r2]) adoptions.chosen(slot(9));
    r1.at.pointer = slot(8);
    await timers.pass(60_000);
    expect(submitted).toEqual([]);
  });

  it('is given once, however often it is said that all differ', async () => {
    const { timers, submitted, r1 } = group();
    r1.at.pointer = slot(7);
    for (let told = 0; told < 50; told += 1) r1.adoptions.differ(slot(7), 'r1' as ReplicaId);
    // Whoever holds another answer has a moment to say so.
    await timers.pass(10);
    expect(submitted).toEqual([]);
    expect(r1.asked).toEqual([7]);
    await timers.pass(1_500);
    expect(distinct(submitted)).toHaveLength(1);
  });
});

describe('a replica that stands ahead of an adoption', () => {
  it('claims once for as long as it stands, and asks nobody any more when it goes on', async () => {
    const { timers, submitted, r1, r2 } = group();
    r2.at.pointer = slot(8);
    r2.adoptions.standing(slot(9), 'adopted');
    await timers.pass(60_000);
    expect(distinct(submitted)).toEqual(['r2 1']);
    r2.adoptions.chosen(slot(12));
    r2.adoptions.passedOver(slot(9));
    expect(r2.story).toEqual(['stands 9', 'withdraws 1', 'goes on']);
    r1.at.pointer = slot(20);
    await timers.pass(60_000);
    expect(r2.story).not.toContain('copy 9 adopted');
    expect(await r2.adoptions.holds(submitted[0]!.name)).toBe(true);
  });

  it('takes a copy once somebody is behind it, and claims nothing meanwhile', async () => {
    const { timers, submitted, r1, r2 } = group();
    r2.at.pointer = slot(8);
    r1.at.pointer = slot(8);
    r2.adoptions.standing(slot(9), 'adopted');
    await timers.pass(2_000);
    expect(r2.story).toEqual(['stands 9']);
    r1.at.pointer = slot(9);
    await timers.pass(60_000);
    expect(r2.story).toContain('copy 9 adopted');
    expect(r2.adoptions.isSomebodyBeyond).toBe(true);
    expect(submitted).toEqual([]);
    r2.adoptions.replaced();
    const { length } = r2.story;
    await timers.pass(60_000);
    expect(r2.story).toHaveLength(length);
  });

  it('claims its own database where nobody is behind it, and the first of those that stand does', async () => {
    const { timers, submitted, r2, r3 } = group();
    for (const { adoptions, at } of [r2, r3]) {
      at.pointer = slot(8);
      adoptions.standing(slot(9), 'adopted');
    }
    await timers.pass(16_500);
    expect(distinct(submitted)).toEqual(['r2 1']);
    expect(r2.adoptions.isSomebodyBeyond).toBe(false);
  });

  it('hears of one whose database is not up, by the copy that it keeps; and waits for one that was heard of', async () => {
    const { timers, submitted, r1, r2, r3 } = group();
    r1.at.pointer = null;
    r1.at.kept = slot(9);
    r2.at.pointer = slot(8);
    r2.adoptions.standing(slot(9), 'adopted');
    await timers.pass(2_000);
    expect(r2.story).toContain('copy 9 adopted');
    r1.at.isCut = true;
    r3.at.isCut = true;
    await timers.pass(290_000);
    expect(r2.adoptions.isSomebodyBeyond).toBe(false);
    expect(submitted).toEqual([]);
    await timers.pass(30_000);
    expect(distinct(submitted)).toEqual(['r2 1']);
  });

  it('claims nothing while somebody is heard of who went on from the adoption that it has passed over', async () => {
    const { timers, submitted, r1, r2 } = group();
    r2.at.pointer = slot(8);
    r2.adoptions.standing(slot(9), 'adopted');
    r1.at.pointer = slot(11);
    r2.adoptions.chosen(slot(12));
    r2.adoptions.passedOver(slot(9));
    r2.at.pointer = slot(11);
    r2.adoptions.standing(slot(12), 'adopted');
    await timers.pass(60_000);
    expect(r2.story).not.toContain('copy 12 adopted');
    expect(submitted).toEqual([]);
    r1.at.pointer = slot(12);
    await timers.pass(2_000);
    expect(r2.story).toContain('copy 12 adopted');
  });

  it('claims where all that are heard of have passed over the adoption, too', async () => {
    const { timers, submitted, r1, r2, r3 } = group();
    r1.at.pointer = null;
    for (const { adoptions, at } of [r2, r3]) {
      at.pointer = slot(8);
      adoptions.standing(slot(9), 'adopted');
      adoptions.chosen(slot(12));
      adoptions.passedOver(slot(9));
      at.pointer = slot(11);
      adoptions.standing(slot(12), 'adopted');
    }
    await timers.pass(16_500);
    expect(distinct(submitted)).toEqual(['r2 1']);
  });

  it('says again that it stands in each life of its database', () => {
    const { r2 } = group();
    r2.adoptions.standing(slot(9), 'adopted');
    r2.adoptions.standing(slot(9), 'adopted');
    expect(r2.story).toEqual(['stands 9', 'stands 9']);
  });
});

it('what is no message of its kind is passed over', () => {
  const { r1 } = group();
  r1.at.pointer = slot(9);
  for (const bytes of [[], [1], [9, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 1, 0]])
    r1.adoptions.take('r2' as ReplicaId, Uint8Array.from(bytes));
  expect(r1.story).toEqual([]);
});

describe('a database that has lost an answer', () => {
  /** Of r2 and r3, while r1 is away. */
  function lost(isHeldElsewhere: boolean) {
    const all = group();
    for (const { at, adoptions } of [all.r2, all.r3]) {
      at.pointer = null;
      adoptions.lost(slot(7), isHeldElsewhere);
    }
    for (const { at } of [all.r2, all.r3]) at.pointer = slot(9);
    all.r1.at.pointer = null;
    return all;
  }

  it('is replaced by a copy of one that has not, and is beyond for nobody', async () => {
    const { timers, submitted, r1, r2, r3 } = lost(false);
    await timers.pass(3_000);
    expect([...r2.story, ...r3.story]).toEqual([]);
    r1.at.pointer = slot(9);
    await timers.pass(30_000);
    expect(r2.story).toContain('copy 7 lost');
    expect(r3.story).toContain('copy 7 lost');
    expect(submitted).toEqual([]);
  });

  it('is claimed where there is no other', async () => {
    const { timers, submitted } = lost(false);
    await timers.pass(16_000);
    expect(distinct(submitted)).toEqual(['r2 1']);
  });

  it('waits for minutes for another that has said what it holds', async () => {
    const { timers, submitted } = lost(true);
    await timers.pass(290_000);
    expect(submitted).toEqual([]);
    await timers.pass(30_000);
    expect(distinct(submitted)).toContain('r2 1');
  });
});
