/** Development only: what axe finds on a page as it is now. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

/** One line for each element that breaks a rule. */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  // Not by a script of the page: its content policy allows none that is not its own.
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { axe: engine } = globalThis as unknown as {
      readonly axe: { run(): Promise<{ readonly violations: Violation[] }> };
    };
    return (await engine.run()).violations;
  });
  return found.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) =>
        `${id} ${target.join(' ')}: ${failureSummary.split('\n').slice(1).join(' ').trim()}`,
    ),
  );
}
