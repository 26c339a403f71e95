/** Development only: what happens in the recording that the README shows: a reader of the lab kills the leader, makes the group whole again, and looks at what happened. */
import type { Page } from 'playwright-core';

/** Of the page's own size. */
interface Spot {
  readonly x: number;
  readonly y: number;
}

const stepMs = 16;
/** For a glide over the whole page. */
const glideMs = 700;
let hand: Spot = { x: 620, y: 420 };

async function glideTo(page: Page, to: Spot): Promise<void> {
  const from = hand;
  const steps = Math.round(glideMs / stepMs);
  for (let step = 1; step <= steps; step += 1) {
    const share = 0.5 - Math.cos((Math.PI * step) / steps) / 2;
    await page.mouse.move(from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share);
    await page.waitForTimeout(stepMs);
  }
  hand = to;
}

async function middleOf(page: Page, id: string): Promise<Spot> {
  const box = await page.getByTestId(id).boundingBox();
  if (box === null) throw new Error(`"${id}" is not to be seen`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

async function click(page: Page, id: string): Promise<void> {
  await glideTo(page, await middleOf(page, id));
  await page.waitForTimeout(150);
  await page.mouse.down();
  await page.mouse.up();
}

/** A group of three whose clients are at work is on the page. */
export async function play(page: Page): Promise<void> {
  await page.waitForTimeout(1_600);
  const leader = (await page.getByTestId('leader-name').innerText()).trim();
  await click(page, `node-${leader}`);
  await page.waitForTimeout(700);
  await click(page, `crash-${leader}`);
  await page.keyboard.press('Escape');
  await glideTo(page, { x: 620, y: 420 });
  await page.getByTestId('leader-name').filter({ hasNotText: leader }).waitFor();
  await page.waitForTimeout(2_200);
  await click(page, 'make-whole');
  await page.waitForTimeout(2_400);
  await page.keyboard.press('d');
  await page.waitForTimeout(1_200);
  const line = (await page.getByTestId('time-line').boundingBox())!;
  const y = line.y + line.height / 2;
  await glideTo(page, { x: line.x + line.width - 40, y });
  await page.mouse.down();
  await glideTo(page, { x: line.x + line.width * 0.78, y });
  await page.mouse.up();
  await page.waitForTimeout(1_600);
  await page.keyboard.press('d');
  await page.waitForTimeout(1_200);
  await page.keyboard.press('End');
  await page.waitForTimeout(600);
}
