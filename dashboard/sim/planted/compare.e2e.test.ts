/** Naive beside ours in a real browser, from the page without a server: each rule that is taken out is missed on the left and not on the right, by the conscience under each; both stand, step, rewind and are broken together. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { variants } from '../../src/compare/variants.ts';
import { type LabSite, openLabSite } from '../../dev/testing/lab-site.ts';

const soon = { interval: 100 };

let site: LabSite;
let page: Page;
let failures: string[];

beforeAll(async () => {
  site = await openLabSite();
});
afterAll(() => site?.close());
beforeEach(async () => {
  failures = [];
  page = await site.browser.newPage({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
  page.on('pageerror', ({ message }) => failures.push(message));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${site.url}/`) && !/^(?:data|blob):/.test(url)) failures.push(`asked for ${url}`);
  });
  await page.goto(`${site.url}/#compare`);
});
afterEach(async () => {
  await page?.close();
  if (failures.length > 0) throw new Error(failures.join('\n'));
});

const side = (name: 'naive' | 'ours') => page.getByTestId(`side-${name}`);
const figure = async (name: 'naive' | 'ours', of: string): Promise<number> =>
  Number((await side(name).getByTestId(`figure-${of}`).innerText()).replaceAll(',', ''));
const beat = () => page.getByTestId('compare-beat').innerText();
const secondsNow = async (): Promise<number> => Number.parseFloat(await beat());

describe('naive beside ours', () => {
  for (const variant of variants) {
    it(`lost on the left, and not on the right: ${variant.id}`, async () => {
      await page.getByTestId(`variant-${variant.id}`).click();
      await page.getByTestId('speed-4').click();
      const { kind, replica } = variant.foundFirst;
      const counter = kind === 'lost' ? 'lost' : 'stale-reads';
      await expect.poll(() => figure('naive', counter), soon).toBeGreaterThan(0);
      const finding = await side('naive').getByTestId('finding').innerText();
      const missed = kind === 'lost' ? 'is not at' : 'was not shown to a read at';
      expect(finding).toMatch(new RegExp(`^Write \\d+, acknowledged at [\\d.]+ s, ${missed} ${replica}: `));
      await expect.poll(() => figure('naive', 'lost'), soon).toBeGreaterThan(0);
      expect(await secondsNow()).toBeLessThan(variant.foundByMs / 1000 + 3);
      const last = variant.beats.at(-1)!;
      await expect.poll(secondsNow, soon).toBeGreaterThan(Math.max(last.atMs, variant.foundByMs) / 1000 + 3);
      expect(await beat()).toContain(last.text);
      for (const of of ['lost', 'stale-reads']) expect(await figure('ours', of)).toBe(0);
      expect(await figure('ours', 'acknowledged')).toBeGreaterThan(0);
      expect(await side('ours').getByTestId('finding').count()).toBe(0);
      expect(await side('ours').innerText()).toContain(`specs/${variant.rule.module}.tla:`);
    });
  }

  it('is one screen, and both stand, step and are broken together', async () => {
    await expect.poll(secondsNow, soon).toBeGreaterThan(7.6);
    await page.getByTestId('play-pause').click();
    const nodes = () =>
      Promise.all(
        (['naive', 'ours'] as const).map((name) =>
          side(name).getByTestId('node-r2').getAttribute('aria-label'),
        ),
      );
    await expect.poll(async () => new Set(await nodes()).size, soon).toBe(1);
    const standing = await secondsNow();
    await page.getByTestId('step-forward').click();
    await expect.poll(secondsNow, soon).toBeGreaterThan(standing);
    await side('ours').getByTestId('node-r2').focus();
    await page.keyboard.press('Enter');
    await page.getByTestId('replica-popover').getByTestId('crash-r2').click();
    await page.keyboard.press('Escape');
    await expect
      .poll(nodes, soon)
      .toEqual([expect.stringContaining('down'), expect.stringContaining('down')]);
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    expect(height).toBeLessThanOrEqual(900);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1440);
  });
});

describe('presenter mode', () => {
  it('shows the stage, time and one sentence, and is left by Escape; keys are told on ?', async () => {
    await page.goto(`${site.url}/#lab`);
    await page.getByTestId('node-r1').waitFor();
    const small = await page.getByTestId('node-r1').boundingBox();
    await page.keyboard.press('p');
    await expect
      .poll(() => page.getByTestId('caption').innerText(), soon)
      .toMatch(/r1 is elected.*\.$|r\d is let in as r\d\.$/);
    expect(await page.getByTestId('view-lab').count()).toBe(0);
    await page.getByTestId('conscience').waitFor();
    const large = await page.getByTestId('node-r1').boundingBox();
    expect(large!.width).toBeGreaterThan(small!.width * 1.1);
    // What is clicked is what is seen there.
    await page.mouse.click(large!.x + large!.width / 2, large!.y + large!.height / 2);
    await page.getByTestId('replica-popover').getByText('r1', { exact: true }).first().waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByTestId('view-lab').count(), soon).toBe(1);
    await page.keyboard.press('?');
    await page.getByTestId('key-help').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByTestId('key-help').count(), soon).toBe(0);
  });
});
