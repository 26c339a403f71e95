/** Files of the demo's directory. They are there as a whole or not at all, whatever ends the demo or its machine while they are written. */
import { writeDurably, readFile } from '../adapters/file-system.ts';

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

/** For the owner's eyes only: some hold the cluster's secret. */
export async function writeJson(file: string, content: object): Promise<void> {
  await writeDurably(file, `${JSON.stringify(content, null, 2)}\n`);
}
