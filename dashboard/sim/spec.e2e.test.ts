/** The specifications on the page without a server, in a real browser: a counterexample to its end, a run that is refused, a run that is accepted, and a model by hand. */
import type { Page } from 'playwright-core';
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { writeRun } from '../src/run/run-file.ts';
import { asRunFile } from '../src/spec/testing/as-run-file.ts';
import { readTraceText } from '../src/spec/trace-text.ts';
import { type LabSite, openLabSite } from '../dev/testing/lab-site.ts';

const soon = { interval: 100 };

let site: LabSite;
let page: Page;
let trouble: string[];

beforeAll(async () => {
  site = await openLabSite();
});
afterAll(() => site?.close());

beforeEach(async () => {
  page = await site.browser.newPage({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
  trouble = [];
  page.on('pageerror', (error) => trouble.push(error.message));
});
afterEach(async () => {
  await page?.close();
  if (trouble.length > 0) throw new Error(`the page failed: ${trouble.join(', ')}`);
});

const part = (id: string) => page.getByTestId(id);
const litText = async (): Promise<string> =>
  (await part('spec-module').locator('[data-lit="true"] .spec-line-text').allInnerTexts()).join('\n');

describe('the specifications', () => {
  it('show a counterexample step by step, with its text, to the invariant that breaks and the part of it that is false', async () => {
    await page.goto(`${site.url}/#spec?model=BugLease-known-long-ago&step=0`);
    await expect.poll(() => part('spec-steps').getAttribute('data-at'), soon).toBe('0');
    expect(await part('outcome').count()).toBe(0);
    expect(await part('bug-words').innerText()).toContain('AnyOfBefore');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => part('spec-steps').getAttribute('data-at')).toBe('1');
    expect(await part('spec-state').locator('[data-changed="true"]').count()).toBeGreaterThan(0);
    await page.keyboard.press('End');
    await expect.poll(() => part('outcome').getAttribute('data-violated'), soon).toBe('LeaseExcludes');
    expect(await litText()).toContain('HandleHeartbeatAck(r, m) ==');
    expect(await part('false-claim').innerText()).toContain('r = 3');
    expect(page.url()).toContain('model=BugLease-known-long-ago&step=13');
    // On one screen.
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBe(900);
  });

  it('find a bug by its words, and go on by hand from a step of it', async () => {
    await page.goto(`${site.url}/#spec`);
    await part('spec-find').fill('margin drift');
    await part('model-BugLease-no-margin').click();
    await expect.poll(() => part('spec-steps').getAttribute('data-last'), soon).toBe('12');
    for (let step = 0; step < 11; step++) await part('spec-forward').click();
    await part('go-by-hand').click();
    await expect.poll(() => part('choices').getAttribute('data-count'), soon).toMatch(/^[1-9]/);
    await part('choices').getByRole('button').first().click();
    await expect.poll(() => part('spec-steps').getAttribute('data-at'), soon).toBe('1');
    const walked = page.url();
    expect(walked).toContain('walk=0');
    expect(await part('hand-broken').innerText()).toContain('NoStaleAnswer');
    await part('hand-undo').click();
    await expect.poll(() => part('hand-broken').count(), soon).toBe(0);
    await page.goto('about:blank');
    await page.goto(walked);
    await expect.poll(() => part('hand-broken').count(), soon).toBe(1);
  });

  it('refuse the run of a group with a planted bug at its first wrong event, beside the text of its action', async () => {
    await page.goto(`${site.url}/#spec?mode=run`);
    await part('check-example').click();
    await expect.poll(() => part('verdict-MultiPaxos').getAttribute('data-outcome'), soon).toBe('refused');
    expect(await part('refused').innerText()).toContain('Crash of r3 is refused');
    expect(await litText()).toContain('Crash(r, hint, kept) ==');
    expect(await part('variable-state').innerText()).toContain('r3');
    await part('spec-back').click();
    await expect.poll(() => part('refused').count()).toBe(0);
    // The focus is on a button of the strip.
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => part('refused').count()).toBe(1);
  });

  it('accept the run that the page simulates, asked for in the lab', async () => {
    await page.goto(`${site.url}/#sim?seed=5&replicas=3&clients=2`);
    await expect.poll(() => part('leader-name').innerText(), soon).toMatch(/^r\d$/);
    await page.waitForTimeout(2_000);
    await part('check-this-run').click();
    await expect.poll(() => part('verdict').getAttribute('data-state'), soon).toBe('done');
    for (const module of ['MultiPaxos', 'OrderedApply', 'Lease'])
      expect(await part(`verdict-${module}`).getAttribute('data-outcome')).toBe('accepted');
  });

  it('show in the lab the event that they refuse of the page’s own run, here of a file', async () => {
    const trace = new URL('../../specs/refused/forgets-promise.ndjson', import.meta.url);
    const read = readTraceText(readFileSync(trace, 'utf8'));
    if (!read.ok) throw new Error(read.message);
    await page.goto(`${site.url}/#lab`);
    await part('source-file').setInputFiles({
      name: 'refused.ndjson',
      mimeType: 'application/x-ndjson',
      buffer: Buffer.from(writeRun(asRunFile(read.events)).join('')),
    });
    await expect.poll(() => part('source-choice').inputValue(), soon).toBe('file');
    await part('check-this-run').click();
    await expect.poll(() => part('verdict').getAttribute('data-state'), soon).toBe('done');
    expect(await part('verdict-MultiPaxos').getAttribute('data-outcome')).toBe('refused');
    expect(await part('refusal-reason').innerText()).not.toBe('');
    await part('jump').click();
    await expect.poll(() => part('check-this-run').count(), soon).toBe(1);
    await expect.poll(() => part('time-line').getAttribute('aria-valuetext'), soon).toContain('ago');
    expect(page.url()).not.toContain('spec');
  });

  it('follow a link to another counterexample, and scroll their list to it', async () => {
    await page.goto(`${site.url}/#spec?model=BugLease-no-margin&step=2`);
    await expect.poll(() => part('spec-steps').getAttribute('data-at'), soon).toBe('2');
    await page.evaluate(() => {
      location.hash = '#spec?model=BugRecovery-copy-without-pointer&step=1';
    });
    await expect.poll(() => part('spec-steps').getAttribute('data-at'), soon).toBe('1');
    await expect.poll(() => part('model-BugRecovery-copy-without-pointer').count(), soon).toBe(1);
    expect(await part('model-BugRecovery-copy-without-pointer').getAttribute('aria-selected')).toBe('true');
  });
});
