/**
 * Development only: what the page costs while it shows a busy group: frames a second, how busy its thread is, and what it holds as time goes on.
 *
 *   npx tsx dashboard/dev/performance/main.ts [--replicas 5] [--clients 450] [--seconds 20] [--rounds 3] [--minutes 0] [--views lab,operator] [--report DIR]
 *
 * The group is simulated, in a process of its own, and told of by the demo's own server, as a live one is. `--minutes`: how long the first view's heap is looked at afterwards, once a minute. `--report`: where a report goes, with a trace of the first view for the browser's own tools.
 * Needs dashboard/dist (`npm run build:dashboard`) and a Chromium: `--chromium PATH`, /usr/bin/chromium unless told. Figures are of a machine with nothing beside it, or of no use.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { ownCheckout } from '../../../harness/bench/build-server.ts';
import { versionOf } from '../../../harness/bench/compare/systems/barista.ts';
import { describeMachine, machineLines } from '../../../harness/bench/machine.ts';
import { launchBrowser } from '../testing/browser-page.ts';
import { beginBusyGroup, type Busy } from './busy.ts';
import { meterOf, type PageMeter } from './page-meter.ts';
import {
  heapChart,
  type HeapLook,
  heapLine,
  type PageFigures,
  pageReport,
  type Round,
  roundLine,
} from './page-report.ts';
import { threadTimes, type TraceEvent } from './trace-summary.ts';

const { values } = parseArgs({
  options: {
    replicas: { type: 'string', default: '5' },
    clients: { type: 'string', default: '450' },
    seconds: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '3' },
    minutes: { type: 'string', default: '0' },
    views: { type: 'string', default: 'lab,operator' },
    report: { type: 'string' },
  },
});
const [replicas, clients, seconds, rounds, minutes] = (
  ['replicas', 'clients', 'seconds', 'rounds', 'minutes'] as const
).map((name) => {
  const value = Number(values[name]);
  const least = name === 'minutes' ? 0 : 1;
  if (!Number.isFinite(value) || value < least)
    throw new Error(`--${name} is a number of at least ${least}, not "${values[name]}"`);
  return value;
}) as [number, number, number, number, number];
const views = values.views.split(',');
const settleMs = 8_000;
const traceMs = 3_000;
const traceFile = 'trace.json.gz';
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function measureRound(meter: PageMeter, { answered }: Busy): Promise<Round> {
  const before = answered();
  const beganMs = performance.now();
  const figures = await meter.frames(seconds);
  const tookMs = performance.now() - beganMs;
  const after = answered();
  return {
    ...figures,
    transactions: ((after.requests - before.requests) * 1_000) / tookMs,
    speed: (after.simulatedMs - before.simulatedMs) / tookMs,
  };
}

async function measureHeap(meter: PageMeter, { answered }: Busy): Promise<readonly HeapLook[]> {
  const looks: HeapLook[] = [];
  if (minutes === 0) return looks;
  for (let minute = 0; minute <= minutes; minute += 1) {
    if (minute > 0) await sleep(60_000);
    const { requests: transactions } = answered();
    const look = { minute, bytes: await meter.heapBytes(), nodes: await meter.nodes(), transactions };
    looks.push(look);
    say(heapLine(look));
  }
  return looks;
}

/** As the browser writes it. */
async function recordTrace(browser: Browser, page: Page): Promise<Buffer> {
  await browser.startTracing(page, { screenshots: false });
  await sleep(traceMs);
  return browser.stopTracing();
}

async function openPage(browser: Browser, port: number, view: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.on('pageerror', (error) => say(`the page: ${error.message}`));
  await page.goto(`http://127.0.0.1:${port}/#${view}`);
  await page.getByTestId('connection').waitFor();
  await sleep(settleMs);
  return page;
}

async function report(dir: string, figures: PageFigures, trace: Buffer): Promise<void> {
  await mkdir(dir, { recursive: true });
  const chart = heapChart(figures.heap);
  if (chart !== null) await writeFile(join(dir, chart.file), chart.svg);
  await writeFile(join(dir, traceFile), gzipSync(trace, { level: 9 }));
  await writeFile(join(dir, 'figures.json'), `${JSON.stringify(figures, null, 2)}\n`);
  const day = new Date().toISOString().slice(0, 10);
  await writeFile(join(dir, 'README.md'), pageReport(figures, `The page under load, ${day}`));
  say(`report in ${dir}`);
}

const machine = describeMachine();
say(machineLines(machine));
let troubles = 0;
const setup = { replicas, clients, dir: join(import.meta.dirname, '../../dist') };
const busy = await beginBusyGroup(setup, (text) => {
  troubles += 1;
  if (troubles <= 3) say(`trouble in the group, so these figures are of no use: ${text}`);
});
const browser = await launchBrowser();
try {
  const measured: { view: string; rounds: Round[] }[] = [];
  let heap: readonly HeapLook[] = [];
  let trace: Buffer = Buffer.alloc(0);
  for (const [index, view] of views.entries()) {
    const page = await openPage(browser, busy.port, view);
    const meter = await meterOf(page);
    const own: Round[] = [];
    for (let round = 0; round < rounds; round += 1) {
      own.push(await measureRound(meter, busy));
      say(roundLine(view, own.at(-1)!));
    }
    measured.push({ view, rounds: own });
    if (index === 0) {
      if (values.report !== undefined) trace = await recordTrace(browser, page);
      heap = await measureHeap(meter, busy);
    }
    await page.close();
  }
  if (values.report !== undefined) {
    const { traceEvents } = JSON.parse(trace.toString()) as { readonly traceEvents: readonly TraceEvent[] };
    const { commit } = await versionOf(ownCheckout);
    const figures: PageFigures = {
      machine,
      commit,
      command: `npx tsx dashboard/dev/performance/main.ts ${process.argv.slice(2).join(' ')}`,
      browser: `Chromium ${browser.version()}`,
      replicas,
      clients,
      seconds,
      views: measured,
      trace: { file: traceFile, threads: threadTimes(traceEvents) },
      heap,
    };
    await report(values.report, figures, trace);
  }
} finally {
  await browser.close();
  busy.end();
}
if (troubles > 0) process.exitCode = 1;
