/** axe finds nothing on any view of the page: light and dark, with what opens over it open. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeViolations } from './testing/axe-violations.ts';
import { type FixturePage, openFixturePage } from './testing/fixture-page.ts';

const soon = { interval: 50 };

let over: FixturePage;

beforeAll(async () => {
  over = await openFixturePage();
});
afterAll(() => over?.close());

type View = 'lab' | 'compare' | 'spec' | 'operator';

const shownBy = { lab: 'stage', compare: 'compare', spec: 'spec-state', operator: 'sql-input' } as const;

async function open(view: View, colorScheme: 'light' | 'dark', width = 1440): Promise<Page> {
  const page = await over.browser.newPage({
    viewport: { width, height: 900 },
    colorScheme,
    reducedMotion: 'reduce',
  });
  await page.goto(`${over.url}/#${view}`);
  // Two worlds side by side have no figures of the page's run.
  if (view !== 'compare') {
    const leader = page.getByTestId('leader-name');
    await expect.poll(() => leader.textContent(), soon).toBe('r1');
  }
  await page.getByTestId(shownBy[view]).waitFor();
  return page;
}

const schemes = ['light', 'dark'] as const;

describe.each(schemes)('in %s, axe finds nothing', (scheme) => {
  /** Looks at the page after each step. */
  async function look(
    view: View,
    steps: readonly (readonly [string, (page: Page) => Promise<unknown>])[],
    width?: number,
  ): Promise<readonly unknown[]> {
    const page = await open(view, scheme, width);
    const found: (readonly [string, readonly string[]])[] = [];
    for (const [name, step] of steps) {
      await step(page);
      await page.waitForTimeout(300);
      const now = await axeViolations(page);
      if (now.length > 0) found.push([name, now]);
    }
    await page.close();
    return found;
  }
  const click = (id: string) => (page: Page) => page.getByTestId(id).first().click();
  const press = (key: string) => (page: Page) => page.keyboard.press(key);

  it('in the lab', async () => {
    expect(
      await look('lab', [
        ['the stage', async () => undefined],
        ['a replica', click('node-r2')],
        ['the stage again', press('Escape')],
        ['space-time', click('scenery-space-time')],
        ['standing', click('play-pause')],
        ['keys', press('?')],
        ['presenter mode', (page) => press('Escape')(page).then(() => press('p')(page))],
      ]),
    ).toEqual([]);
  });

  it.each([1_440, 390])('in its scenarios, %i pixels wide', async (width) => {
    const told = (page: Page) =>
      page.getByTestId('scenario-caption').waitFor({ state: 'attached', timeout: 60_000 });
    expect(
      await look(
        'lab',
        [
          ['the list', click('scenarios-open')],
          ['a question', click('scenario-one-way-cut')],
          [
            'a chapter',
            async (page) => {
              await click('choice-leads')(page);
              await click('scenario-begin')(page);
              await told(page);
            },
          ],
          [
            'what was said before',
            async (page) => {
              await click('scenario-go-on')(page);
              await page.locator('.scenario-chapters summary').first().click();
            },
          ],
          [
            'the group made whole',
            async (page) => {
              await click('make-whole')(page);
              // Whoever comes next finds the group as it was.
              await page.locator('[data-testid="make-whole"][aria-disabled="true"]').waitFor();
            },
          ],
        ],
        width,
      ),
    ).toEqual([]);
  });

  it('in the lab on a phone', async () => {
    expect(await look('lab', [['the stage', async () => undefined]], 390)).toEqual([]);
  });

  it.each([1_440, 390])('in Compare, %i pixels wide', async (width) => {
    const harm = (page: Page) => page.getByTestId('finding').waitFor({ timeout: 60_000 });
    expect(
      await look(
        'compare',
        [
          ['two worlds', (page) => page.getByTestId('verdict').nth(1).waitFor()],
          ['without another rule', click('variant-unchosen')],
          ['a lost write', harm],
          ['keys', press('?')],
          ['presenter mode', (page) => press('Escape')(page).then(() => press('p')(page))],
        ],
        width,
      ),
    ).toEqual([]);
  });

  it.each([1_440, 390])('in Spec, %i pixels wide', async (width) => {
    const hand = (hash: string) => async (page: Page) => {
      await page.goto(`${over.url}/${hash}`);
      await page.getByTestId('choices').waitFor();
    };
    expect(
      await look(
        'spec',
        [
          ['a counterexample', async () => undefined],
          ['its last step', press('End')],
          [
            'this run, checked',
            async (page) => {
              await click('mode-run')(page);
              await page.locator('[data-testid="verdict"][data-state="done"]').waitFor({ timeout: 60_000 });
            },
          ],
          [
            'a run that is refused',
            async (page) => {
              await click('check-example')(page);
              await page.locator('[data-testid="verdict"][data-state="done"]').waitFor({ timeout: 60_000 });
            },
          ],
          ['by hand', (page) => click('mode-hand')(page).then(() => page.getByTestId('choices').waitFor())],
          [
            'an invariant broken by hand',
            hand('#spec?mode=hand&model=BugMultiPaxos-promise-before-fsync&step=18'),
          ],
          [
            'a model that there is not',
            async (page) => {
              await page.goto(`${over.url}/#spec?mode=hand&model=MCNone`);
              await page.getByTestId('unknown-model').waitFor();
            },
          ],
          ['keys', press('?')],
        ],
        width,
      ),
    ).toEqual([]);
  });

  it("in the operator's view", async () => {
    expect(
      await look('operator', [
        ['the view', async () => undefined],
        ['what to wipe', click('wipe-r3')],
        [
          'a link',
          async (page) => {
            await press('Escape')(page);
            await click('link-r2-r3')(page);
          },
        ],
        [
          'a link that is cut',
          (page) => click('link-cut')(page).then(() => page.locator('[data-fault="cut"]').first().waitFor()),
        ],
        [
          'the link made whole',
          async (page) => {
            await click('link-whole')(page);
            // Whoever comes next finds the group as it was.
            await page.locator('[data-testid="link-r2-r3"][data-fault=""]').waitFor();
          },
        ],
        ['the activity', (page) => press('Escape')(page).then(() => click('activity-statements')(page))],
        [
          'a slot',
          async (page) => {
            await page.getByTestId('log-strips').getByRole('slider').first().focus();
            await page.keyboard.press('ArrowLeft');
          },
        ],
        [
          'an error of SQL',
          async (page) => {
            await page.getByTestId('sql-input').fill('SELECT 1');
            await page.keyboard.press('Control+Enter');
            await page.getByTestId('sql-error').waitFor();
          },
        ],
        [
          'rows',
          async (page) => {
            await page.getByTestId('sql-input').fill('SELECT * FROM x0');
            await page.keyboard.press('Control+Enter');
            await page.waitForTimeout(500);
          },
        ],
        ['the history', click('sql-history')],
        [
          'a comparison',
          async (page) => {
            await press('Escape')(page);
            await click('verify')(page);
          },
        ],
      ]),
    ).toEqual([]);
  });
});
