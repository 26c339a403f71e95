import { pino } from 'pino';
import { expect, it } from 'vitest';
import { AnswerFence } from './answer-fence.ts';

function fence() {
  const did: string[] = [];
  const database: { divergence: string | null } = { divergence: null };
  const late: (() => void)[] = [];
  const one = new AnswerFence({
    database,
    timers: {
      after: (_ms, run) => {
        late.push(run);
        return () => undefined;
      },
    },
    condemn: () => Promise.resolve(void did.push('condemned')),
    endSessions: () => did.push('ended'),
    replace: () => Promise.resolve(void did.push('replaced')),
    logger: pino({ level: 'silent' }),
    onFatal: (error) => did.push(error.message),
  });
  const waitLong = (): void => {
    for (const run of late.splice(0)) run();
  };
  return { one, did, database, waitLong };
}

it('a database that is wrong is condemned before it is replaced, once', async () => {
  const { one, did, database } = fence();
  one.judged({ code: 'wrong', slot: 7, equal: ['r1', 'r2'] });
  one.judged({ code: 'wrong', slot: 8, equal: ['r1', 'r2'] });
  one.judged({ code: 'right' });
  await expect.poll(() => did).toEqual(['ended', 'condemned', 'replaced']);
  expect(database.divergence).toContain('slot 7');
});

it('who is in doubt ends its sessions, and serves again when it was right', () => {
  const { one, did, database, waitLong } = fence();
  const doubt = { code: 'doubt', slot: 7, differing: ['r1', 'r2'], isFinal: false } as const;
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

it('a doubt that is final stays, whatever was waited for before it', () => {
  const { one, database, waitLong } = fence();
  one.judged({ code: 'doubt', slot: 7, differing: ['r1', 'r2'], isFinal: false });
  one.judged({ code: 'doubt', slot: 7, differing: ['r1', 'r2', 'r3'], isFinal: true });
  waitLong();
  expect(database.divergence).toContain('r1, r2, r3');
});
