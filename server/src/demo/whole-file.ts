/** Files of the demo's directory that are there as a whole or not at all, whatever ends the demo meanwhile. They are for the owner's eyes only: some hold the cluster's secret. */
import { readFile, rename, writeFile } from 'node:fs/promises';

/** Null: there is none; undefined: it is no JSON. */
export async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export async function writeWhole(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, `${text}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
