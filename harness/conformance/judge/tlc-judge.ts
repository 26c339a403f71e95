/** TLC as the judge of what was recorded. Needs Java. */
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeScratch, removeScratch } from '../../../scripts/specs/scratch.ts';
import { SPECS_DIR, runTlc } from '../../../scripts/specs/tlc.ts';
import { errorText } from '../../../scripts/specs/tlc-output.ts';
import type { Judge } from './recorded-model.ts';

const TIMEOUT_MS = 600_000;

export const judgeByTlc: Judge = async ({ module, text, data, specs, config }, options) => {
  const directory = await makeScratch('barista-trace-');
  try {
    for (const spec of specs) await copyFile(join(SPECS_DIR, `${spec}.tla`), join(directory, `${spec}.tla`));
    await writeFile(join(directory, `${data.module}.tla`), dataModule(data));
    await writeFile(join(directory, `${module}.tla`), text);
    await writeFile(join(directory, `${module}.cfg`), config);
    const { exitCode, output } = await runTlc({
      module,
      cfg: `${module}.cfg`,
      args: ['-workers', String(options?.workers ?? 1), '-lncheck', 'final'],
      specDir: directory,
      timeoutMs: TIMEOUT_MS,
    });
    // TLC could not evaluate something: no verdict. What is not matched is no error to it.
    if (exitCode !== 0) throw new Error(`TLC ended with ${exitCode ?? 'a time-out'}:\n${errorText(output)}`);
    return output;
  } finally {
    await removeScratch(directory);
  }
};

/** TLC has the literal's value then before it looks at definitions that use it, and otherwise asks of the whole literal for each of those what it depends on. */
function dataModule({ module, name, literal }: { module: string; name: string; literal: string }): string {
  return `---- MODULE ${module} ----\nEXTENDS TLC\n${name} == ${literal}\n====\n`;
}
