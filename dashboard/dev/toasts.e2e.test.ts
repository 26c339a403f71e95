/** Messages of the page in a browser: read out once, waiting for whoever reads them, closed by the keyboard, and in the way of no control. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { axeViolations } from './testing/axe-violations.ts';
import { type FixturePage, openFixturePage } from './testing/fixture-page.ts';

const soon = { interval: 50 };
/** As in toasts.tsx. */
const stayMs = 5_000;

let over: FixturePage;
let page: Page;

beforeAll(async () => {
  over = await openFixturePage();
});
afterAll(() => over?.close());
afterEach(() => page?.close());

const part = (id: string) => page.getByTestId(id);
const toasts = () => page.locator('.toast');
const texts = () => toasts().allInnerTexts();
const focused = () =>
  page.evaluate(
    () => document.activeElement?.getAttribute('data-testid') ?? document.activeElement?.className ?? null,
  );

async function open(view: 'lab' | 'operator', width: number, height: number): Promise<void> {
  page = await over.browser.newPage({ viewport: { width, height } });
  await page.goto(`${over.url}/#${view}`);
  await part(view === 'lab' ? 'node-r3' : 'isolate-r3').waitFor();
}

/** Frozen, or let go on: what one does, the next takes back. */
const freezing = (id: string) => page.getByTestId(new RegExp(`^(pause|resume)-${id}$`));

describe('messages', () => {
  beforeEach(() => open('operator', 1440, 900));

  it('are read out once, in a landmark with a name, and axe finds nothing', async () => {
    await freezing('r3').click();
    await expect.poll(texts, soon).toEqual(['Paused r3']);
    expect(await page.getByRole('region', { name: '1 message' }).count()).toBe(1);
    const heard = page.locator('[role=alert], [role=status], [aria-live]:not([aria-live=off])');
    expect(await heard.filter({ hasText: 'Paused r3' }).count()).toBe(1);
    expect(await page.getByRole('alertdialog', { name: 'Paused r3' }).count()).toBe(1);
    expect(await toasts().getByRole('button', { name: 'Close' }).count()).toBe(1);
    await toasts().hover();
    expect(await axeViolations(page)).toEqual([]);
    expect(await toasts().count()).toBe(1);
    await page.mouse.move(5, 5);
    await freezing('r3').click();
    await expect.poll(async () => (await texts())[0], soon).toBe('Resumed r3');
  });

  it('wait while they are pointed at, also one that comes then, and leave afterwards', async () => {
    await part('pause-r3').click();
    await toasts().hover();
    await part('resume-r3').press('Enter');
    await expect.poll(() => toasts().count(), soon).toBe(2);
    await page.waitForTimeout(stayMs + 1_000);
    expect(await toasts().count()).toBe(2);
    await page.mouse.move(5, 5);
    await expect.poll(() => toasts().count(), soon).toBe(0);
  });

  it('are reached by F6, wait meanwhile, and give the focus back when they are closed', async () => {
    await freezing('r3').press('Enter');
    await expect.poll(() => toasts().count(), soon).toBe(1);
    await page.keyboard.press('F6');
    await expect.poll(focused, soon).toBe('toasts');
    await page.waitForTimeout(stayMs + 1_000);
    expect(await toasts().count()).toBe(1);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await expect.poll(focused, soon).toContain('toast-close');
    await page.keyboard.press('Enter');
    await expect.poll(() => toasts().count(), soon).toBe(0);
    await expect.poll(focused, soon).toBe('resume-r3');
    // Nothing of that is left for the next one: it leaves by itself.
    await page.keyboard.press('Enter');
    await expect.poll(() => toasts().count(), soon).toBe(1);
    await toasts().hover();
    await page.mouse.move(5, 5);
    await expect.poll(() => toasts().count(), soon).toBe(0);
  });

  it('are three at most, the newest first, and none waits behind them', async () => {
    for (let turn = 0; turn < 4; turn += 1) {
      const { length } = await texts();
      await freezing(turn < 2 ? 'r2' : 'r3').press('Enter');
      await expect.poll(() => toasts().count(), soon).toBe(Math.min(3, length + 1));
      // However long all of this takes, none leaves by itself.
      if (turn === 0) await toasts().hover();
      await page.waitForTimeout(300);
    }
    expect(await texts()).toEqual(['Resumed r3', 'Paused r3', 'Resumed r2']);
    await page.locator('.toast-close').first().click();
    await page.waitForTimeout(500);
    expect(await texts()).toEqual(['Paused r3', 'Resumed r2']);
  });
});

/** Those of the page's controls that a message lies over. */
function covered(): Promise<{ readonly count: number; readonly names: readonly string[] }> {
  return page.evaluate(() => {
    const region = document.querySelector('.toasts');
    if (region === null) return { count: 0, names: [] };
    const { left, top, right, bottom } = region.getBoundingClientRect();
    const names = [...document.querySelectorAll('button, a[href], input, select, [role=slider]')]
      .filter((control) => {
        const box = control.getBoundingClientRect();
        return (
          !region.contains(control) &&
          box.width > 0 &&
          Math.min(box.right, right) > Math.max(box.left, left) &&
          Math.min(box.bottom, bottom) > Math.max(box.top, top)
        );
      })
      .map((control) => control.getAttribute('aria-label') ?? control.textContent);
    return { count: region.querySelectorAll('.toast').length, names };
  });
}

const sizes = [
  [390, 844],
  [1440, 900],
] as const;

it.each(sizes)(
  'at %i by %i pixels messages in the lab cover no control, and move nothing',
  async (width, height) => {
    await open('lab', width, height);
    const places = async () =>
      JSON.stringify(
        await Promise.all(
          ['node-r1', 'node-r3', 'play-pause', 'time-line', 'scenarios-open'].map((id) =>
            part(id).boundingBox(),
          ),
        ),
      );
    const before = await places();
    // On a slow machine the first of them may have left before the second is looked at.
    const together = async (): Promise<number> => {
      await part('node-r3').press('Enter');
      await freezing('r3').press('Enter');
      await expect.poll(() => toasts().count(), soon).toBeGreaterThan(0);
      await freezing('r3').press('Enter');
      await page.keyboard.press('Escape');
      await part('replica-popover').waitFor({ state: 'detached' });
      const { count, names } = await covered();
      expect(names).toEqual([]);
      return count;
    };
    await expect.poll(together, soon).toBeGreaterThan(1);
    expect(await places()).toBe(before);
  },
);

it('however long what three messages say, they stay within a small window, and scroll', async () => {
  await open('operator', 390, 640);
  const message = 'What could not be done, and why. '.repeat(60);
  await page.route('**/api/fault', (route) =>
    route.fulfill({ status: 409, json: { error: { code: 'failed', message } } }),
  );
  const fit = async (): Promise<boolean> => {
    await freezing('r3').dispatchEvent('click');
    return page.evaluate(() => {
      const boxes = [...document.querySelectorAll('.toast-close, .toasts')].map((one) =>
        one.getBoundingClientRect(),
      );
      return boxes.length === 4 && boxes.every(({ top, bottom }) => top >= 0 && bottom <= innerHeight);
    });
  };
  await expect.poll(fit, soon).toBe(true);
  const ends = await toasts()
    .locator('.toast-content')
    .first()
    .evaluate((content) => {
      content.scrollTop = 0;
      const text = content.querySelector('[slot=title]') ?? content.lastElementChild!;
      const first = text.getBoundingClientRect().top >= content.getBoundingClientRect().top;
      content.scrollTop = content.scrollHeight;
      return [first, text.getBoundingClientRect().bottom <= content.getBoundingClientRect().bottom];
    });
  expect(ends).toEqual([true, true]);
});
