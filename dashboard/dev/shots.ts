/** Development only: which pictures are taken of the page, of which story, and what a reader does on it before. */
import type { Page, WebSocketRoute } from 'playwright-core';

export interface Shot {
  readonly name: string;
  readonly view: 'lab' | 'operator';
  readonly story: string;
  readonly width: number;
  readonly height: number;
  readonly scheme: 'light' | 'dark';
  readonly act?: (page: Page) => Promise<void>;
}

const desk = { width: 1440, height: 900 } as const;
const phone = { width: 390, height: 844 } as const;

async function runSql(page: Page, sql: string): Promise<void> {
  await page.getByTestId('sql-input').fill(sql);
  await page.getByTestId('sql-run').click();
  await page.locator('[data-testid="sql-result"]:not([data-state="running"])').waitFor();
}

async function pickSlot(page: Page, x: number): Promise<void> {
  await page.getByTestId('strip-r1').click({ position: { x, y: 10 } });
  await page.locator('[data-testid="slot-content"]').waitFor();
}

async function pickLeadership(page: Page): Promise<void> {
  await page.getByTestId('strips-far').click();
  await page.getByTestId('filter-apply').click();
  await page.getByTestId('events-find').fill('BeginLeadership');
  await page.getByTestId('event-list').locator('button').first().click();
  await page.locator('[data-testid="slot-content"]').waitFor();
}

/** The page that has lost its server: what was there stays, and is said to be old. */
async function loseServer(page: Page): Promise<void> {
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
  await page.locator('[data-testid="connection"][data-state="open"]').waitFor();
  await page.waitForTimeout(1_500);
  refuse = true;
  for (const socket of sockets) await socket.close();
  await page.getByTestId('banner-disconnected').waitFor();
}

export const shots: readonly Shot[] = [
  { name: 'lab', view: 'lab', story: 'new timeline', ...desk, scheme: 'light' },
  { name: 'lab-large', view: 'lab', story: 'parted', width: 1920, height: 1080, scheme: 'dark' },
  { name: 'lab-small', view: 'lab', story: 'healing', width: 1024, height: 768, scheme: 'light' },
  { name: 'lab-tablet', view: 'lab', story: 'election', width: 768, height: 1024, scheme: 'dark' },
  { name: 'lab-phone', view: 'lab', story: 'slow link', ...phone, scheme: 'light' },
  {
    name: 'lab-replica',
    view: 'lab',
    story: 'healing',
    ...desk,
    scheme: 'dark',
    act: (page) => page.getByTestId('node-r2').click(),
  },
  {
    name: 'lab-space-time',
    view: 'lab',
    story: 'new timeline',
    ...desk,
    scheme: 'light',
    act: (page) => page.keyboard.press('d'),
  },
  {
    name: 'lab-past',
    view: 'lab',
    story: 'new timeline',
    ...desk,
    scheme: 'dark',
    act: async (page) => {
      for (let step = 0; step < 6; step += 1) await page.keyboard.press('Shift+ArrowLeft');
    },
  },
  { name: 'calm', view: 'operator', story: 'calm', ...desk, scheme: 'light' },
  { name: 'calm-phone', view: 'operator', story: 'calm', ...phone, scheme: 'dark' },
  { name: 'calm-900', view: 'operator', story: 'calm', width: 900, height: 1100, scheme: 'light' },
  {
    name: 'sql',
    view: 'operator',
    story: 'calm',
    width: 1600,
    height: 1000,
    scheme: 'light',
    act: (page) => runSql(page, 'SELECT * FROM orders;'),
  },
  {
    name: 'sql-error',
    view: 'operator',
    story: 'calm',
    width: 1280,
    height: 800,
    scheme: 'dark',
    act: (page) => runSql(page, 'SELECT *\nFROM nowhere;'),
  },
  {
    name: 'slot',
    view: 'operator',
    story: 'calm',
    ...desk,
    scheme: 'light',
    act: (page) => pickSlot(page, 300),
  },
  {
    name: 'slot-phone',
    view: 'operator',
    story: 'calm',
    ...phone,
    scheme: 'light',
    act: async (page) => {
      await pickSlot(page, 120);
      await page.getByText('Records by kind').click();
    },
  },
  { name: 'election', view: 'operator', story: 'election', ...desk, scheme: 'dark' },
  {
    name: 'new-timeline',
    view: 'operator',
    story: 'new timeline',
    ...desk,
    scheme: 'dark',
    act: pickLeadership,
  },
  { name: 'no-majority', view: 'operator', story: 'no majority', ...desk, scheme: 'light' },
  { name: 'parted', view: 'operator', story: 'parted', ...desk, scheme: 'dark' },
  { name: 'parted-phone', view: 'operator', story: 'parted', ...phone, scheme: 'light' },
  {
    name: 'healing',
    view: 'operator',
    story: 'healing',
    ...desk,
    scheme: 'light',
    act: (page) => page.getByTestId('wipe-r3').click(),
  },
  { name: 'healing-phone', view: 'operator', story: 'healing', ...phone, scheme: 'dark' },
  { name: 'condemned', view: 'operator', story: 'condemned', ...desk, scheme: 'light' },
  { name: 'fenced', view: 'operator', story: 'fenced', ...desk, scheme: 'light' },
  {
    name: 'slow-link',
    view: 'operator',
    story: 'slow link',
    width: 1600,
    height: 1000,
    scheme: 'light',
    act: (page) => page.getByTestId('link-r2-r3').click(),
  },
  {
    name: 'lost',
    view: 'operator',
    story: 'calm',
    width: 1280,
    height: 800,
    scheme: 'light',
    act: loseServer,
  },
  {
    name: 'never-reached',
    view: 'operator',
    story: 'calm',
    width: 1280,
    height: 800,
    scheme: 'light',
    act: async (page) => {
      await page.routeWebSocket(/stream/, (socket) => socket.close());
      await page.reload();
      await page.getByTestId('banner-disconnected').waitFor();
    },
  },
];
