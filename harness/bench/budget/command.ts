/** `npm run bench -- budget`: its report, and the flame graphs if they are asked for. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildServer } from '../build-server.ts';
import { workload } from '../compare/loads/workloads.ts';
import { interruptible } from '../interruptible.ts';
import { measureBudget, type BudgetOptions } from './budget.ts';
import { budgetText } from './budget-report.ts';
import { flameGraph } from './flame-graph.ts';

export interface BudgetArguments extends BudgetOptions {
  /** As it was typed. */
  readonly command: string;
  /** Where SVGs go; null: none. */
  readonly flames: string | null;
}

/** @throws Error in plain words */
export async function budgetCommand({ command, flames, ...options }: BudgetArguments): Promise<void> {
  await interruptible(async (shell) => {
    await buildServer(shell.progress);
    const budget = await measureBudget(options, shell);
    console.log(`\n${budgetText(budget)}\n\nto repeat   ${command}`);
    if (flames === null) return;
    mkdirSync(flames, { recursive: true });
    for (const { id, isLeader, profile } of budget.replicas) {
      const who = isLeader ? 'leader' : `follower-${id}`;
      const title = `${who}: ${workload(options.workload, options.clients).label}, main thread of Node.js`;
      const file = join(flames, `${who}.svg`);
      writeFileSync(file, flameGraph(title, profile.root));
      console.log(`flame graph ${file}`);
    }
  });
}
