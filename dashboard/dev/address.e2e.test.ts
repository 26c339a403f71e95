/** What an address asks for and the page does not have is told in words, with what there is; the page goes on with something else. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLabSite, type LabSite } from './testing/lab-site.ts';

let site: LabSite;

beforeAll(async () => {
  site = await openLabSite();
});
afterAll(() => site?.close());

describe('an address that asks for', () => {
  it.each([
    [
      'a scenario that there is not',
      '#scenario=leader-lives',
      'source-problem',
      /“leader-lives”.*leader-dies/,
      'stage',
    ],
    ['a view that there is not', '#labb', 'source-problem', /no view named “labb”.*lab, compare/, 'stage'],
    ['a rule that there is not', '#compare?variant=none', 'source-problem', /“none”.*wiped/, 'compare'],
    [
      'a run that is malformed',
      '#sim?seed=x&acts=!',
      'source-problem',
      /acts is no list.*seed.*“x”/,
      'stage',
    ],
    [
      'acts upon strangers',
      '#sim?replicas=3&acts=7ps-c9',
      'source-problem',
      /acts names r9.*r1 to r3/,
      'stage',
    ],
    ['a model that there is not', '#spec?model=BugNone', 'unknown-model', /“BugNone”.*Bug/, 'spec-state'],
    [
      'a model by hand',
      '#spec?mode=hand&model=MCNone',
      'unknown-model',
      /“MCNone”.*MCLease-tiny/,
      'hand-model',
    ],
  ])('%s', async (_, hash, told, text, shown) => {
    const page = await site.browser.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(`${site.url}/${hash}`);
    await page.getByTestId(told).waitFor();
    expect(await page.getByTestId(told).innerText()).toMatch(text);
    await page.getByTestId(shown).waitFor();
    expect(errors).toEqual([]);
    await page.close();
  });

  it('what there is shows it, and says nothing; what was said is gone when it has been read', async () => {
    const page = await site.browser.newPage();
    await page.goto(`${site.url}/#compare?variant=unchosen`);
    await page.locator('[data-testid="variant-unchosen"]:has(:checked)').waitFor();
    expect(await page.getByTestId('source-problem').count()).toBe(0);
    await page.goto(`${site.url}/#scenario=none`);
    await page.getByTestId('problem-read').click();
    await page.getByTestId('source-problem').waitFor({ state: 'detached' });
    await page.close();
  });
});
