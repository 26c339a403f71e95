/**
 * The scenarios that can be live, in a real browser against real processes, one after the other over one group: killed, frozen, cut off and wiped by the page, and the answers are what the group shows.
 *
 * The browser is Debian's Chromium, or BARISTA_CHROMIUM.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../../dashboard/dev/testing/browser-page.ts';
import { playOnPage } from '../../dashboard/dev/testing/scenario-page.ts';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';

const timeoutMs = 180_000;

let cluster: LocalCluster;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  cluster = await startCluster();
  browser = await launchBrowser();
  page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
});
afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});

const part = (id: string) => page.getByTestId(id);

/** What the group itself says when the play is over, asked beside the page. */
interface Ended {
  /** Who led when it began. */
  readonly before: ReplicaStatus;
  readonly after: readonly ReplicaStatus[];
}

const statusOf = ({ after }: Ended, id: string): ReplicaStatus => after.find((one) => one.id === id)!;
const leaderOf = ({ after }: Ended): ReplicaStatus => after.find(({ role }) => role === 'leader')!;

const live: readonly (readonly [id: string, guess: string, check: (choice: string, ended: Ended) => void])[] =
  [
    [
      'leader-dies',
      'nobody',
      (choice, ended) => {
        expect(choice).toBe(leaderOf(ended).id);
        expect(choice).not.toBe(ended.before.id);
        expect(leaderOf(ended).ballot.round).toBeGreaterThan(ended.before.ballot.round);
      },
    ],
    [
      'one-way-cut',
      'goes-on',
      (choice, ended) => {
        expect(choice).toBe('goes-on');
        expect(leaderOf(ended).ballot).toEqual(ended.before.ballot);
      },
    ],
    [
      'frozen-leader',
      'gives-up',
      (choice, ended) => {
        expect(choice).toBe('gives-up');
        expect(statusOf(ended, ended.before.id).role).toBe('follower');
      },
    ],
    [
      'unchosen-wal',
      'sent',
      (choice, ended) => {
        expect(choice).toBe('rewound');
        const [old, now] = [statusOf(ended, ended.before.id), leaderOf(ended)];
        expect(old.wal!.timeline).toBe(now.wal!.timeline);
        expect(old.wal!.timeline).toBeGreaterThan(ended.before.wal!.timeline);
      },
    ],
    [
      'wiped-minority',
      'learner',
      (choice, ended) => {
        expect(choice).toBe('learner');
        expect(ended.after.filter(({ incarnation }) => incarnation === 2)).toHaveLength(1);
      },
    ],
  ];

describe('a scenario on a live group', () => {
  it.each(live)('%s is played to its answer by real processes', async (id, guess, check) => {
    await cluster.settled();
    const before = await cluster.leader();
    await page.goto('about:blank');
    await page.goto(`${cluster.dashboardUrl}/#scenario=${id}`);
    const played = await playOnPage(page, { guess, timeoutMs });
    for (const { caption, rule } of played.told) {
      expect(caption).toMatch(/\br\d\b/);
      expect(rule).toMatch(/specs\/\w+\.tla:\d+/);
    }
    const after = await cluster.settled();
    check(played.choice, { before, after });
    expect(played.isRight).toBe(played.choice === guess);
    // The page hears of it a moment later.
    await expect.poll(() => part('scenario-whole').count()).toBe(0);
  });

  it('is offered in a simulated group where it would lose data for good', async () => {
    await page.goto('about:blank');
    await page.goto(`${cluster.dashboardUrl}/#scenario=wiped-majority`);
    await part('scenario-refused').waitFor();
    expect(await part('scenario-begin').getAttribute('aria-disabled')).toBe('true');
    await part('scenario-simulate').click();
    await part('scenario-question').waitFor({ timeout: timeoutMs });
    expect(await part('source').getAttribute('data-kind')).toBe('simulated');
    expect(new URL(page.url()).hash).toMatch(/^#sim\?seed=\d+.*&scenario=wiped-majority/);
  });
});
