/**
 * The page over statements, of single-decree Paxos and of a primary with copies, in a real browser against real clusters: whatever a replica is in its protocol, and what slots hold.
 *
 * BARISTA_SCREENSHOTS=DIR keeps pictures of what the page showed.
 */
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../../dashboard/dev/testing/browser-page.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { ReplicaClients } from './replica-clients.ts';

const soon = { interval: 100 };
const ids = ['r1', 'r2', 'r3'];

let browser: Browser;
let cluster: LocalCluster;
let clients: ReplicaClients;
let page: Page;

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
});
afterEach(async () => {
  await page?.close();
  await clients?.end();
  await cluster?.stop();
});

const part = (id: string) => page.getByTestId(id);
const text = async (id: string) => (await part(id).innerText()).trim();
const roles = () => Promise.all(ids.map((id) => text(`role-${id}`)));

async function open(protocol: string): Promise<void> {
  cluster = await startCluster({ args: ['--payload=statements', `--protocol=${protocol}`, '--no-load'] });
  clients = new ReplicaClients(cluster);
  page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${cluster.dashboardUrl}/#operator`);
  await expect.poll(() => text('connection'), soon).toBe('Live');
}

async function picture(name: string): Promise<void> {
  const directory = process.env.BARISTA_SCREENSHOTS;
  if (directory !== undefined)
    await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true });
}

/** A transaction of a client at the second replica; then the slot that holds what it wrote, found by its event. */
async function write(): Promise<void> {
  const client = await clients.connect(1);
  await client.query('CREATE TABLE drinks (name text)');
  await client.query('BEGIN');
  await client.query("INSERT INTO drinks VALUES ('lungo')");
  await client.query('COMMIT');
  await cluster.settled(30_000);
}

async function expectOperations(): Promise<void> {
  expect(await text('lane-name')).toBe('Operations');
  const marks = (what: string) => part('slot-lane').locator(`[data-what=${what}]`).count();
  await expect.poll(() => Promise.all(['begin', 'execute', 'commit'].map(marks)), soon).toEqual([1, 2, 1]);
  await part('strips-follow').or(part('strips-following')).waitFor();
  await part('events-find').fill('Commits in session');
  await part('events-routine').check();
  await part('event-list').locator('button').first().click();
  await expect.poll(() => part('slot-content').getAttribute('data-what'), soon).toBe('commit');
  expect(await text('slot-content')).toMatch(
    /^Commits in session [0-9a-f]{6} of a client at r2 request \d+ of the session · proposed by r\d/,
  );
  expect(await text('slot-sql')).toBe('COMMIT;');
  await page.getByRole('slider', { name: 'Slot', exact: true }).press('ArrowLeft');
  await expect.poll(() => text('slot-sql'), soon).toBe("INSERT INTO drinks VALUES ('lungo');");
}

/** On the lab's diagram of space and time; whoever clicks on an arrow reads what flew there. */
async function expectMessage(named: RegExp): Promise<void> {
  await page.goto(`${cluster.dashboardUrl}/#lab`);
  await part('stage').waitFor();
  await page.keyboard.press('d');
  await part('space-time').waitFor();
  const client = await clients.connect(1);
  await client.query("INSERT INTO drinks VALUES ('doppio')");
  await page.waitForTimeout(1_000);
  await page.keyboard.press(' ');
  const box = (await part('space-time').boundingBox())!;
  const title = async () => {
    await page.keyboard.press('Escape');
    const x = box.x + 200 + Math.random() * (box.width - 300);
    await page.mouse.click(x, box.y + box.height * (0.2 + Math.random() * 0.6));
    const popover = part('message-popover');
    return (await popover.count()) === 1 ? popover.getByRole('heading').innerText() : 'nothing';
  };
  await expect.poll(title, soon).toMatch(named);
  await page.keyboard.press('Escape');
  await page.keyboard.press('End');
}

describe('the page over statements', () => {
  it('shows replicas of Paxos as proposers, with nobody who leads', async () => {
    await open('paxos');
    await expect.poll(roles, soon).toEqual(['proposer', 'proposer', 'proposer']);
    expect(await part('leader-name').count()).toBe(0);
    expect(await part('ballot-r1').count()).toBe(0);
    expect(await part('open-transactions').count()).toBe(0);
    expect(await part('verify').count()).toBe(0);
    expect(await page.getByText('nobody leads, so it may be refused').count()).toBe(0);
    await write();
    await expectOperations();
    await picture('paxos');
    await expectMessage(/^(SlotPrepare|SlotPromise|SlotAccept|SlotAccepted|Learn|Status)$/);
    await picture('paxos-messages');
  });

  it('shows the primary, its copies and the epoch', async () => {
    await open('primary');
    await expect.poll(async () => (await roles()).toSorted(), soon).toEqual(['copy', 'copy', 'primary']);
    const primary = await text('leader-name');
    expect(await text(`role-${primary}`)).toBe('primary');
    for (const id of ids) expect(await text(`epoch-${id}`)).toMatch(new RegExp(`^\\d+·${primary}$`));
    await write();
    await expectOperations();
    await picture('primary');
    await expectMessage(/^(Operations|Received|Told)$/);
    await picture('primary-messages');
    await page.goto(`${cluster.dashboardUrl}/#operator`);
    await part(`crash-${primary}`).click();
    await expect.poll(() => text('leader-name'), soon).toMatch(new RegExp(`^(?!${primary})r\\d$`));
    await part(`restart-${primary}`).click();
    await expect.poll(() => text(`role-${primary}`), { interval: 100 }).toBe('copy');
    await picture('primary-back');
  });
});
