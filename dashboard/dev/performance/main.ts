/**
 * Development only: what the page costs while it shows a busy group: frames a second, how busy its thread is, and what it holds as time goes on.
 *
 *   npx tsx dashboard/dev/performance/main.ts [--replicas 5] [--clients 200] [--seconds 30] [--minutes 0] [--view lab] [--trace FILE]
 *
 * The group is simulated, in a process of its own, and told of by the demo's own server, as a live one is. `--minutes`: how long its heap is looked at afterwards, once a minute. `--trace`: where a trace of five seconds goes, for the browser's own tools.
 * Needs dashboard/dist (`npm run build:dashboard`) and a Chromium: `--chromium PATH`, /usr/bin/chromium unless told. Figures are of a machine with nothing beside it, or of no use.
 */
import { fork } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../testing/browser-page.ts';
import type { BusyGroupSetup, FromBusyGroup } from './busy-group.ts';
import { meterOf, type PageMeter } from './page-meter.ts';

const { values } = parseArgs({
  options: {
    replicas: { type: 'string', default: '5' },
    clients: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '30' },
    minutes: { type: 'string', default: '0' },
    view: { type: 'string', default: 'lab' },
    trace: { type: 'string' },
  },
});
const [replicas, clients, seconds, minutes] = [
  values.replicas,
  values.clients,
  values.seconds,
  values.minutes,
].map(Number) as [number, number, number, number];
const settleMs = 8_000;
const traceMs = 5_000;
const minuteMs = 60_000;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

interface Busy {
  readonly port: number;
  /** Requests that were answered so far, and how much of its time has passed. */
  readonly answered: () => { readonly requests: number; readonly simulatedMs: number };
  readonly end: () => void;
}

async function beginBusyGroup(): Promise<Busy> {
  const setup: BusyGroupSetup = { replicas, clients, dir: join(import.meta.dirname, '../../dist') };
  const file = join(import.meta.dirname, 'busy-group.ts');
  // Its young objects are many: with room for them it leaves more of the machine to the page.
  const child = fork(file, [JSON.stringify(setup)], {
    execArgv: ['--max-semi-space-size=64', '--import', 'tsx'],
  });
  let answered = { requests: 0, simulatedMs: 0 };
  const port = await new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`the group's process ended with ${code}`)));
    child.on('message', (message: FromBusyGroup) => {
      if (message.kind === 'ready') resolve(message.port);
      else if (message.kind === 'answered') answered = message;
      else say(`trouble: ${message.text}`);
    });
  });
  return { port, answered: () => answered, end: () => void child.kill() };
}

async function measureFrames(meter: PageMeter, { answered }: Busy): Promise<void> {
  const before = answered();
  const beganMs = performance.now();
  const figures = await meter.frames(seconds);
  const tookMs = performance.now() - beganMs;
  const after = answered();
  const requests = ((after.requests - before.requests) * 1_000) / tookMs;
  const speed = (after.simulatedMs - before.simulatedMs) / tookMs;
  say(`load:     ${requests.toFixed(0)} transactions a second, told of at ${speed.toFixed(2)} of their time`);
  say(`frames:   ${figures.perSecond.toFixed(1)} a second`);
  say(
    `between:  median ${figures.medianMs.toFixed(1)} ms, p99 ${figures.p99Ms.toFixed(1)} ms, longest ${figures.longestMs.toFixed(1)} ms`,
  );
  say(`its thread: ${percent(figures.busy)} busy, of which scripts ${percent(figures.scripting)}`);
}

async function measureHeap(meter: PageMeter, { answered }: Busy): Promise<void> {
  for (let minute = 0; minute <= minutes; minute += 1) {
    if (minute > 0) await new Promise((resolve) => setTimeout(resolve, minuteMs));
    const heap = megabytes(await meter.heapBytes());
    say(
      `minute ${minute}: heap ${heap}, ${await meter.nodes()} nodes, ${answered().requests} transactions so far`,
    );
  }
}

async function recordTrace(browser: Browser, page: Page, file: string): Promise<void> {
  await browser.startTracing(page, { screenshots: false });
  await page.waitForTimeout(traceMs);
  await writeFile(file, await browser.stopTracing());
  say(`trace:    ${file}`);
}

const busy = await beginBusyGroup();
const browser = await launchBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.on('pageerror', (error) => say(`the page: ${error.message}`));
  await page.goto(`http://127.0.0.1:${busy.port}/#${values.view}`);
  await page.getByTestId('connection').waitFor();
  const model = cpus()[0]?.model ?? 'unknown';
  say(`${replicas} replicas, ${clients} clients, ${values.view}, 1440x900, ${browser.version()}`);
  say(`${cpus().length} cores (${model}), drawn without a graphics card`);
  await page.waitForTimeout(settleMs);
  const meter = await meterOf(page);
  if (seconds > 0) await measureFrames(meter, busy);
  if (values.trace !== undefined) await recordTrace(browser, page, values.trace);
  if (minutes > 0) await measureHeap(meter, busy);
} finally {
  await browser.close();
  busy.end();
}
