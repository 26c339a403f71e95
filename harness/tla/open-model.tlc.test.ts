/** Walked through by hand to its end, a model has the states that TLC finds. Needs Java. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { moduleTexts } from '../../scripts/specs/counterexample-files.ts';
import { runTlc, SPECS_DIR } from '../../scripts/specs/tlc.ts';
import { formatValue } from './format-value.ts';
import { readConfig } from './model-config.ts';
import { openModel, type OpenModel } from './open-model.ts';
import type { Value } from './value.ts';

/** All that can be got to. */
function reachable(model: OpenModel): ReadonlySet<string> {
  const seen = new Set<string>();
  const waiting: (readonly Value[])[] = [];
  const visit = (state: readonly Value[]): void => {
    const key = state.map(formatValue).join('\n');
    if (seen.has(key)) return;
    seen.add(key);
    expect(model.broken(state)).toEqual([]);
    waiting.push(state);
  };
  for (const state of model.firstStates()) visit(state);
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop())
    for (const { values } of model.nextStates(state)) visit(values);
  return seen;
}

/** Without what tells fewer states apart. */
const plain = (config: string): string => config.replaceAll(/^(?:VIEW|SYMMETRY).*\n/gm, '');

describe('a model that is walked through by hand', () => {
  it.each([
    ['MCMultiPaxos', 'MCMultiPaxos-plain-rivals.cfg'],
    ['MCStatementEnds', 'MCStatementEnds-in-vain.cfg'],
    ['MCConsensus', 'MCConsensus-tiny.cfg'],
  ])('%s has the states that TLC finds (%s)', async (module, cfg) => {
    const config = plain(readFileSync(path.join(SPECS_DIR, cfg), 'utf8')).replaceAll(
      /^(?:INVARIANTS?|PROPERT\w+)(?:\s+\w+)+?(?=\n[A-Z]|$(?![\s\S]))/gm,
      '',
    );
    const model = openModel({
      modules: moduleTexts(module),
      main: module,
      data: [],
      config: readConfig(config),
    });
    const found = reachable(model);
    const { distinctStates } = await tlcOn(module, config);
    expect(found.size).toBe(distinctStates);
    expect(found.size).toBeGreaterThan(50);
  });
});

async function tlcOn(module: string, config: string) {
  const { mkdtemp, rm, writeFile } = await import('node:fs/promises');
  const { tmpdir } = await import('node:os');
  const directory = await mkdtemp(path.join(tmpdir(), 'barista-open-'));
  try {
    for (const [name, text] of moduleTexts(module))
      await writeFile(path.join(directory, `${name}.tla`), text);
    await writeFile(path.join(directory, 'Plain.cfg'), config);
    return await runTlc({ module, cfg: 'Plain.cfg', specDir: directory, timeoutMs: 200_000 });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
