import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { plantedBugs } from './planted.ts';

const source = fileURLToPath(new URL('../../server/src', import.meta.url));
const flat = (text: string): string => text.replaceAll(/\s+/g, ' ');

it.each(plantedBugs.map((bug) => [bug.name, bug] as const))(
  'the code that %s changes is what the server has, once',
  async (_, { mutations }) => {
    for (const { file, find } of mutations) {
      const text = flat(await readFile(`${source}/${file.replace(/\.js$/, '.ts')}`, 'utf8'));
      expect({ file, find, times: text.split(flat(find)).length - 1 }).toEqual({ file, find, times: 1 });
    }
  },
);
