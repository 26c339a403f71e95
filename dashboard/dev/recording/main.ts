/**
 * Development only: the recording that the README shows, made of the page without a server: an animated image of what film.ts does.
 *
 *   npx tsx dashboard/dev/recording/main.ts --out docs/images/lab.webp
 *
 * Needs a Chromium (BARISTA_CHROMIUM) and `img2webp` (Debian: webp). On a machine with nothing beside it, or it stutters.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { serveFiles } from '../../sim/static-files.ts';
import { buildPage, launchBrowser } from '../testing/browser-page.ts';
import { play } from './film.ts';

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'docs/images/lab.webp' },
    width: { type: 'string', default: '1100' },
    height: { type: 'string', default: '690' },
    quality: { type: 'string', default: '60' },
    run: { type: 'string', default: 'sim?seed=3&replicas=3&clients=4' },
  },
});

const frameMs = 125;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** The browser's own pictures have no pointer. */
const pointer = `addEventListener('DOMContentLoaded', () => {
  const hand = document.createElement('div');
  hand.style.cssText = 'position:fixed;z-index:99999;pointer-events:none;width:18px;height:18px;margin:-9px 0 0 -9px;border-radius:50%;background:rgba(30,26,22,.35);border:2px solid #fff;box-shadow:0 1px 4px rgba(0,0,0,.4);left:-50px;top:-50px';
  document.body.append(hand);
  addEventListener('pointermove', (event) => { hand.style.left = event.clientX + 'px'; hand.style.top = event.clientY + 'px'; }, true);
  addEventListener('pointerdown', () => { hand.style.background = 'rgba(200,80,30,.8)'; }, true);
  addEventListener('pointerup', () => { hand.style.background = 'rgba(30,26,22,.35)'; }, true);
});`;

interface Picture {
  readonly atMs: number;
  readonly bytes: Buffer;
}

/** What the page looked like while that was done. */
async function filmed(page: Page, act: () => Promise<void>): Promise<readonly Picture[]> {
  const session = await page.context().newCDPSession(page);
  const pictures: Picture[] = [];
  session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    pictures.push({ atMs: (metadata.timestamp ?? 0) * 1_000, bytes: Buffer.from(data, 'base64') });
    void session.send('Page.screencastFrameAck', { sessionId });
  });
  await session.send('Page.startScreencast', { format: 'png', everyNthFrame: 2 });
  await act();
  await session.send('Page.stopScreencast');
  return pictures;
}

/** One picture for each moment of the film: the last that there was by then. */
function atSteadyPace(pictures: readonly Picture[]): readonly Picture[] {
  const firstMs = pictures[0]!.atMs;
  const frames = Math.floor((pictures.at(-1)!.atMs - firstMs) / frameMs);
  return Array.from(
    { length: frames },
    (_, frame) => pictures.findLast(({ atMs }) => atMs <= firstMs + frame * frameMs)!,
  );
}

async function writeFilm(frames: readonly Picture[]): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'barista-film-'));
  try {
    const files = frames.map((_, index) => join(directory, `${String(index).padStart(4, '0')}.png`));
    for (const [index, { bytes }] of frames.entries()) await writeFile(files[index]!, bytes);
    const options = ['-loop', '0', '-kmin', '20', '-kmax', '200', '-mixed'];
    const each = ['-d', String(frameMs), '-q', values.quality, '-m', '3'];
    await promisify(execFile)('img2webp', [...options, ...each, ...files, '-o', values.out]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

say('building the page without a server');
const built = await buildPage('lab');
const files = await serveFiles(built.dir);
const browser = await launchBrowser();
try {
  const viewport = { width: Number(values.width), height: Number(values.height) };
  const page = await browser.newPage({ viewport, colorScheme: 'light' });
  await page.addInitScript(pointer);
  await page.goto(`${files.url}/#${values.run}`);
  await page.getByTestId('leader-name').waitFor();
  await page.waitForTimeout(3_000);
  say('recording');
  const frames = atSteadyPace(await filmed(page, () => play(page)));
  say(`${frames.length} pictures, ${(frames.length * frameMs) / 1_000} s; putting them together`);
  await writeFilm(frames);
  say(`${values.out}: ${((await stat(values.out)).size / 1e6).toFixed(2)} MB`);
} finally {
  await browser.close();
  files.close();
  await built.remove();
}
