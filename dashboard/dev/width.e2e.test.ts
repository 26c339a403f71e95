/** Every view fits every width: nothing scrolls sideways or sticks out, the page's head stays low, and what opens over the stage hides no replica. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLabSite, type LabSite } from './testing/lab-site.ts';

let site: LabSite;

beforeAll(async () => {
  site = await openLabSite();
});
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
  });
});

it('what is said of a replica hides neither another one nor the time controls', async () => {
  const page = await site.browser.newPage({ viewport: { width: 1_440, height: 900 } });
  await page.goto(`${site.url}/#sim?seed=3&replicas=5`);
  const boxOf = async (id: string) => (await page.getByTestId(id).boundingBox())!;
  const ids = ['r1', 'r2', 'r3', 'r4', 'r5'];
  await page.getByTestId('node-r5').waitFor();
  const hiddenBy = async (id: string): Promise<readonly string[]> => {
    const said = await boxOf('replica-popover');
    const hidden: string[] = [];
    for (const other of [...ids.filter((one) => one !== id).map((one) => `node-${one}`), 'play-pause']) {
      const box = await boxOf(other);
      const wide = Math.min(box.x + box.width, said.x + said.width) - Math.max(box.x, said.x);
      const high = Math.min(box.y + box.height, said.y + said.height) - Math.max(box.y, said.y);
      if (wide > 0 && high > 0) hidden.push(other);
    }
    return [id, ...hidden];
  };
  for (const id of ids) {
    await page.getByTestId(`node-${id}`).press('Enter');
    await page.locator('.lab-popover-placed').waitFor();
    // The stage gets smaller when the load's row comes below it, and what is said is placed anew a frame later.
    await expect.poll(() => hiddenBy(id)).toEqual([id]);
    await page.keyboard.press('Escape');
    await page.getByTestId('replica-popover').waitFor({ state: 'detached' });
  }
  await page.close();
});
