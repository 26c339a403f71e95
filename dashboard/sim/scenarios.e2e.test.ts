/** All scenarios in the page without a server, in a real browser: asked by the address, played to their answers, and the run of one again from the address that it has left. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { playOnPage } from '../dev/testing/scenario-page.ts';
import { readAddress } from '../src/run/simulated/run-address.ts';
import { scenarios } from '../src/scenarios/all-scenarios.ts';
import { type LabSite, openLabSite } from '../dev/testing/lab-site.ts';

const soon = { interval: 50 };
const timeoutMs = 120_000;

/** What a simulated group of three with this seed bears out, whoever looks on (scenarios.test.ts); null: it depends on when the reader goes on. */
const seed = 2;
const borneOut: Readonly<Record<string, string | null>> = {
  'leader-dies': null,
  duel: 'high',
  'one-way-cut': 'goes-on',
  'frozen-leader': 'gives-up',
  'middle-of-agreement': 'kept',
  'unchosen-wal': 'rewound',
  'wiped-minority': 'learner',
  'long-absence': 'copy',
  'wiped-majority': 'nobody',
};

let site: LabSite;
let page: Page;
let wrong: string[];

beforeAll(async () => {
  site = await openLabSite();
});
afterAll(() => site?.close());

beforeEach(async () => {
  page = await site.browser.newPage({ viewport: { width: 1440, height: 900 } });
  wrong = [];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') wrong.push(message.text());
  });
});
afterEach(async () => {
  await page?.close();
  if (wrong.length > 0) throw new Error(`the page failed: ${wrong.join(', ')}`);
});

const part = (id: string) => page.getByTestId(id);
const hash = () => new URL(page.url()).hash;
const worldStands = async () => (await part('play-pause').getAttribute('aria-label')) === 'Play';

describe('a scenario in the page without a server', () => {
  it.each(Object.entries(borneOut))(
    '%s is asked by the address, and played to its answer',
    async (id, choice) => {
      await page.goto(`${site.url}/#sim?seed=${seed}&scenario=${id}`);
      await part('scenario-question').waitFor({ timeout: timeoutMs });
      expect(hash()).toContain(`scenario=${id}`);
      if (id === 'long-absence' || id === 'wiped-majority') await part('speed-4').click();
      const guess = choice ?? 'nobody';
      const played = await playOnPage(page, {
        guess,
        timeoutMs,
        // The world waits for the reader.
        onTold: () => expect.poll(worldStands, soon).toBe(true),
      });
      const { chapters } = scenarios.find((one) => one.id === id)!;
      expect(played.told.length).toBe(chapters.length);
      for (const [index, { caption, rule }] of played.told.entries()) {
        expect(caption).toMatch(/\br\d\b/);
        const { module, name } = chapters[index]!.rule;
        expect(rule).toMatch(new RegExp(`${name}\\s+specs/${module}\\.tla:\\d+\\s+${name}\\b`));
      }
      expect(played.choice).toBe(choice ?? (await part('leader-name').innerText()));
      expect(played.choices).toContain(played.choice);
      expect(played.isRight).toBe(played.choice === guess);
      // What was done is the run's, and the address says that, and nothing of a scenario.
      expect(readAddress(hash())?.acts.length).toBeGreaterThan(0);
      expect(hash()).not.toContain('scenario');
    },
  );

  it('is played by the keyboard alone, and its run is the same again from the address', async () => {
    await page.goto(`${site.url}/#sim?seed=${seed}`);
    await part('leader-name').getByText('r1').waitFor({ timeout: timeoutMs });
    await page.keyboard.press('s');
    await expect.poll(() => part('scenario-title').innerText()).toBe('Scenarios');
    await part('scenario-duel').focus();
    await page.keyboard.press('Enter');
    await part('scenario-question').waitFor({ timeout: timeoutMs });
    await part('scenario-question').locator('input').first().focus();
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => part('choice-high').locator('input').isChecked()).toBe(true);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const stage = () => part('scenario-play').getAttribute('data-stage');
    for (let chapter = 0; chapter < 3; chapter++) {
      await expect.poll(stage, { timeout: timeoutMs }).toBe('told');
      await part('scenario-go-on').focus();
      await page.keyboard.press('Enter');
    }
    await expect.poll(stage, soon).toBe('answered');
    expect(await part('scenario-answer').getAttribute('data-right')).toBe('true');
    const address = hash();
    const ballot = await part('node-r3').getAttribute('data-ballot');
    await page.goto('about:blank');
    const { acts } = readAddress(address)!;
    await page.goto(`${site.url}/${address}&at=${acts.at(-1)![0] + 4_000}`);
    await expect.poll(() => part('leader-name').innerText(), { timeout: timeoutMs }).toBe('r3');
    await expect.poll(() => part('node-r3').getAttribute('data-ballot'), soon).toBe(ballot);
  });

  it('lets the reader look back while it plays, and says that it is gone when the run is begun anew', async () => {
    await page.goto(`${site.url}/#sim?seed=${seed}&scenario=frozen-leader`);
    await part('scenario-question').waitFor({ timeout: timeoutMs });
    await part('choice-both').click();
    await part('scenario-begin').click();
    const stage = () => part('scenario-play').getAttribute('data-stage');
    await expect.poll(stage, { timeout: timeoutMs }).toBe('told');
    await page.keyboard.press('Home');
    await part('past').waitFor();
    expect(await stage()).toBe('told');
    await part('scenario-go-on').click();
    // It goes on from the newest moment.
    await expect.poll(() => part('past').count(), soon).toBe(0);
    await expect.poll(stage, { timeout: timeoutMs }).toBe('told');
    await page.locator('.scenario-chapters summary').first().click();
    await part('scenario-look').first().click();
    await part('past').waitFor();
    await part('fork').click();
    await expect.poll(stage, { timeout: timeoutMs }).toBe('gone');
    await part('scenario-again').click();
    await expect.poll(() => part('scenario-title').innerText()).toBe('A frozen leader comes back');
  });

  it('cannot be played on a broken group, which can be made whole first', async () => {
    await page.goto(`${site.url}/#sim?seed=${seed}&scenario=leader-dies`);
    await part('scenario-question').waitFor({ timeout: timeoutMs });
    await part('node-r2').click();
    await part('crash-r2').click();
    await page.keyboard.press('Escape');
    await expect.poll(() => part('scenario-refused').innerText(), soon).toContain('r2 is down');
    await part('scenario-whole').click();
    await part('scenario-question').waitFor({ timeout: timeoutMs });
  });
});
