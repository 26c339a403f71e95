/**
 * The dashboard in a real browser against a real cluster: a person writes a row, sees it in the log, kills the leader from the page, sees another
 * elected on a timeline of its own, and the row is still there.
 *
 * BARISTA_SCREENSHOTS=DIR keeps pictures of what the page showed.
 */
import { join } from 'node:path';
import { Client } from 'pg';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../../dashboard/dev/testing/browser-page.ts';
import type { SlotAnswer } from '../../server/src/api/wal-summary.ts';
import { demoUser } from '../../server/src/demo/layout.ts';
import { describeDemoApi } from '../../server/src/demo/testing/demo-api-contract.ts';
import { startCluster, type LocalCluster } from '../cluster/local-cluster.ts';

describe('the dashboard', () => {
  let cluster: LocalCluster;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    cluster = await startCluster({ args: ['--no-load'] });
    browser = await launchBrowser();
    page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
    await page.goto(`${cluster.dashboardUrl}/#operator`);
  });
  afterAll(async () => {
    await browser?.close();
    await cluster?.stop();
  });

  const part = (id: string) => page.getByTestId(id);
  const text = async (id: string) => (await part(id).innerText()).trim();

  async function picture(name: string): Promise<void> {
    const directory = process.env.BARISTA_SCREENSHOTS;
    if (directory !== undefined)
      await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true });
  }

  async function leaderOnPage(not = ''): Promise<string> {
    await expect
      .poll(async () => /^r\d$/.test(await text('leader-name')) && (await text('leader-name')) !== not)
      .toBe(true);
    return text('leader-name');
  }

  /** Runs SQL in the page's console; tries again while a leader is being elected. */
  async function sql(replica: string, statement: string): Promise<string> {
    await part(`sql-replica-${replica}`).click();
    await part('sql-input').fill(statement);
    await expect
      .poll(
        async () => {
          await part('sql-run').click();
          await page.waitForFunction(
            () =>
              document.querySelector('[data-testid=sql-result]')?.getAttribute('data-state') !== 'running',
          );
          return part('sql-result').getAttribute('data-state');
        },
        { interval: 500 },
      )
      .toBe('ok');
    // Rows are drawn once they are in sight.
    if (/^SELECT\b/.test(await part('sql-command').innerText())) {
      await part('sql-result').scrollIntoViewIfNeeded();
      await part('sql-rows').getByRole('rowheader').first().waitFor();
    }
    return part('sql-result').innerText();
  }

  it('shows every replica and who leads', async () => {
    const leader = await leaderOnPage();
    for (const id of ['r1', 'r2', 'r3']) {
      const role = id === leader ? 'leader' : 'follower';
      await expect.poll(() => text(`role-${id}`)).toBe(role);
      expect(await part(`pg-${id}`).getAttribute('data-up')).toBe('true');
      expect(await text(`database-${id}`)).toBe(id === leader ? 'primary' : 'standby');
      expect(await text(`timeline-${id}`)).toMatch(/^t\d+$/);
      expect(await text(`wal-chosen-${id}`)).toMatch(/^[0-9A-F]+\/[0-9A-F]+$/);
    }
    await picture('healthy');
  });

  it('shows a transaction while it is open, and then in the slot where it was chosen', async () => {
    const leader = await leaderOnPage();
    await sql(leader, 'CREATE TABLE drinks (name text)');
    // It stays open until somebody else lets it go on.
    const { port } = (await cluster.leader()).pgwire;
    const holder = new Client({ host: '127.0.0.1', port, ...demoUser });
    await holder.connect();
    await holder.query('SELECT pg_advisory_lock(1)');
    const statement = "INSERT INTO drinks VALUES ('lungo'); SELECT pg_advisory_xact_lock(1)";
    const written = sql(leader, statement);
    const open = part('open-transactions').locator('li', { hasText: statement });
    await expect.poll(() => open.getAttribute('data-state')).toBe('running');
    const xid = Number((await open.innerText()).split(/\s/)[0]);
    await picture('open-transaction');
    await holder.end();
    await written;
    await expect.poll(() => slotOf(cluster, xid)).not.toBeNull();
    await part('events-find').fill(`slot ${await slotOf(cluster, xid)} ·`);
    await part('event-list').locator('button').first().click();
    const transactions = part('slot-transactions').locator('li', { hasText: String(xid) });
    await expect.poll(() => transactions.innerText()).toMatch(/drinks\s+1 inserted/);
    expect(await transactions.innerText()).toContain('lungo');
    await picture('slot');
    await part('events-find').fill('');
  });

  it('survives the leader being killed from the page, the row still there', async () => {
    const first = await leaderOnPage();
    const survivor = ['r1', 'r2', 'r3'].find((id) => id !== first)!;
    await sql(first, "CREATE TABLE witness (word text); INSERT INTO witness VALUES ('before the crash')");
    const before = timelineNumber(await text(`timeline-${first}`));
    await part(`crash-${first}`).click();
    await expect.poll(() => text(`role-${first}`)).toBe('down');
    const second = await leaderOnPage(first);
    expect(second).not.toBe(first);
    await expect.poll(() => text(`database-${second}`)).toBe('primary');
    expect(timelineNumber(await text(`timeline-${second}`))).toBeGreaterThan(before);
    expect(await sql(survivor, 'SELECT word FROM witness')).toContain('before the crash');
    await picture('leader-killed');
    await part(`restart-${first}`).click();
    await expect.poll(() => text(`role-${first}`)).toBe('follower');
    const { length } = await cluster.settled();
    expect(length).toBe(3);
    await picture('healed');
  });

  it('loses a disk from the page under load, and shows how the replica becomes a healthy voter again', async () => {
    const leader = await leaderOnPage();
    const wiped = ['r1', 'r2', 'r3'].find((id) => id !== leader)!;
    await sql(leader, 'CREATE TABLE orders (id bigserial PRIMARY KEY, drink text)');
    const load = startLoad(cluster.dashboardUrl, leader);
    await part(`wipe-${wiped}`).click();
    await picture('wipe-menu');
    const phases = await watchPhases(page, wiped);
    await part(`wipe-both-${wiped}`).click();
    const pictured = new Set<string>();
    await expect
      .poll(
        async () => {
          const phase = (await phases()).at(-1);
          if (phase !== undefined && !pictured.has(phase)) {
            pictured.add(phase);
            await picture(`recovery-${phase}`);
          }
          const [state] = await part(`state-${wiped}`).evaluateAll((all) =>
            all.map((one) => one.getAttribute('data-state')),
          );
          return [
            await text(`incarnation-${wiped}`).catch(() => ''),
            await text(`member-${wiped}`).catch(() => ''),
            state,
          ];
        },
        { interval: 100 },
      )
      .toEqual([`${wiped}.2`, 'voter', 'serving']);
    const { written, errors } = await load.stop();
    expect(await phases()).toContain('copying');
    expect(errors).toEqual([]);
    expect(written).toBeGreaterThan(0);
    expect(await text(`member-row-${wiped}`)).toContain('voter');
    await part('verify').click();
    await expect.poll(() => part('verify-result').getAttribute('data-state')).not.toBe('running');
    const replicas = ['r1', 'r2', 'r3'];
    const verdicts = await Promise.all(replicas.map((id) => text(`verdict-${id}`)));
    expect([await text('verify-result'), ...verdicts]).toEqual([
      expect.stringMatching(/^Data as of slot \d+: all replicas equal\.$/),
      ...replicas.map(() => 'equal'),
    ]);
    expect(await sql(leader, 'SELECT count(*) FROM orders')).toContain(String(written));
    await picture('recovered');
  });

  it('cuts a link and heals it', async () => {
    await part('link-r1-r2').click();
    await part('link-cut').click();
    await expect.poll(() => part('link-r1-r2').getAttribute('data-fault')).toBe('cut');
    await picture('link-cut');
    await part('heal').click();
    await expect.poll(() => part('link-r1-r2').getAttribute('data-fault')).toBe('');
  });

  // The table is of an earlier test.
  describeDemoApi('a real cluster', () => ({ url: cluster.dashboardUrl, table: 'witness' }));
});

/** The phases of a replica's recovery that the page has shown so far, in order; one of them may be over between two looks of the test. */
async function watchPhases(page: Page, replica: string): Promise<() => Promise<readonly string[]>> {
  await page.evaluate((id) => {
    const seen: string[] = [];
    (globalThis as { phasesSeen?: readonly string[] }).phasesSeen = seen;
    new MutationObserver(() => {
      const phase = document.querySelector(`[data-testid=recovery-${id}]`)?.getAttribute('data-phase');
      if (phase != null && seen.at(-1) !== phase) seen.push(phase);
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  }, replica);
  return () => page.evaluate(() => (globalThis as { phasesSeen?: readonly string[] }).phasesSeen ?? []);
}

function timelineNumber(text: string): number {
  return Number(text.replace(/^t/, ''));
}

/** The newest slot that holds WAL of this transaction's inserts; null: there is none yet. */
async function slotOf(cluster: LocalCluster, xid: number): Promise<number | null> {
  const { commitPoint } = await cluster.leader();
  for (let slot: number = commitPoint; slot > Math.max(0, commitPoint - 100); slot -= 1) {
    const response = await fetch(`${cluster.dashboardUrl}/api/log/${slot}`);
    if (!response.ok) continue;
    const { content } = (await response.json()) as SlotAnswer;
    if (content.kind !== 'range') continue;
    const own = content.transactions.find((each) => each.xid === xid);
    if (own?.changes.some(({ inserted }) => inserted > 0) === true) return slot;
  }
  return null;
}

/** Writes one row after the other through a replica, until it is stopped. */
function startLoad(url: string, replica: string) {
  const stop = new AbortController();
  let written = 0;
  const errors: unknown[] = [];
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const response = await fetch(`${url}/api/sql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ replica, sql: "INSERT INTO orders (drink) VALUES ('cortado')" }),
      });
      const answer = (await response.json()) as { readonly error?: unknown };
      if (answer.error === undefined) written += 1;
      else errors.push(answer.error);
    }
  };
  const done = run();
  return {
    async stop() {
      stop.abort();
      await done;
      return { written, errors };
    },
  };
}
