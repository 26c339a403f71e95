/**
 * The SQL console in a real browser: what it completes, an error where it is, several statements, long results, and how the keyboard gets in and out.
 *
 * PostgreSQL's answers are given by the test: the simulated group's model of it has no catalogue. harness/e2e has the console before a real one.
 */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SqlError, SqlResult } from '../../server/src/api/sql.ts';
import { type FixturePage, openFixturePage } from './testing/fixture-page.ts';

const soon = { interval: 50 };

let over: FixturePage;
let page: Page;

beforeAll(async () => {
  over = await openFixturePage();
});
afterAll(() => over?.close());

const part = (id: string) => page.getByTestId(id);
const catalogue = [
  ['public', 'orders', 'id'],
  ['public', 'orders', 'drink'],
  ['shop', 'Tills', 'number'],
];
const result = (more: Partial<SqlResult>): SqlResult => ({
  columns: [],
  rows: [],
  command: '',
  truncated: false,
  durationMs: 3,
  earlier: [],
  ...more,
});

/** What is asked for the page's own sake, and what people run. */
let askedOfCatalogue: number;
let ran: string[];
let answer: (sql: string) => SqlResult | { readonly error: SqlError };

beforeEach(async () => {
  askedOfCatalogue = 0;
  ran = [];
  answer = () => result({ command: 'SELECT 0' });
  page = await over.browser.newPage({ viewport: { width: 1440, height: 1000 } });
  await page.route('**/api/sql', async (route) => {
    const { sql } = route.request().postDataJSON() as { readonly sql: string };
    const isCatalogue = sql.includes('information_schema');
    if (isCatalogue) askedOfCatalogue += 1;
    else ran.push(sql);
    await route.fulfill({ json: isCatalogue ? result({ rows: catalogue }) : answer(sql) });
  });
  await page.goto(`${over.url}/#operator`);
  await part('sql-input').waitFor();
});
afterEach(async () => {
  await page?.close();
});

const type = async (text: string): Promise<void> => {
  await part('sql-input').fill('');
  await part('sql-input').pressSequentially(text);
};
/** CodeMirror takes no completion that nobody can have read yet. */
const take = async (): Promise<void> => {
  await page.waitForTimeout(200);
  await page.keyboard.press('Enter');
};
const completions = () => page.locator('.cm-tooltip-autocomplete li').allInnerTexts();

describe('the SQL console', () => {
  it('completes keywords, tables and the columns of those that are named, and asks for them once', async () => {
    await expect.poll(() => askedOfCatalogue, soon).toBe(1);
    await type('SELECT * FROM ord');
    await expect.poll(completions, soon).toContain('orders');
    await take();
    await page.keyboard.type(' WHERE dri');
    await expect.poll(async () => (await completions())[0], soon).toContain('drink');
    await take();
    await expect.poll(() => part('sql-input').innerText(), soon).toBe('SELECT * FROM orders WHERE drink');
    await type('tru');
    await expect.poll(completions, soon).toContain('TRUNCATE');
    expect(askedOfCatalogue).toBe(1);
    await page.keyboard.press('Escape');

    answer = () => result({ command: 'CREATE TABLE' });
    await type('CREATE TABLE t (a int)');
    await page.keyboard.press('Control+Enter');
    await expect.poll(() => askedOfCatalogue, soon).toBe(2);
    expect(ran).toEqual(['CREATE TABLE t (a int)']);
  });

  it('shows an error at the place that PostgreSQL points at, until the text is changed', async () => {
    answer = () => ({
      error: {
        code: '42P01',
        message: 'relation "nowhere" does not exist',
        detail: 'It never did.',
        hint: 'Look elsewhere.',
        position: 19,
      },
    });
    await part('sql-input').fill("SELECT '🦀'\nFROM   nowhere;");
    await page.keyboard.press('Control+Enter');
    const wrong = page.locator('.cm-sql-wrong');
    await expect.poll(() => wrong.allInnerTexts(), soon).toEqual(['nowhere']);
    await expect.poll(() => part('sql-error-in-place').innerText(), soon).toContain('42P01');
    const told = await part('sql-error').innerText();
    for (const each of ['42P01', 'DETAIL: It never did.', 'HINT: Look elsewhere.', 'LINE 2'])
      expect(told).toContain(each);
    await page.keyboard.press('End');
    await page.keyboard.type(' ');
    await expect.poll(() => wrong.count(), soon).toBe(0);
  });

  it('runs what is selected alone, and points at the error in the whole text', async () => {
    answer = () => ({ error: { code: '42703', message: 'column "b" does not exist', position: 8 } });
    await part('sql-input').fill('SELECT a;\nSELECT b;');
    await page.keyboard.press('Control+End');
    await page.keyboard.press('Shift+Home');
    await expect.poll(() => part('sql-run').innerText(), soon).toBe('Run what is selected');
    await part('sql-run').click();
    await expect.poll(() => page.locator('.cm-sql-wrong').allInnerTexts(), soon).toEqual(['b']);
    expect(ran).toEqual(['SELECT b;']);
  });

  it('shows the result of each statement, and of a long one the rows in view alone', async () => {
    const rows = Array.from({ length: 2000 }, (_, index) => [String(index + 1), `drink ${index + 1}`]);
    const first = { columns: ['one'], rows: [['first']], command: 'SELECT 1', truncated: false };
    answer = () => result({ columns: ['n', 'drink'], rows, command: 'SELECT 2000', earlier: [first] });
    await part('sql-input').fill('SELECT; SELECT');
    await page.keyboard.press('Control+Enter');
    // Below the page's end nothing is drawn.
    await part('sql-rows').scrollIntoViewIfNeeded();
    const drawn = page.locator('[data-testid=sql-rows] [role=row]');
    await expect.poll(() => drawn.count(), soon).toBeGreaterThan(4);
    expect(await drawn.count()).toBeLessThan(60);
    await expect.poll(() => part('sql-rows').getAttribute('aria-rowcount'), soon).toBe('2001');
    await part('sql-rows').getByText('drink 1', { exact: true }).click();
    await page.keyboard.press('Control+End');
    await expect.poll(async () => (await drawn.allInnerTexts()).at(-1), soon).toContain('drink 2000');
    await part('sql-statement-1').click();
    await expect.poll(async () => (await drawn.allInnerTexts()).at(-1), soon).toContain('first');
    await expect.poll(() => part('sql-command').innerText(), soon).toBe('SELECT 1');
  });

  it.each([1440, 390])(
    'leaves room for its button and a result, however long the text, and is typed over at once (%i pixels)',
    async (width) => {
      await page.setViewportSize({ width, height: 900 });
      answer = () => result({ columns: ['n'], rows: [['7']], command: 'SELECT 1' });
      await part('sql-input').fill(`SELECT ${'1 + '.repeat(4_000)} 1`);
      await part('sql-run').click();
      await expect.poll(() => ran.length, soon).toBe(1);
      const panel = (await page.locator('.sql-panel').boundingBox())!;
      const rows = (await part('sql-rows').boundingBox())!;
      expect(rows.height).toBeGreaterThan(40);
      expect(rows.y + rows.height).toBeLessThan(panel.y + panel.height);
      await part('sql-input').focus();
      await page.keyboard.press('Control+A');
      const sinceMs = performance.now();
      await page.keyboard.press('S');
      await expect.poll(() => part('sql-input').innerText(), soon).toBe('S');
      expect(performance.now() - sinceMs).toBeLessThan(15_000);
      await page.keyboard.press('Control+Z');
      await expect
        .poll(async () => (await part('sql-input').innerText()).length, soon)
        .toBeGreaterThan(9_000);
    },
  );

  it('says that a transaction which was left open is not kept', async () => {
    answer = () => result({ command: 'INSERT 0 1', rolledBack: true });
    await part('sql-input').fill('BEGIN; INSERT INTO orders VALUES (1)');
    await part('sql-run').click();
    await expect.poll(() => part('sql-rolled-back').count(), soon).toBe(1);
    answer = () => result({ command: 'INSERT 0 1' });
    await part('sql-run').click();
    await expect.poll(() => part('sql-rolled-back').count(), soon).toBe(0);
  });

  it('shows what was copied with its tabs, and of the binary format how much it was', async () => {
    const copied = { columns: ['copied text'], rows: [['1\tmocha']], command: 'COPY 2', truncated: true };
    answer = () => result({ command: 'COPY 9', binaryBytes: 2048, earlier: [copied] });
    await part('sql-input').fill('COPY a TO STDOUT; COPY b TO STDOUT (FORMAT binary)');
    await page.keyboard.press('Control+Enter');
    await expect
      .poll(() => part('sql-binary').innerText(), soon)
      .toMatch(/^2 KB were copied in the binary format, which is not shown/);
    await expect.poll(() => part('sql-rows').count(), soon).toBe(0);
    await part('sql-statement-1').click();
    await part('sql-rows').scrollIntoViewIfNeeded();
    await part('sql-rows').getByText('1\tmocha', { exact: true }).waitFor();
    await expect.poll(() => part('sql-result').innerText(), soon).toContain('first 1 rows');
    await expect.poll(() => part('sql-binary').count(), soon).toBe(0);
  });

  it('is entered, run and left by the keyboard, and keeps what was run', async () => {
    await part('sql-input').focus();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('SELECT 7');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+Enter');
    await expect.poll(() => ran, soon).toEqual(['SELECT 7']);
    await page.keyboard.press('Tab');
    await expect.poll(() => part('sql-input').innerText(), soon).toContain('  ');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    const inEditor = () => page.evaluate(() => document.activeElement?.closest('.cm-editor') !== null);
    expect(await inEditor()).toBe(false);
    await part('sql-history').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'SELECT 7' }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => part('sql-input').innerText(), soon).toBe('SELECT 7');
  });
});
