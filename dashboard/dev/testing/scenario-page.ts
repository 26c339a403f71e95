/** For tests in a browser: a scenario on the page, asked, guessed and played to its end by its buttons alone. */
import type { Page } from 'playwright-core';

export interface ToldOnPage {
  readonly title: string;
  readonly caption: string;
  /** The rule's name, file and line, and its text. */
  readonly rule: string;
}

export interface PlayedOnPage {
  readonly told: readonly ToldOnPage[];
  /** Of the choices, by its id; empty: none of them. */
  readonly choice: string;
  readonly choices: readonly string[];
  readonly isRight: boolean;
  readonly answer: string;
}

export interface PlayingOptions {
  /** By the id of a choice. */
  readonly guess: string;
  readonly timeoutMs: number;
  /** When a chapter has come about, before it goes on. */
  readonly onTold?: (chapter: number, told: ToldOnPage) => Promise<void>;
}

/** Its question must be shown, or come. @throws Error with what the page says if a chapter does not come about */
export async function playOnPage(
  page: Page,
  { guess, timeoutMs, onTold }: PlayingOptions,
): Promise<PlayedOnPage> {
  const part = (id: string) => page.getByTestId(id);
  await part('scenario-question').waitFor({ timeout: timeoutMs });
  const choices = await part('scenario-question')
    .locator('input')
    .evaluateAll((inputs) => inputs.map((input) => (input as HTMLInputElement).value));
  await part(`choice-${guess}`).click();
  await part('scenario-begin').click();
  const told: ToldOnPage[] = [];
  for (;;) {
    const play = part('scenario-play');
    await page.waitForFunction(
      (count) => {
        const shown = document.querySelector<HTMLElement>('[data-testid=scenario-play]');
        const { stage, chapter } = shown?.dataset ?? {};
        return stage !== undefined && stage !== 'waiting' && (stage !== 'told' || chapter === String(count));
      },
      told.length,
      { timeout: timeoutMs },
    );
    const stage = await play.getAttribute('data-stage');
    if (stage === 'answered') break;
    if (stage !== 'told') throw new Error(await play.innerText());
    const rule = play.locator('.scenario-now [data-testid=scenario-rule]');
    // Its text is loaded when the first rule is shown.
    await rule.locator('pre').waitFor({ timeout: timeoutMs });
    const current: ToldOnPage = {
      title: await play.locator('.scenario-now h3').innerText(),
      caption: await part('scenario-caption').innerText(),
      rule: await rule.innerText(),
    };
    told.push(current);
    await onTold?.(told.length - 1, current);
    await part('scenario-go-on').click();
  }
  const answer = part('scenario-answer');
  return {
    told,
    choices,
    choice: (await answer.getAttribute('data-choice')) ?? '',
    isRight: (await answer.getAttribute('data-right')) === 'true',
    answer: await answer.innerText(),
  };
}
