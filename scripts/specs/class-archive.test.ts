import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { optionsOfShortRuns } from './class-archive.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'barista-archive-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** A Java that notes each run of TLC, and makes the archive that it is to make, or fails. */
async function javaOf(version: string, makes: boolean): Promise<string> {
  const java = path.join(directory, `java-${version}`);
  const script = `#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "${version}"' >&2; exit 0; fi
echo "$1" >> ${directory}/runs
${makes ? `touch "\${1#-XX:ArchiveClassesAtExit=}"` : 'exit 1'}
`;
  await writeFile(java, script);
  await chmod(java, 0o755);
  return java;
}

const optionsWith = (java: string) =>
  optionsOfShortRuns({ java, jar: path.join(directory, 'tlc.jar'), specDir: directory });
const archives = async () => (await readdir(directory)).filter((name) => /jsa$|^archive-/.test(name));

describe('an archive of classes', () => {
  it('is made once for each Java', async () => {
    const [older, newer] = [await javaOf('17', true), await javaOf('21', true)];
    const options = await optionsWith(older);
    expect(options).toContain(`-XX:SharedArchiveFile=${path.join(directory, (await archives())[0]!)}`);
    expect(await optionsWith(older)).toEqual(options);
    expect(await optionsWith(newer)).not.toEqual(options);
    expect(await archives()).toHaveLength(2);
    expect((await readFile(path.join(directory, 'runs'), 'utf8')).trim().split('\n')).toHaveLength(2);
  });

  it('is done without where Java makes none', async () => {
    expect(await optionsWith(await javaOf('11', false))).toEqual(['-XX:TieredStopAtLevel=1']);
    expect(await archives()).toEqual([]);
  });
});
