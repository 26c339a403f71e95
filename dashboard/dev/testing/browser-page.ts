/** For tests of the page in a real browser, which is Debian's Chromium, or BARISTA_CHROMIUM: the browser, and the page as it is built, in a directory of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { build } from 'vite';

export const chromiumPath = process.env['BARISTA_CHROMIUM'] ?? '/usr/bin/chromium';
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'];

export interface BuiltPage {
  readonly dir: string;
  remove(): Promise<void>;
}

/** `mode`: `lab` for the page without a server. */
export async function buildPage(mode?: 'lab'): Promise<BuiltPage> {
  const dir = await mkdtemp(join(tmpdir(), 'barista-page-'));
  const root = join(import.meta.dirname, '..', '..');
  const options = mode === undefined ? {} : { mode };
  // As people get it: built for tests, React Aria draws long lists whole.
  process.env['NODE_ENV'] = 'production';
  await build({ root, ...options, logLevel: 'error', build: { outDir: dir, emptyOutDir: true } });
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) };
}

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath, args });
}
