/** Every view fits every width: nothing scrolls sideways or sticks out, and the page's head stays low. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLabSite, type LabSite } from './testing/lab-site.ts';

let site: LabSite;

beforeAll(async () => {
  site = await openLabSite();
}, 60_000);
afterAll(() => site?.close());

const widths = [1_440, 1_280, 1_024, 768, 390] as const;
const shownBy = { lab: 'stage', compare: 'compare', spec: 'spec-state', operator: 'sql-input' } as const;

/** What lies beyond the right edge, other than inside of what scrolls by itself. */
function beyond(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const isKept = (element: Element): boolean => {
      for (let box = element.parentElement; box !== null; box = box.parentElement)
        if (getComputedStyle(box).overflowX !== 'visible') return true;
      return false;
    };
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !isKept(element))
      .map((element) => `${element.tagName} ${element.getAttribute('class') ?? ''}`);
  });
}

describe.each(['lab', 'compare', 'spec', 'operator'] as const)('%s', (view) => {
  it('fits every width, below a head of two rows at most', async () => {
    const page = await site.browser.newPage({ viewport: { width: 1_440, height: 900 } });
    await page.goto(`${site.url}/#${view}`);
    await page.getByTestId(shownBy[view]).waitFor();
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForTimeout(150);
      const across = await page.evaluate(() => document.documentElement.scrollWidth);
      const head = (await page.locator('.top').boundingBox())!.height;
      const found = { width, across, beyond: await beyond(page), isLow: head <= (width > 860 ? 62 : 92) };
      expect(found).toEqual({ width, across: width, beyond: [], isLow: true });
    }
    await page.close();
  }, 60_000);
});
