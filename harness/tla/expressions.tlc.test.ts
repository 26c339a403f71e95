/** TLC finds for every expression the value that the evaluator does. Needs Java. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runTlc } from '../../scripts/specs/tlc.ts';
import { formatValue } from './format-value.ts';
import { readLiteral } from './read-literal.ts';
import { compileModel } from './explore.ts';
import { readConfig } from './model-config.ts';
import { actionsConfig, actionsModule } from './testing/actions.ts';
import {
  config,
  expressionModule,
  expressions,
  undefinedExpressions,
  unreadableExpressions,
} from './testing/expressions.ts';

async function outputOfTlc(module: string, text: string, cfg: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'barista-expressions-'));
  try {
    await writeFile(join(directory, `${module}.tla`), text);
    await writeFile(join(directory, `${module}.cfg`), cfg);
    const { output } = await runTlc({
      module,
      cfg: `${module}.cfg`,
      args: ['-workers', '1'],
      specDir: directory,
      timeoutMs: 60_000,
    });
    return output;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** @throws Error if TLC cannot read them */
async function printedByTlc(all: readonly string[]): Promise<ReadonlyMap<number, string>> {
  const output = await outputOfTlc('Expressions', expressionModule(all), config);
  if (output.includes('Parsing or semantic analysis failed')) throw new Error(output);
  const values = output.matchAll(/^<<"value", (\d+), ([\s\S]*?)>>$/gm);
  return new Map([...values].map(([, number, value]) => [Number(number), formatValue(readLiteral(value!))]));
}

/** In one order: which state is looked at first says nothing. */
async function statesByTlc(): Promise<string[]> {
  const output = await outputOfTlc('Actions', actionsModule, actionsConfig);
  return [...output.matchAll(/^<<"state".*>>$/gm)].map(([line]) => line).sort();
}

describe('TLC', () => {
  it('reaches the same states, each once', async () => {
    const model = compileModel({
      modules: new Map([['Actions', actionsModule]]),
      main: 'Actions',
      data: [],
      config: readConfig(actionsConfig),
    });
    // Each time anew.
    const [printed, again] = [model.run(new Map()), model.run(new Map())];
    expect(again).toEqual(printed);
    expect(printed.length).toBeGreaterThan(50);
    expect(printed.map(formatValue).sort()).toEqual(await statesByTlc());
  });

  it('finds the same values', async () => {
    const printed = await printedByTlc(expressions.map(([expression]) => expression));
    for (const [index, [expression, value]] of expressions.entries())
      expect([expression, printed.get(index + 1)]).toEqual([expression, value]);
  });

  it('finds no value either where the evaluator finds none', async () => {
    for (const expression of undefinedExpressions)
      expect([expression, ...(await printedByTlc([expression]))]).toEqual([expression]);
  });

  it('reads neither what the evaluator does not read', async () => {
    for (const expression of unreadableExpressions)
      await expect(printedByTlc([expression])).rejects.toThrow('semantic analysis failed');
  });
});
