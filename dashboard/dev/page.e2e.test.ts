/**
 * The page in a real browser over a group in simulated time: what it shows is so, its keyboard goes where people expect, and nothing is done that nobody waits for.
 */
import type { Browser, Page, WebSocketRoute } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type SimulatedFixture, startFixture } from './simulated-fixture.ts';
import { type BuiltPage, buildPage, launchBrowser } from './testing/browser-page.ts';

const lightPage = { viewport: { width: 1440, height: 1000 }, colorScheme: 'light' } as const;
const soon = { interval: 50 };

let built: BuiltPage;
let browser: Browser;
let fixture: SimulatedFixture;
let page: Page;

beforeAll(async () => {
  built = await buildPage();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await built?.remove();
});

beforeEach(async () => {
  const dashboard = { kind: 'ready', dir: built.dir } as const;
  const say = () => undefined;
  fixture = await startFixture({ seed: 1, replicas: 3, clients: 2, port: 0, dashboard, say });
  void fixture.pace.playTo(Number.POSITIVE_INFINITY, 1);
  page = await browser.newPage(lightPage);
});
afterEach(async () => {
  await page?.close();
  await fixture?.close();
});

const part = (id: string) => page.getByTestId(id);
const text = async (id: string) => (await part(id).innerText()).trim();
const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-testid') ?? null);
const linkState = (link: string) =>
  part(`link-${link}`).evaluate((handle) => handle.closest('.link')?.getAttribute('data-state'));

async function open(): Promise<void> {
  await page.goto(`http://127.0.0.1:${fixture.demo.port}/#operator`);
  await expect.poll(() => text('leader-name'), soon).toBe('r1');
}

describe('the page', () => {
  it('shows a frozen leader as paused, and messages on a link only while there are some', async () => {
    await open();
    const links = ['r1-r2', 'r2-r1', 'r1-r3', 'r3-r1'];
    await expect.poll(() => Promise.all(links.map(linkState)), soon).toEqual(links.map(() => 'busy'));
    await part('pause-r1').click();
    await expect.poll(() => text('state-r2'), soon).toContain('Waits for r1, which does not lead now');
    await expect.poll(() => text('role-r1'), soon).toBe('paused');
    await expect.poll(() => part('replica-card-r1').getAttribute('data-leader'), soon).toBe('false');
    await expect.poll(() => part('role-r1').locator('xpath=..').locator('svg').count(), soon).toBe(0);
    for (const id of ['r2', 'r3']) {
      await part(`pause-${id}`).click();
      await part('confirm-dialog').waitFor();
      await expect
        .poll(() => text('act-question'), soon)
        .toMatch(/^r1 is frozen already.*no majority is left; nobody is served/);
      await part('confirm-not').click();
      await expect.poll(() => part('confirm-dialog').count(), soon).toBe(0);
      await expect.poll(() => part(`pause-${id}`).count(), soon).toBe(1);
      await part(`pause-${id}`).click();
      await part('confirm-do').click();
    }
    const all = [...links, 'r2-r3', 'r3-r2'];
    await expect.poll(() => Promise.all(all.map(linkState)), soon).toEqual(all.map(() => 'idle'));
  });

  it('shows a lost disk as empty at once, and does not advise to found the group again', async () => {
    await open();
    await expect.poll(() => text('lag-r3'), soon).toMatch(/in step|^−\d$/);
    // Nobody can let it in: so it goes on asking.
    for (const id of ['r1', 'r2']) await part(`isolate-${id}`).click();
    await part('wipe-r3').click();
    await part('wipe-both-r3').click();
    await part('toasts').getByText('Wiped the disk of r3').waitFor();
    await expect.poll(() => text('lag-r3'), soon).toMatch(/no word|^−\d{2,}$/);
    await expect.poll(() => text('message-r3'), soon).toContain('waits to be let in');
    await expect.poll(() => text('message-r3'), soon).not.toContain('barista init');
  });

  it('keeps every button in its place, and the focus where the keyboard has put it', async () => {
    await open();
    const before = await part('restart-r2').boundingBox();
    await part('crash-r2').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => text('role-r2'), soon).toBe('down');
    await expect.poll(() => focused(), soon).toBe('crash-r2');
    const after = await part('restart-r2').boundingBox();
    expect([after?.x, after?.width]).toEqual([before?.x, before?.width]);

    await part('wipe-r3').focus();
    await page.keyboard.press('Enter');
    const gone: (string | null)[] = [];
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp', 'Home', 'End']) {
      await page.keyboard.press(key);
      gone.push(await focused());
    }
    const [both, log, database] = ['wipe-both-r3', 'wipe-log-r3', 'wipe-database-r3'];
    expect(gone).toEqual([log, database, both, database, both, database]);
    await page.keyboard.press('Escape');
    await expect.poll(() => part('wipe-both-r3').count(), soon).toBe(0);
    await expect.poll(() => focused(), soon).toBe('wipe-r3');

    await part('link-r1-r3').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await expect.poll(() => part('link-editor').count(), soon).toBe(0);
    await expect.poll(() => focused(), soon).toBe('link-r1-r3');
  });

  it('cuts the way back, too, where "both directions" is ticked after the cut, and heals links only', async () => {
    await open();
    await expect.poll(() => text('heal'), soon).toBe('Heal links');
    await part('link-r2-r3').click();
    await part('link-cut').click();
    await expect.poll(() => part('link-r2-r3').getAttribute('data-fault'), soon).toBe('cut');
    await part('link-both').click();
    await expect.poll(() => part('link-r3-r2').getAttribute('data-fault'), soon).toBe('cut');
    await expect.poll(() => text('heal'), soon).toBe('Heal 2 links');
    await part('heal').click();
    await expect.poll(() => text('heal'), soon).toBe('Heal links');
    // Before the page is told of the cut.
    await part('link-r1-r3').click();
    await part('link-cut').click();
    await part('link-both').click();
    await expect.poll(() => part('link-r3-r1').getAttribute('data-fault'), soon).toBe('cut');
  });

  it('takes back what was asked of a link a moment ago, before the page is told that it was done', async () => {
    await open();
    await part('link-r2-r3').click();
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') asked.push(request.postData() ?? '');
    });
    await page.evaluate(() => {
      for (const id of ['link-cut', 'link-whole'])
        document.querySelector<HTMLElement>(`[data-testid="${id}"]`)?.click();
    });
    await expect
      .poll(() => asked.map((body) => (JSON.parse(body) as { readonly amount?: number }).amount), soon)
      .toEqual([1, 0]);
    await expect.poll(() => part('link-r2-r3').getAttribute('data-fault'), soon).toBe('');
  });

  it('renders again only what has changed', async () => {
    const frames = { rates: 0, cluster: 0 };
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => {
        const { type } = JSON.parse(payload.toString()) as { readonly type: string };
        if (type === 'rates' || type === 'cluster') frames[type] += 1;
      }),
    );
    await open();
    // It is loaded when it is looked at.
    await part('sql-input').waitFor();
    /** React keeps an element's properties on it: another object means that it was rendered again. */
    const mark = () =>
      page.evaluate(() =>
        ['sql-editor', 'chart-throughput', 'members'].map((id) => {
          const element = document.querySelector(`[data-testid=${id}]`)!;
          const key = Object.keys(element).find((name) => name.startsWith('__reactProps$'))!;
          const props = (element as unknown as Record<string, unknown>)[key];
          const seen = ((globalThis as { seen?: Map<unknown, number> }).seen ??= new Map());
          if (!seen.has(props)) seen.set(props, seen.size);
          return seen.get(props) as number;
        }),
      );
    const before = { ...frames };
    const marks: number[][] = [];
    for (let look = 0; look < 20; look += 1) {
      marks.push(await mark());
      await page.waitForTimeout(100);
    }
    const [sql, chart, members] = [0, 1, 2].map((at) => new Set(marks.map((each) => each[at])).size);
    expect(sql).toBe(1);
    // What was there, and what may have come before the first look and was not drawn yet.
    expect(chart).toBeLessThanOrEqual(frames.rates - before.rates + 2);
    expect(members).toBeLessThanOrEqual(frames.cluster - before.cluster + 2);
    expect(frames.rates).toBeGreaterThan(before.rates);
  });

  it('draws a latency that was measured once', async () => {
    const quiet = { transactionsPerSecond: 0, readsPerSecond: 0, appliedPerSecond: 0 };
    await page.routeWebSocket(/stream/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((text) => {
        if (!String(text).startsWith('{"type":"rates"')) socket.send(text);
      });
      const now = Date.now();
      for (const [index, latencyMsP50] of [0, 0, 5, 0, 0].entries()) {
        const r1 = { ...quiet, latencyMsP50, latencyMsP99: latencyMsP50 };
        socket.send(JSON.stringify({ type: 'rates', at: now + (index - 5) * 1000, perReplica: { r1 } }));
      }
    });
    await open();
    /** Dots of r1's colour, which nothing else in the chart has. */
    const drawn = () =>
      page.evaluate(() => {
        const canvas = document.querySelector<HTMLCanvasElement>('[data-testid=chart-latency] canvas')!;
        const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
        let dots = 0;
        for (let at = 0; at < data.length; at += 4)
          if (data[at] === 0x6d && data[at + 1] === 0x4f && data[at + 2] === 0xd0) dots += 1;
        return dots;
      });
    await expect.poll(drawn, soon).toBeGreaterThan(4);
  });

  it('has one cursor in all charts, which tells what befell and leads back to that moment', async () => {
    await open();
    const chart = (id: string) => part(`chart-${id}`).getByRole('slider');
    const told = () => chart('latency').getAttribute('aria-valuetext');
    const cursors = () =>
      page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>('.chart .u-cursor-x')].map(
          (line) => new DOMMatrix(getComputedStyle(line).transform).m41 > 0,
        ),
      );
    await part('crash-r3').click();
    await expect.poll(() => text('role-r3'), soon).toBe('down');
    await page.waitForTimeout(2500);
    await chart('latency').focus();
    for (let back = 0; back < 8 && (await told())?.includes('r3 is down') !== true; back += 1)
      await page.keyboard.press('ArrowLeft');
    expect(await told()).toContain('r3 is down');
    expect(await cursors()).toEqual([true, true]);
    await expect.poll(() => part('past').count(), soon).toBe(0);
    await page.keyboard.press('Enter');
    await part('past').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(cursors, soon).toEqual([false, false]);
  });

  it('asks nothing of a server that is away, and gives up what it has asked', async () => {
    const sockets: WebSocketRoute[] = [];
    let away = false;
    await page.routeWebSocket(/stream/, (socket) => {
      if (away) void socket.close();
      else {
        sockets.push(socket);
        socket.connectToServer();
      }
    });
    const asked: string[] = [];
    const givenUp: string[] = [];
    // It takes requests and answers none.
    await page.route('**/api/fault', (route) => void asked.push(route.request().postData() ?? ''));
    page.on('requestfailed', (request) => givenUp.push(request.postData() ?? ''));
    await open();
    await part('crash-r3').click();
    await expect.poll(() => asked.length, soon).toBe(1);
    away = true;
    for (const socket of sockets) await socket.close();
    await part('banner-disconnected').waitFor();
    await part('toasts').getByText('nobody knows whether it was done').waitFor();
    expect(givenUp).toEqual(asked);
    for (const id of [
      'crash-r1',
      'restart-r1',
      'pause-r1',
      'isolate-r1',
      'wipe-r1',
      'heal',
      'verify',
      'sql-run',
    ])
      expect([id, await part(id).getAttribute('aria-disabled')]).toEqual([id, 'true']);
    await part('crash-r1').click({ force: true });
    await part('crash-r1').press('Enter');
    await part('wipe-r1').press('ArrowDown');
    await part('sql-input').press('Control+Enter');
    expect(asked).toHaveLength(1);
    await expect.poll(() => part('wipe-both-r1').count(), soon).toBe(0);
    await expect.poll(() => part('sql-result').getAttribute('data-state'), soon).toBe('idle');
  });
});
