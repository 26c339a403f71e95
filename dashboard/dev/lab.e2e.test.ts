/**
 * The lab in a real browser over a group in simulated time: faults by the hand and by the keyboard, time that stands and goes back, and the space-time diagram.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type SimulatedFixture, startFixture } from './simulated-fixture.ts';
import { type BuiltPage, buildPage, launchBrowser } from './testing/browser-page.ts';

const lightPage = { viewport: { width: 1440, height: 900 }, colorScheme: 'light' } as const;
const soon = { interval: 50 };

let built: BuiltPage;
let browser: Browser;
let fixture: SimulatedFixture;
let page: Page;

beforeAll(async () => {
  built = await buildPage();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await built?.remove();
});

beforeEach(async () => {
  const dashboard = { kind: 'ready', dir: built.dir } as const;
  const say = () => undefined;
  fixture = await startFixture({ seed: 1, replicas: 3, clients: 2, port: 0, dashboard, say });
  void fixture.pace.playTo(Number.POSITIVE_INFINITY, 1);
  page = await browser.newPage(lightPage);
  await page.goto(`http://127.0.0.1:${fixture.demo.port}`);
  await part('leader-name').getByText('r1').waitFor();
});
afterEach(async () => {
  await page?.close();
  await fixture?.close();
});

const part = (id: string) => page.getByTestId(id);
const text = async (id: string) => (await part(id).innerText()).trim();
const roleOf = (id: string) => part(`node-${id}`).getAttribute('data-role');
const ballotOf = (id: string) => part(`node-${id}`).getAttribute('data-ballot');
const regions = () => part('stage').getAttribute('data-regions');

async function centerOf(id: string): Promise<{ readonly x: number; readonly y: number }> {
  const box = (await part(`node-${id}`).boundingBox())!;
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

async function drag(
  from: { readonly x: number; readonly y: number },
  to: { readonly x: number; readonly y: number },
): Promise<void> {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 4 });
  await page.mouse.move(to.x, to.y, { steps: 4 });
  await page.mouse.up();
}

/** Once it has been said again and again for a second: the page says it anew twice in that time. */
async function settledMoment(moment: () => Promise<number>): Promise<number> {
  let said = await moment();
  const isSame = async (): Promise<boolean> => {
    const before = said;
    await page.waitForTimeout(1_100);
    said = await moment();
    return said === before;
  };
  await expect.poll(isSame, soon).toBe(true);
  return said;
}

/** How many pixels of the first canvas have any colour that is no grey. */
async function coloured(): Promise<number> {
  return page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>('.stage-canvas')!;
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4)
      if (
        Math.max(data[at]!, data[at + 1]!, data[at + 2]!) -
          Math.min(data[at]!, data[at + 1]!, data[at + 2]!) >
        40
      )
        count += 1;
    return count;
  });
}

describe('the lab', () => {
  it('is one screen that says what it shows, and has the operator beside it', async () => {
    await expect.poll(() => text('source'), soon).toMatch(/^Live cluster/);
    const scrolls = () =>
      page.evaluate(() => [
        document.documentElement.scrollHeight > document.documentElement.clientHeight,
        document.documentElement.scrollWidth > document.documentElement.clientWidth,
      ]);
    for (const size of [
      { width: 1440, height: 900 },
      { width: 1920, height: 1080 },
      { width: 1024, height: 768 },
      { width: 390, height: 844 },
    ]) {
      await page.setViewportSize(size);
      expect(await scrolls()).toEqual([false, false]);
    }
    await page.keyboard.press('4');
    await part('replica-card-r1').waitFor();
    expect(new URL(page.url()).hash).toBe('#operator');
    await part('view-lab').click();
    await part('stage').waitFor();
  });

  it('breaks a replica by its popover, keeps each one’s own ballot, and takes the fault back', async () => {
    await expect.poll(coloured, soon).toBeGreaterThan(2_000);
    const before = await ballotOf('r2');
    await part('node-r1').click();
    await part('replica-popover').waitFor();
    await part('crash-r1').click();
    await page.keyboard.press('Escape');
    await expect.poll(() => roleOf('r1'), soon).toBe('down');
    await expect.poll(() => text('leader-name'), soon).toMatch(/^r[23]$/);
    await expect.poll(() => ballotOf('r2'), soon).not.toBe(before);
    // What it said last stays what it said.
    expect(await ballotOf('r1')).toBe(before);
    await part('undo').click();
    await expect.poll(() => roleOf('r1'), soon).toBe('follower');
  });

  it('parts the group where a replica is dragged away, or a line is drawn, and makes it whole', async () => {
    const start = await centerOf('r3');
    await drag(start, { x: start.x, y: start.y - 180 });
    await expect.poll(regions, soon).toBe('r1, r2 | r3');
    await part('undo').click();
    await expect.poll(regions, soon).toBe('r1, r2, r3');

    await expect
      .poll(async () => (await centerOf('r1')).y, soon)
      .toBeLessThan((await centerOf('r2')).y - 100);
    const [top, low] = [await centerOf('r1'), await centerOf('r2')];
    const middle = (top.y + low.y) / 2 + 40;
    await drag({ x: 250, y: middle }, { x: 1_200, y: middle });
    await expect.poll(regions, soon).toBe('r1 | r2, r3');
    await expect.poll(() => text('leader-name'), soon).toMatch(/^r[23]$/);

    // Over the border, to the others.
    await drag(await centerOf('r1'), { x: 1_200, y: 400 });
    await expect.poll(regions, soon).toBe('r1, r2, r3');

    await part('node-r2').focus();
    await page.keyboard.press('Enter');
    await part('pause-r2').click();
    await page.keyboard.press('Escape');
    await expect.poll(() => roleOf('r2'), soon).toBe('paused');
    await part('make-whole').click();
    await expect.poll(() => roleOf('r2'), soon).not.toBe('paused');
  });

  it('sets faults of a link by the keyboard alone', async () => {
    await part('link-r1-r2').focus();
    await page.keyboard.press('ArrowRight');
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-testid'));
    await expect.poll(focused, soon).toBe('link-r1-r3');
    await page.keyboard.press('Enter');
    await part('link-cut').click();
    await expect.poll(() => part('link-r1-r3').getAttribute('data-fault'), soon).toBe('cut');
    await page.keyboard.press('Escape');
    await part('link-editor').waitFor({ state: 'detached' });
    // Focus comes back a moment after the form has gone.
    await expect.poll(focused, soon).toBe('link-r1-r3');
  });

  it('pauses, goes back and comes back to now; the past is said to be past, and nothing is done in it', async () => {
    const before = await ballotOf('r2');
    await page.waitForTimeout(1_500);
    await part('node-r1').click();
    await part('crash-r1').click();
    await page.keyboard.press('Escape');
    await expect.poll(() => text('leader-name'), soon).toMatch(/^r[23]$/);
    await page.locator('body').click({ position: { x: 5, y: 5 } });
    await page.keyboard.press(' ');
    await part('past').waitFor();
    await expect.poll(() => text('past-age'), soon).toMatch(/^\d+(\.\d)? s ago$/);
    await expect
      .poll(async () => {
        await page.keyboard.press('Shift+ArrowLeft');
        return [await roleOf('r1'), await ballotOf('r2'), await text('leader-name')];
      }, soon)
      .toEqual(['leader', before, 'r1']);
    await part('node-r2').click();
    await expect.poll(() => part('crash-r2').getAttribute('aria-disabled'), soon).toBe('true');
    await page.keyboard.press('Escape');
    // The operator's view is of the same moment.
    await page.keyboard.press('4');
    await expect.poll(() => text('role-r1'), soon).toBe('leader');
    await page.keyboard.press('1');
    await part('speed-4').click();
    await part('play-pause').click();
    await expect.poll(() => roleOf('r1'), soon).toBe('down');
    await part('time-line').focus();
    await page.keyboard.press('Home');
    await part('back-to-live').click();
    await expect.poll(() => part('past').count(), soon).toBe(0);
    await expect.poll(() => roleOf('r1'), soon).toBe('down');
  });

  it('looks at the moment that the hand is at on the time line, until it lets go', async () => {
    await page.waitForTimeout(2_000);
    const line = part('time-line');
    const { x, y, width, height } = (await line.boundingBox())!;
    const at = (share: number) => ({ x: x + width * share, y: y + height / 2 });
    const moment = async () => Number(await line.getAttribute('aria-valuenow'));
    // The beginning is at the left of the middle, however little there is of the run.
    await drag(at(0.6), at(0.1));
    await part('past').waitFor();
    const held = await settledMoment(moment);
    await page.mouse.move(at(0.95).x, at(0.95).y, { steps: 4 });
    expect(await settledMoment(moment)).toBe(held);
    // A touch that the browser takes for something else does not go on holding it.
    const touch = await page.context().newCDPSession(page);
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [at(0.95)] });
    await expect.poll(moment, soon).toBeGreaterThan(held);
    await touch.send('Input.dispatchTouchEvent', { type: 'touchCancel', touchPoints: [] });
    const touched = await settledMoment(moment);
    await page.mouse.move(at(0.1).x, at(0.1).y, { steps: 4 });
    expect(await settledMoment(moment)).toBe(touched);
  });

  it('shows the messages as arrows in time, each of which can be read', async () => {
    await page.waitForTimeout(1_500);
    await page.keyboard.press('d');
    await part('space-time').waitFor();
    await page.keyboard.press(' ');
    await expect.poll(coloured, soon).toBeGreaterThan(500);
    const box = (await part('space-time').boundingBox())!;
    await expect
      .poll(async () => {
        const x = box.x + 200 + Math.random() * (box.width - 500);
        await page.mouse.click(x, box.y + box.height * (0.3 + Math.random() * 0.4));
        return part('message-popover').count();
      }, soon)
      .toBe(1);
    await expect.poll(() => text('message-popover'), soon).toMatch(/r\d → r\d/);
    await page.keyboard.press('Escape');
    await page.keyboard.press('d');
    await part('stage').waitFor();
  });
});
