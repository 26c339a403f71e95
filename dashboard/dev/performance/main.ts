/**
 * Development only: what the page costs while it shows a busy group: frames a second, how busy its thread is, and what it holds as time goes on.
 *
 *   npx tsx dashboard/dev/performance/main.ts [--replicas 5] [--clients 450] [--seconds 20] [--rounds 3] [--minutes 0] [--view lab,operator] [--report DIR]
 *
 * The group is simulated, in a process of its own, and told of by the demo's own server, as a live one is. `--minutes`: how long the first view's heap is looked at afterwards, once a minute. `--report`: where a report goes, with a trace of the first view for the browser's own tools.
 * Needs dashboard/dist (`npm run build:dashboard`) and a Chromium: `--chromium PATH`, /usr/bin/chromium unless told. Figures are of a machine with nothing beside it, or of no use.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { describeMachine, machineLines } from '../../../harness/bench/machine.ts';
import { commitOf, repositoryRoot } from '../../../harness/commit.ts';
import { launchBrowser } from '../testing/browser-page.ts';
import { beginBusyGroup, type Busy } from './busy.ts';
import { meterOf, type PageMeter } from './page-meter.ts';
import {
  heapChart,
  heapLine,
  type HeapLook,
  type PageFigures,
  pageReport,
  type Round,
  roundLine,
} from './page-report.ts';
import { threadTimes, type TraceEvent } from './trace-summary.ts';
