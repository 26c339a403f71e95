/** Hands that mean something else, or have what is gone: fingers that zoom over the stage part nobody, and another button than the first goes nowhere in time. */
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type FixturePage, openFixturePage } from './testing/fixture-page.ts';

let over: FixturePage;
let page: Page;
let touch: CDPSession;

beforeAll(async () => {
  over = await openFixturePage();
});
afterAll(() => over?.close());
beforeEach(async () => {
  page = await over.browser.newPage({ viewport: { width: 1440, height: 900 } });
  touch = await page.context().newCDPSession(page);
  await page.goto(`${over.url}/#lab`);
  await part('node-r3').waitFor();
});
afterEach(() => page?.close());

const part = (id: string) => page.getByTestId(id);
const soon = { interval: 50 };
const regions = () => part('stage').getAttribute('data-regions');

interface Told {
  readonly type: string;
  readonly cluster: { replicas: readonly { readonly id: string }[] };
}

interface Finger {
  readonly id: number;
  readonly x: number;
  readonly y: number;
}

async function centre(id: string): Promise<{ readonly x: number; readonly y: number }> {
  const { x, y, width, height } = (await part(id).boundingBox())!;
  return { x: x + width / 2, y: y + height / 2 };
}

const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', touchPoints: readonly Finger[]) =>
  touch.send('Input.dispatchTouchEvent', { type, touchPoints: [...touchPoints] });

/** Both come down, the first goes by so much, and they leave one after the other. */
async function twoFingers(first: Finger, second: Finger, byX: number): Promise<void> {
  await send('touchStart', [first]);
  await send('touchStart', [first, second]);
  for (let step = 1; step <= 5; step += 1)
    await send('touchMove', [{ ...first, x: first.x + (byX * step) / 5 }, second]);
  await send('touchEnd', [second]);
  await send('touchEnd', []);
}

it('two fingers on the stage part nobody, wherever they come down, and one finger does', async () => {
  const [r1, r2] = [await centre('node-r1'), await centre('node-r2')];
  const { x, y } = (await part('stage').boundingBox())!;
  await twoFingers({ id: 1, x: x + 300, y: y + 250 }, { id: 2, x: x + 1000, y: y + 250 }, 500);
  await twoFingers({ id: 1, ...r1 }, { id: 2, ...r2 }, -400);
  // What had been parted would be told by then.
  await page.waitForTimeout(1_500);
  expect(await regions()).toBe('r1, r2, r3');
  await expect.poll(() => part('replica-popover').count(), soon).toBe(0);
  await send('touchStart', [{ id: 1, ...r1 }]);
  for (let step = 1; step <= 5; step += 1)
    await send('touchMove', [{ id: 1, x: r1.x - step * 100, y: r1.y }]);
  await send('touchEnd', []);
  await expect.poll(regions, soon).toBe('r1 | r2, r3');
  await part('make-whole').click();
  await expect.poll(regions, soon).toBe('r1, r2, r3');
});

it('the right button on the time line stays at now', async () => {
  await page.waitForTimeout(2_000);
  const box = (await part('time-line').boundingBox())!;
  const moment = () => part('time-line').getAttribute('aria-valuetext');
  await expect.poll(moment, soon).toBe('now');
  await page.mouse.click(box.x + box.width * 0.97, box.y + 40, { button: 'right' });
  await page.waitForTimeout(1_000);
  expect(await moment()).toBe('now');
});

it('a replica that is removed while the hand has it is let go', async () => {
  const broken: string[] = [];
  page.on('pageerror', ({ message }) => broken.push(message));
  let isRemoved = false;
  await page.routeWebSocket('**/api/stream', (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      const frame = JSON.parse(String(message)) as Told;
      if (isRemoved && frame.type === 'cluster')
        frame.cluster.replicas = frame.cluster.replicas.filter(({ id }) => id !== 'r3');
      socket.send(JSON.stringify(frame));
    });
  });
  await page.reload();
  await part('node-r3').waitFor();
  const [r1, r3] = [await centre('node-r1'), await centre('node-r3')];
  await page.mouse.move(r3.x, r3.y);
  await page.mouse.down();
  await page.mouse.move(r1.x, r3.y - 60, { steps: 4 });
  isRemoved = true;
  await part('node-r3').waitFor({ state: 'detached' });
  await page.mouse.move(r1.x + 60, r3.y, { steps: 4 });
  await page.mouse.up();
  await page.waitForTimeout(300);
  expect(broken).toEqual([]);
  expect(await regions()).toBe('r1, r2');
});
