/** What reads clients' text costs a number of steps for each byte, whatever the text is and however long. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import type { Counted } from './count-steps.ts';
import { boundedTexts, folders, others, readers } from './readers.ts';
import { serverSources, textTakers } from './sources.ts';

const counting = fileURLToPath(new URL('count-steps.ts', import.meta.url));
/** The messages around a text cost more where the text is short. */
const stepsPerByteMax = 250;
/** One turn of the gateway's thread reads up to 4 MiB: a session that names its transactions holds a message of that length whole. With this they take some 50 ms. */
const workPerByteMax = 50;

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

let counted: Promise<Record<string, Counted>> | null = null;

function count(): Promise<Record<string, Counted>> {
  counted ??= promisify(execFile)(process.execPath, ['--import', 'tsx', counting], {
    maxBuffer: 2 ** 24,
  }).then(({ stdout }) => JSON.parse(stdout) as Record<string, Counted>);
  return counted;
}

it('each of them takes a number of steps that is proportional to the text, from 1 KiB to 16 MiB', async () => {
  const all = await count();
  expect(Object.keys(all)).toEqual(Object.keys(readers));
  const growing = Object.entries(all).filter(([, { steps }]) => {
    const { short = Infinity, ...longer } = steps;
    return Object.values(longer).some((each) => each > Math.min(stepsPerByteMax, 1.3 * short + 10));
  });
  expect(growing).toEqual([]);
});

it('none of them does more with a text of some megabytes than others can wait for', async () => {
  const found = Object.entries(await count())
    .filter(([name]) => !boundedTexts.some((prefix) => name.startsWith(prefix)))
    .filter(([, { work }]) => work > workPerByteMax)
    .map(([name, { work }]) => `${name}: ${work}`);
  expect(found).toEqual([]);
});
