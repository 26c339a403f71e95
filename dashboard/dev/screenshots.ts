/**
 * Development only: pictures of the page in the states that matter, each of a story (stories.ts) that is played up to its moment, so that they show the same each time.
 *
 *   npx tsx dashboard/dev/screenshots.ts --out DIR [--only NAME]
 *
 * Needs dashboard/dist (`npm run build:dashboard`) and a Chromium: `--chromium PATH`, /usr/bin/chromium unless told.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium, type Browser, type Page } from 'playwright-core';
import { type Shot, shots } from './shots.ts';
import { startFixture, type SimulatedFixture } from './simulated-fixture.ts';
import { actsOf, type Story, storyNamed } from './stories.ts';

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: '/tmp/barista-screenshots' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    only: { type: 'string' },
  },
});

/** What the charts show of it: a page is open for so long before the moment. */
const watchedMs = 8_000;
/** Time goes on from there, so that what is asked of replicas is answered, but hardly. */
const slowSpeed = 0.05;
const dashboard = { kind: 'ready', dir: join(import.meta.dirname, '../dist') } as const;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function playToMoment(
  fixture: SimulatedFixture,
  { momentMs }: Story,
  { page, view }: { readonly page: Page; readonly view: Shot['view'] },
): Promise<void> {
  const { pace, beganMs, demo } = fixture;
  await pace.playTo(beganMs + momentMs - watchedMs, Number.POSITIVE_INFINITY);
  await page.goto(`http://127.0.0.1:${demo.port}/#${view}`);
  await page.getByTestId('connection').waitFor();
  await pace.playTo(beganMs + momentMs, 1);
  void pace.playTo(Number.POSITIVE_INFINITY, slowSpeed);
}

async function take(browser: Browser, shot: Shot): Promise<void> {
  const { name, width, height, scheme, act } = shot;
  const story = storyNamed(shot.story);
  const { seed } = story;
  const fixture = await startFixture({ seed, replicas: 3, clients: 4, port: 0, dashboard, say });
  fixture.pace.plan(actsOf(story, fixture));
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
  try {
    const page = await context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error') say(`${name}: ${message.text()}`);
    });
    page.on('pageerror', (error) => say(`${name}: ${error.message}`));
    await playToMoment(fixture, story, { page, view: shot.view });
    await act?.(page);
    await page.evaluate(() => scrollTo(0, 0));
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(values.out, `${name}.png`), fullPage: true });
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    say(`${name}${overflow > 0 ? ` (scrolls sideways by ${overflow} px)` : ''}`);
  } finally {
    await context.close();
    await fixture.close();
  }
}

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
for (const shot of shots.filter(({ name }) => values.only === undefined || name === values.only))
  await take(browser, shot);
await browser.close();
