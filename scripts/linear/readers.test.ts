/** What reads clients' text costs a number of steps for each byte, whatever the text is and however long. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { folders, others, readers } from './readers.ts';
import { serverSources, textTakers } from './sources.ts';

const counting = fileURLToPath(new URL('count-steps.ts', import.meta.url));
/** The messages around a text cost more where the text is short. */
const stepsPerByteMax = 250;

it('every reader of text in the gateways is listed, and nothing that is listed is gone', () => {
  const exported = folders
    .flatMap((folder) => serverSources(folder))
    .filter(({ name }) => others[name] !== '*')
    .flatMap((source) => textTakers(source).map((name) => `${source.name} ${name}`));
  const listed = Object.entries(others).flatMap(([module, names]) =>
    names === '*' ? [] : names.split(' ').map((name) => `${module} ${name}`),
  );
  const own = Object.keys(readers).filter((name) => folders.some((folder) => name.startsWith(`${folder}/`)));
  expect([...listed, ...own].toSorted()).toEqual(exported.toSorted());
});

it('each of them takes a number of steps that is proportional to the text, from 1 KiB to 16 MiB', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', counting], {
    maxBuffer: 2 ** 24,
  });
  const counted = JSON.parse(stdout) as Record<string, Record<string, number>>;
  expect(Object.keys(counted)).toEqual(Object.keys(readers));
  const growing = Object.entries(counted).filter(([, perByte]) => {
    const { short = Infinity, ...longer } = perByte;
    return Object.values(longer).some((each) => each > Math.min(stepsPerByteMax, 1.3 * short + 10));
  });
  expect(growing).toEqual([]);
});
