/** The page without a server as a browser finds it: built, handed out by a plain server of files, and a browser. For its tests. */
import type { Browser } from 'playwright-core';
import { buildPage, launchBrowser } from './browser-page.ts';
import { serveFiles } from '../../sim/static-files.ts';

export interface LabSite {
  readonly url: string;
  /** Where it was built. */
  readonly dir: string;
  readonly browser: Browser;
  close(): Promise<void>;
}

export async function openLabSite(): Promise<LabSite> {
  const built = await buildPage('lab');
  const files = await serveFiles(built.dir);
  const browser = await launchBrowser();
  return {
    url: files.url,
    dir: built.dir,
    browser,
    async close() {
      await browser.close();
      files.close();
      await built.remove();
    },
  };
}
