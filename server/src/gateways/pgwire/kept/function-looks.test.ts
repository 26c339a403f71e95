import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ClientFunctions, FunctionsLook } from '../../../ports/client-functions.ts';
import { FunctionLooks } from './function-looks.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const everyMs = 1_000;
const found = (mark: string): ClientFunctions => ({ mark, functions: [], unnamedTells: false });

function setUp(answers: (FunctionsLook | null | Error)[]) {
  const asked: string[] = [];
  const looks = new FunctionLooks((database, known) => {
    asked.push(`${database} ${known}`);
    const answer = answers.shift() ?? null;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  }, everyMs);
  const pass = async (): Promise<void> => {
    vi.advanceTimersByTime(everyMs);
    await settled();
  };
  return { looks, asked, pass };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

it('looks for all sessions of a database at once, and again while one of them is in use', async () => {
  const { looks, asked, pass } = setUp([found('one'), 'same', found('two')]);
  const [first, second] = [looks.watch('app'), looks.watch('app')];
  expect(first.known).toBeNull();
  await settled();
  expect([asked, second.known?.mark, second.known?.look]).toEqual([['app null'], 'one', 1]);
  // The second one came while the first look was under way.
  await pass();
  expect(asked).toHaveLength(2);
  await pass();
  expect(asked).toHaveLength(2);
  const { telling } = first.known!;
  expect([first.known?.look, first.begun]).toEqual([2, 2]);
  second.use();
  await pass();
  expect([asked.at(-1), first.known?.mark, first.known?.telling === telling]).toEqual([
    'app one',
    'two',
    false,
  ]);
});

it('looks again if it could not be found out, and keeps what is known', async () => {
  const { looks, asked, pass } = setUp([found('one'), null, 'same']);
  const watch = looks.watch('app');
  await settled();
  watch.use();
  await pass();
  expect(watch.known?.look).toBe(1);
  await pass();
  expect([asked.length, watch.known?.look]).toEqual([3, 3]);
});

it('knows nothing if it failed', async () => {
  const { looks, pass } = setUp([found('one'), new Error('what')]);
  const watch = looks.watch('app');
  await settled();
  watch.use();
  await pass();
  expect(watch.known).toBeNull();
});

it('does not look when nobody is there, and the next session has what was known', async () => {
  const { looks, asked, pass } = setUp([found('one'), 'same']);
  const watch = looks.watch('app');
  await settled();
  watch.use();
  watch.stop();
  watch.stop();
  await pass();
  expect([asked.length, vi.getTimerCount()]).toEqual([1, 0]);
  expect(looks.watch('app').known?.mark).toBe('one');
});

it('looks at once where a session has changed functions, in a look that begins behind that', async () => {
  const { looks, asked } = setUp([found('one'), found('two')]);
  const watch = looks.watch('app');
  // The first look is under way.
  watch.hurry();
  watch.hurry();
  await expect.poll(() => watch.known?.mark).toBe('two');
  expect([asked.length, watch.begun]).toEqual([2, 2]);
});

it('renews what is known for all who want it, and tries again until it can be had', async () => {
  const { looks, asked } = setUp([found('one'), null, 'same']);
  const [first, second] = [looks.watch('app'), looks.watch('app')];
  await settled();
  await Promise.all([first.renew(60_000), second.renew(60_000)]);
  expect([asked.length, first.known?.look]).toEqual([3, 3]);
  await first.renew(0);
  expect(asked).toHaveLength(3);
});

it('looks no more often for many log-ins', async () => {
  const { looks, asked, pass } = setUp([found('one'), 'same']);
  looks.watch('app');
  await settled();
  for (let time = 0; time < 100; time += 1) {
    looks.watch('app').stop();
    await settled();
  }
  expect(asked).toHaveLength(1);
  await pass();
  expect(asked).toHaveLength(2);
});
