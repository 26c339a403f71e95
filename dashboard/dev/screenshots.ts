/**
 * Development only: pictures of the page in the states that matter, over a running fixture server.
 *
 *   npx tsx dashboard/dev/screenshots.ts --url http://127.0.0.1:8080 --out DIR [--only NAME]
 *
 * Needs a Chromium: `--chromium PATH`, /usr/bin/chromium unless told.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import type { Page, WebSocketRoute } from 'playwright-core';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8080' },
    out: { type: 'string', default: '/tmp/barista-screenshots' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    only: { type: 'string' },
  },
});

interface Shot {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly scheme: 'light' | 'dark';
  readonly act?: (page: Page) => Promise<void>;
}

async function fault(page: Page, request: Record<string, unknown>): Promise<void> {
  await page.evaluate(
    (body) =>
      fetch('/api/fault', {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    request,
  );
}

async function leaderOf(page: Page): Promise<string> {
  return (await page.getByTestId('leader-name').textContent()) ?? 'r1';
}

async function runSql(page: Page, sql: string): Promise<void> {
  await page.getByTestId('sql-input').fill(sql);
  await page.getByTestId('sql-run').click();
  await page.waitForTimeout(500);
}

async function breakThings(page: Page): Promise<void> {
  const leader = await leaderOf(page);
  const others = ['r1', 'r2', 'r3'].filter((id) => id !== leader);
  await page.getByTestId(`crash-${leader}`).click();
  await page.waitForTimeout(4000);
  await fault(page, { action: 'delay', from: others[0], to: others[1], amount: 200 });
  await page.waitForTimeout(1500);
  await page.getByTestId(`link-${others[0]}-${others[1]}`).click();
  await page.waitForTimeout(300);
}

const wiped = new Set<string>();

async function wipe(page: Page, id: string, what: string): Promise<void> {
  wiped.add(id);
  await page.getByTestId(`wipe-${id}`).click();
  await page.getByTestId(`wipe-${what}-${id}`).click();
}

async function mend(page: Page): Promise<void> {
  await fault(page, { action: 'heal' });
  for (const id of ['r1', 'r2', 'r3']) {
    const restart = page.getByTestId(`crash-${id}`);
    if ((await restart.count()) === 0) await page.getByTestId(`restart-${id}`).click();
  }
  await page.waitForTimeout(3500);
}

const shots: readonly Shot[] = [
  {
    name: 'light-1600',
    width: 1600,
    height: 1000,
    scheme: 'light',
    act: (page) => runSql(page, 'SELECT * FROM orders\nORDER BY id;'),
  },
  {
    name: 'dark-1280',
    width: 1280,
    height: 800,
    scheme: 'dark',
    act: (page) => runSql(page, 'SELECT *\nFROM nowhere;'),
  },
  {
    name: 'selected-slot',
    width: 1440,
    height: 900,
    scheme: 'light',
    act: async (page) => {
      await page.getByTestId('strip-r1').click({ position: { x: 300, y: 10 } });
      await page.waitForTimeout(300);
    },
  },
  {
    name: 'new-timeline',
    width: 1440,
    height: 900,
    scheme: 'dark',
    act: async (page) => {
      const before = await leaderOf(page);
      await page.getByTestId(`crash-${before}`).click();
      await page.waitForTimeout(3000);
      await page.getByTestId('strips-far').click();
      await page.getByTestId('filter-apply').click();
      await page.getByTestId('events-find').fill('BeginLeadership');
      await page.waitForTimeout(300);
      await page.getByTestId('event-list').locator('button').first().click();
      await page.waitForTimeout(600);
      await page.getByTestId(`restart-${before}`).click();
      await page.waitForTimeout(1200);
    },
  },
  {
    name: 'majority-lost',
    width: 1440,
    height: 900,
    scheme: 'light',
    act: async (page) => {
      const leader = await leaderOf(page);
      const others = ['r1', 'r2', 'r3'].filter((id) => id !== leader);
      for (const id of others) await page.getByTestId(`pause-${id}`).click();
      await page.waitForTimeout(700);
    },
  },
  {
    name: 'slot-phone',
    width: 390,
    height: 844,
    scheme: 'light',
    act: async (page) => {
      await page.getByTestId('strip-r1').click({ position: { x: 120, y: 10 } });
      await page.getByText('Records by kind').click();
      await page.waitForTimeout(300);
    },
  },
  {
    name: 'recovering-light',
    width: 1440,
    height: 900,
    scheme: 'light',
    act: async (page) => {
      const [first, second] = ['r1', 'r2', 'r3'].filter((id) => !wiped.has(id));
      await page.getByTestId('verify').click();
      await page.waitForTimeout(2000);
      await wipe(page, first ?? 'r1', 'both');
      await page.waitForTimeout(3500);
      await page.getByTestId(`wipe-${second ?? 'r2'}`).click();
    },
  },
  {
    name: 'recovering-phone',
    width: 390,
    height: 844,
    scheme: 'dark',
    act: async (page) => {
      await wipe(page, 'r3', 'database');
      await page.waitForTimeout(2500);
    },
  },
  { name: 'broken-light', width: 1600, height: 1000, scheme: 'light', act: breakThings },
  {
    name: 'no-leader-dark',
    width: 1440,
    height: 900,
    scheme: 'dark',
    act: async (page) => {
      await mend(page);
      for (const id of ['r1', 'r2']) await page.getByTestId(`isolate-${id}`).click();
      await page.waitForTimeout(4500);
    },
  },
  { name: 'width-900', width: 900, height: 1100, scheme: 'light', act: mend },
  { name: 'phone', width: 390, height: 844, scheme: 'dark' },
  {
    name: 'lost',
    width: 1280,
    height: 800,
    scheme: 'light',
    act: async (page) => {
      const sockets: WebSocketRoute[] = [];
      let refuse = false;
      await page.routeWebSocket(/stream/, (socket) => {
        if (refuse) {
          void socket.close();
          return;
        }
        sockets.push(socket);
        socket.connectToServer();
      });
      await page.reload();
      await page.waitForTimeout(6000);
      refuse = true;
      for (const socket of sockets) await socket.close();
      await page.waitForTimeout(3000);
    },
  },
  {
    name: 'disconnected',
    width: 1280,
    height: 800,
    scheme: 'light',
    act: async (page) => {
      await page.routeWebSocket(/stream/, (socket) => socket.close());
      await page.reload();
      await page.waitForTimeout(2500);
    },
  },
];

const browser = await chromium.launch({
  executablePath: values.chromium,
  headless: true,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
await mkdir(values.out, { recursive: true });
for (const shot of shots.filter(({ name }) => values.only === undefined || name === values.only)) {
  const context = await browser.newContext({
    viewport: { width: shot.width, height: shot.height },
    colorScheme: shot.scheme,
  });
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error') process.stdout.write(`${shot.name}: ${message.text()}\n`);
  });
  page.on('pageerror', (error) => process.stdout.write(`${shot.name}: ${error.message}\n`));
  await page.goto(values.url);
  await page.waitForTimeout(7000);
  await shot.act?.(page);
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(values.out, `${shot.name}.png`), fullPage: true });
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  process.stdout.write(`${shot.name}${overflow > 0 ? ` (scrolls sideways by ${overflow} px)` : ''}\n`);
  await context.close();
}
await browser.close();
