import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { AnswerFence } from './answer-fence.ts';

function fence() {
  const did: string[] = [];
  const disk = { isFull: false };
  const database: { divergence: string | null } = { divergence: null };
  const late: { readonly ms: number; readonly run: () => void }[] = [];
  const one = new AnswerFence({
    database,
    timers: {
      after: (ms, run) => {
        late.push({ ms, run });
        return () => undefined;
      },
    },
    condemn: () =>
      disk.isFull ? Promise.reject(new Error('ENOSPC')) : Promise.resolve(void did.push('condemned')),
    endSessions: () => did.push('ended'),
    replace: (slot) => Promise.resolve(void did.push(`replaced ${slot}`)),
    self: 'r1' as ReplicaId,
    onDiffer: (slot, claimant) => did.push(`differ ${slot} ${claimant}`),
    onAgree: () => undefined,
    onLost: (slot) => did.push(`lost ${slot}`),
    logger: pino({ level: 'silent' }),
  });
  const waitLong = (msMax = 2_000): void => {
    for (const { ms, run } of late.splice(0)) if (ms <= msMax) run();
  };
  return { one, did, database, disk, late, waitLong };
}

it('a database that is wrong is condemned before it is replaced, once', async () => {
  const { one, did, database } = fence();
  one.judged({ code: 'wrong', slot: 7, equal: ['r1', 'r2'] });
  one.judged({ code: 'wrong', slot: 8, equal: ['r1', 'r2'] });
  one.judged({ code: 'right' });
  await expect.poll(() => did).toEqual(['ended', 'condemned', 'replaced 7']);
  expect(database.divergence).toContain('slot 7');
});

it('who is in doubt ends its sessions, and serves again when it was right', () => {
  const { one, did, database, waitLong } = fence();
  const doubt = { code: 'doubt', slot: 7, differing: ['r1', 'r2'], isFinal: false, claimant: 'r1' } as const;
  one.judged(doubt);
  one.judged({ code: 'right' });
  waitLong();
  expect(did).toEqual([]);
  one.judged(doubt);
  one.judged(doubt);
  waitLong();
  expect(did).toEqual(['ended']);
  expect(database.divergence).toContain('r1, r2');
  one.judged({ code: 'right' });
  expect(database.divergence).toBeNull();
});

it('where all differ the claimant serves on, and the others do not, whatever was waited for before', () => {
  const all = { code: 'doubt', slot: 7, differing: ['r1', 'r2', 'r3'], isFinal: true } as const;
  const first = fence();
  first.one.judged({ ...all, claimant: 'r1' });
  expect(first.did).toEqual(['differ 7 r1']);
  expect(first.database.divergence).toBeNull();
  const other = fence();
  other.one.judged({ ...all, isFinal: false, claimant: 'r2' });
  other.one.judged({ ...all, claimant: 'r2' });
  other.waitLong();
  expect(other.did).toEqual(['ended', 'differ 7 r2']);
  expect(other.database.divergence).toContain('r1, r2, r3');
});

it('one that is away is waited for, and not without end', () => {
  const { one, did, database, waitLong } = fence();
  one.judged({ code: 'doubt', slot: 7, differing: ['r1', 'r2'], isFinal: false, claimant: 'r1' });
  waitLong(60_000);
  expect(did).toEqual(['ended', 'differ 7 r1']);
  expect(database.divergence).toBeNull();
});

it('a doubt of the database of before says nothing of the one that took its place', () => {
  const { one, did, database, waitLong } = fence();
  one.judged({ code: 'doubt', slot: 7, differing: ['r1', 'r2'], isFinal: false, claimant: 'r2' });
  one.standing(9);
  one.open();
  expect(database.divergence).toBeNull();
  waitLong(60_000);
  expect(did).toEqual(['ended']);
  expect(database.divergence).toBeNull();
});

it('of words that come one after the other the last one tells whose database goes on', () => {
  const { one, did, waitLong } = fence();
  const doubt = { code: 'doubt', slot: 7, differing: ['r1', 'r2'], isFinal: false } as const;
  one.judged({ ...doubt, claimant: 'r2' });
  one.judged({ ...doubt, claimant: 'r3' });
  waitLong(60_000);
  expect(did).toContain('differ 7 r3');
});

it('who stands ahead of an adoption serves nobody until another database is here, whatever others tell', () => {
  const { one, did, database } = fence();
  one.standing(9);
  expect(did).toEqual(['ended']);
  one.judged({ code: 'right' });
  one.judged({ code: 'wrong', slot: 8, equal: ['r2', 'r3'] });
  expect(database.divergence).toContain('slot 9');
  one.open();
  one.judged({ code: 'right' });
  expect(database.divergence).toBeNull();
});

it('a doubt that the disk does not take is kept until it does, and nobody is served meanwhile', async () => {
  const { one, did, database, disk, late, waitLong } = fence();
  disk.isFull = true;
  one.judged({ code: 'wrong', slot: 7, equal: ['r1', 'r2'] });
  await expect.poll(() => late.length).toBe(1);
  waitLong();
  await expect.poll(() => late.length).toBe(1);
  one.judged({ code: 'right' });
  expect(did).toEqual(['ended']);
  expect(database.divergence).toContain('slot 7');
  disk.isFull = false;
  waitLong();
  await expect.poll(() => did).toEqual(['ended', 'condemned', 'replaced 7']);
});

it('a database that has lost an answer serves nobody until another one is here, or the group goes on from it', () => {
  const { one, did, database } = fence();
  one.judged({ code: 'lost', slot: 7, isHeldElsewhere: false });
  one.judged({ code: 'wrong', slot: 8, equal: ['r2', 'r3'] });
  expect(did).toEqual(['ended', 'lost 7']);
  expect(database.divergence).toContain('slot 7');
  one.adopted();
  expect(database.divergence).toBeNull();
});
