/** The page over a simulated group whose time goes on as the wall's, and a browser: for tests of which one group is enough. */
import type { Browser } from 'playwright-core';
import { startFixture, type SimulatedFixture } from '../simulated-fixture.ts';
import { buildPage, launchBrowser } from './browser-page.ts';

export interface FixturePage {
  readonly url: string;
  readonly browser: Browser;
  readonly fixture: SimulatedFixture;
  close(): Promise<void>;
}

export async function openFixturePage(): Promise<FixturePage> {
  const built = await buildPage();
  const browser = await launchBrowser();
  const dashboard = { kind: 'ready', dir: built.dir } as const;
  const say = () => undefined;
  const fixture = await startFixture({ seed: 1, replicas: 3, clients: 2, port: 0, dashboard, say });
  void fixture.pace.playTo(Number.POSITIVE_INFINITY, 1);
  return {
    url: `http://127.0.0.1:${fixture.demo.port}`,
    browser,
    fixture,
    async close() {
      await browser.close();
      await fixture.close();
      await built.remove();
    },
  };
}
