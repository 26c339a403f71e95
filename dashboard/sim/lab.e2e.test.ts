/**
 * The page without a server of ours, in a real browser: handed out by any server of files, it asks nobody for anything, and the run in its Worker is the run that Node.js makes of the same seed.
 */
import { readdir } from 'node:fs/promises';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { FromSimulator } from '../src/run/simulated/protocol.ts';
import { readAddress, type RunSetup, writeAddress } from '../src/run/simulated/run-address.ts';
import { axeViolations } from '../dev/testing/axe-violations.ts';
import { type LabSite, openLabSite } from '../dev/testing/lab-site.ts';
import { beginRun } from './testing.ts';

const soon = { interval: 100 };
const r2 = 'r2' as ReplicaId;

let site: LabSite;
let page: Page;
let elsewhere: string[];

beforeAll(async () => {
  site = await openLabSite();
});
afterAll(() => site?.close());

beforeEach(async () => {
  page = await site.browser.newPage({ viewport: { width: 1440, height: 1000 } });
  elsewhere = [];
  await page.route('**/*', (route) => {
    const url = route.request().url();
    if (url.startsWith(`${site.url}/`) || /^(?:data|blob):/.test(url)) return route.continue();
    elsewhere.push(url);
    return route.abort();
  });
  page.on('pageerror', (error) => elsewhere.push(error.message));
});
afterEach(async () => {
  await page?.close();
  if (elsewhere.length > 0) throw new Error(`the page asked elsewhere, or failed: ${elsewhere.join(', ')}`);
});

const part = (id: string) => page.getByTestId(id);
const text = async (id: string) => (await part(id).innerText()).trim();
const incarnation = (id: string) => part(`incarnation-${id}`).getAttribute('data-incarnation');
const actsInAddress = () => readAddress(new URL(page.url()).hash)?.acts ?? [];

/** What the Worker of the page's build tells of this run, up to there. */
async function eventsInBrowser(setup: RunSetup, atMs: number): Promise<readonly TraceEvent[]> {
  const worker = (await readdir(join(site.dir, 'assets'))).find((name) => name.startsWith('worker-'));
  await page.goto(`${site.url}/assets/${worker}`);
  const answer = await page.evaluate(
    ({ name, begin }) =>
      new Promise<string>((resolve, reject) => {
        const simulator = new Worker(name, { type: 'module' });
        const events: unknown[] = [];
        simulator.addEventListener('error', ({ message }) => reject(new Error(message)));
        simulator.addEventListener('message', ({ data }: MessageEvent<FromSimulator>) => {
          if (data.kind === 'trouble') reject(new Error(data.text));
          if (data.kind === 'frames') {
            simulator.postMessage({ kind: 'taken' }, []);
            for (const frame of data.frames) if (frame.type === 'events') events.push(...frame.events);
          }
          if (data.kind === 'pace' && data.pace.mode === 'standing') resolve(JSON.stringify(events));
        });
        simulator.postMessage(begin, []);
      }),
    { name: `/assets/${worker}`, begin: { kind: 'begin', setup, atMs } },
  );
  return JSON.parse(answer) as TraceEvent[];
}

describe('a simulated run in the browser', () => {
  it('has the same events as in Node.js, a copy of a database among them', async () => {
    const setup: RunSetup = {
      seed: 16,
      replicas: 3,
      clients: 3,
      acts: [
        [10_000, { action: 'wipe', replica: r2, what: 'both' }],
        [11_000, { action: 'delay', from: r2, to: 'r1' as ReplicaId, amount: 30 }],
        [12_000, { action: 'crash', replica: 'r1' as ReplicaId }],
      ],
    };
    const run = beginRun(setup, 18_000);
    await run.stands();
    const inNode = JSON.parse(JSON.stringify(run.events())) as readonly TraceEvent[];
    expect(inNode.map(({ name }) => name)).toContain('EndCopy');
    const inBrowser = await eventsInBrowser(setup, 18_000);
    expect(inBrowser.length).toBe(inNode.length);
    expect(inBrowser).toEqual(inNode);
  });
});

describe('the page without a server', () => {
  it('begins with a group of three, shows a wiped replica heal, and the same run again from its address', async () => {
    await page.goto(`${site.url}/`);
    await expect.poll(() => text('leader-name'), soon).toBe('r1');
    await part('view-operator').click();
    await expect.poll(() => text('replicas-up'), soon).toBe('3 of 3');
    await expect.poll(() => incarnation('r2'), soon).toBe('1');
    await part('wipe-r2').click();
    await part('wipe-both-r2').click();
    await expect.poll(() => incarnation('r2'), soon).toBe('2');
    await expect.poll(() => part('member-r2').innerText(), soon).toContain('voter');
    const acts = actsInAddress();
    expect(acts).toEqual([[expect.any(Number), { action: 'wipe', replica: r2, what: 'both' }]]);

    const atMs = acts[0]![0] + 6_000;
    const events = async (): Promise<string> => {
      await page.goto('about:blank');
      await page.goto(
        `${site.url}/${writeAddress({ seed: 1, replicas: 3, clients: 4, acts }, atMs)}&view=operator`,
      );
      await expect.poll(() => incarnation('r2'), soon).toBe('2');
      await expect.poll(() => part('source-progress').count(), soon).toBe(0);
      // The page is told of the last moment a little after the world stands.
      await page.waitForTimeout(500);
      return JSON.stringify([
        await text('commit-point-r1'),
        await text('commit-point-r2'),
        await text('ballot-r1'),
        await part('event-list').innerText(),
      ]);
    };
    const first = await events();
    expect(await events()).toBe(first);
  });

  it('has a conscience in which axe finds nothing, and which Escape closes', async () => {
    await page.goto(`${site.url}/#sim?seed=3`);
    await part('conscience').click();
    await part('load').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => part('load').count(), soon).toBe(0);
  });

  it('keeps a run as a file, shows it again, and says what is wrong with one that is none', async () => {
    await page.goto(
      `${site.url}/${writeAddress({ seed: 3, replicas: 3, clients: 2, acts: [] }, 10_000)}&view=operator`,
    );
    await expect.poll(() => text('leader-name'), soon).toBe('r1');
    await expect.poll(() => part('source-progress').count(), soon).toBe(0);
    await page.waitForTimeout(500);
    const commitPoint = await text('commit-point-r1');
    const downloading = page.waitForEvent('download');
    await part('source-export').click();
    const file = join(site.dir, 'exported.ndjson');
    await (await downloading).saveAs(file);
    await page.goto('about:blank');
    await page.goto(`${site.url}/#sim?seed=4&view=operator`);
    await expect.poll(() => part('source-choice').inputValue(), soon).toBe('simulated');
    await part('source-file').setInputFiles(file);
    await expect.poll(() => part('source-choice').inputValue(), soon).toBe('file');
    await expect.poll(() => text('commit-point-r1'), soon).toBe(commitPoint);
    const none = { name: 'none.ndjson', mimeType: 'text/plain', buffer: Buffer.from('{"a":1}\n') };
    await part('source-file').setInputFiles(none);
    await expect.poll(() => text('source-problem'), soon).toContain('This is no file of a run');
    const exported = await readFile(file, 'utf8');
    const other = (from: string, to: string) => ({
      ...none,
      buffer: Buffer.from(exported.replaceAll(from, to)),
    });
    await part('source-file').setInputFiles(other('"membership":', '"members":'));
    await expect.poll(() => text('source-problem'), soon).toContain('replicas[0].status.membership');
    // Not all is looked at ahead.
    await part('source-file').setInputFiles(other('"check":null', '"check":{"checked":1}'));
    await page.getByRole('heading', { name: 'This run cannot be shown' }).waitFor();
    await page.getByRole('button', { name: 'Begin with another run' }).click();
    await expect.poll(() => text('leader-name'), soon).toBe('r1');
  });
});
