/**
 * `npm run upgrade-test [-- --commit COMMIT]`: three replicas of the previous release are replaced by this build one after the other, under load, and one of them back and forth again.
 *
 * The previous release is the commit in previous-release.json, which is built in a temporary directory. Needs `npm run build`, and psql. Exit codes: 0 nothing was lost, 1 something was, or it did not go on.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BIN } from '../cluster/local-cluster.ts';
import { ServedGroup } from '../cluster/served-group.ts';
import { buildPrevious } from './previous-build.ts';
import { roll } from './roll.ts';

const recorded = JSON.parse(readFileSync(new URL('./previous-release.json', import.meta.url), 'utf8')) as {
  readonly commit: string;
  readonly why: string;
};
const built = fileURLToPath(new URL('../../server/dist/cli/main.js', import.meta.url));
const say = (line: string): void => console.log(line);

async function main(commit: string): Promise<number> {
  if (!existsSync(built)) {
    console.error('This tree is not built: npm run build:server');
    return 1;
  }
  say(`The previous release: ${commit}. ${commit === recorded.commit ? recorded.why : ''}`);
  const previous = await buildPrevious(commit, say);
  try {
    const group = await ServedGroup.found({}, { bin: previous.bin });
    try {
      say(`${group.ids.length} replicas of it serve; clients write through all of them.`);
      const builds = {
        previous: { name: commit.slice(0, 7), bin: previous.bin },
        next: { name: 'this build', bin: BIN },
      };
      const { lines, faults } = await roll(group, builds, say);
      for (const line of [...lines, ...faults]) say(line);
      say(faults.length === 0 ? 'Nothing was lost, and nothing made up.' : `${faults.length} faults.`);
      return faults.length === 0 ? 0 : 1;
    } finally {
      await group.stop();
    }
  } finally {
    await previous.remove();
  }
}

const { values } = parseArgs({ options: { commit: { type: 'string', default: recorded.commit } } });
process.exitCode = await main(values.commit);
