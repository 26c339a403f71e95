/** Random behaviours of a module of the specifications, as TLC writes them down: one text each. */
import { copyFile, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeScratch, removeScratch } from '../../../scripts/specs/scratch.ts';
import { SPECS_DIR, runTlc } from '../../../scripts/specs/tlc.ts';
import { errorText } from '../../../scripts/specs/tlc-output.ts';

const timeoutMs = 600_000;

export interface BehaviourOptions {
  readonly behaviours: number;
  readonly depth: number;
  readonly seed: number;
}

/** A module beside this file, its configuration if it has several, another one beside that it extends, and the modules of specs/ that it extends. */
export interface ReplayModule {
  readonly module: string;
  readonly cfg?: string;
  readonly beside?: string;
  readonly extended: readonly string[];
}

/** @throws Error if TLC fails */
export async function behaviourTexts(
  { module, beside, extended, cfg = `${module}.cfg` }: ReplayModule,
  { behaviours, depth, seed }: BehaviourOptions,
): Promise<string[]> {
  const directory = await makeScratch('barista-replay-');
  try {
    for (const name of extended)
      await copyFile(join(SPECS_DIR, `${name}.tla`), join(directory, `${name}.tla`));
    const own = beside === undefined ? [module] : [module, beside];
    for (const file of [...own.map((name) => `${name}.tla`), cfg])
      await copyFile(fileURLToPath(new URL(file, import.meta.url)), join(directory, file));
    const args = ['-workers', '1', '-simulate', `file=${join(directory, 'behaviour')},num=${behaviours}`];
    const { exitCode, output } = await runTlc({
      module,
      cfg,
      args: [...args, '-depth', String(depth), '-seed', String(seed)],
      specDir: directory,
      timeoutMs,
    });
    const names = (await readdir(directory)).filter((name) => name.startsWith('behaviour')).sort();
    if (exitCode !== 0 || names.length === 0)
      throw new Error(`TLC ended with ${exitCode ?? 'a time-out'}:\n${errorText(output)}`);
    return await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
  } finally {
    await removeScratch(directory);
  }
}
