/**
 * `npm run setup`: installs the tools that the tests need and this machine lacks, with apt-get, dnf or brew.
 *
 * It says which commands it will run and asks first; --yes does not ask. Without a terminal and without --yes it installs nothing.
 * Exit code 0 if nothing is missing at the end.
 */
import { spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { findManager, installCommands, missingTools, tools } from './tools.ts';

async function mayInstall(isYes: boolean): Promise<boolean> {
  if (isYes) return true;
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('Run these commands now? [y/N] ');
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { yes: { type: 'boolean', default: false } } });
  const missing = missingTools();
  for (const tool of tools) {
    console.log(`${missing.includes(tool) ? '✗' : '✓'} ${tool.name}: for ${tool.neededFor}`);
  }
  if (missing.length === 0) {
    console.log('\nEverything is here. Next: npm test');
    return 0;
  }
  const manager = findManager();
  if (manager === null) {
    console.error(
      '\nFound none of apt-get, dnf and brew. Install what is marked ✗ by hand, and run this again.',
    );
    return 1;
  }
  const commands = installCommands(manager, missing, process.getuid?.() === 0);
  console.log(`\nTo install what is missing:`);
  for (const command of commands) console.log(`  ${command.join(' ')}`);
  if (!(await mayInstall(values.yes))) {
    console.error('\nNothing was installed. Type the commands above, or run: npm run setup -- --yes');
    return 1;
  }
  for (const [program, ...args] of commands) {
    const { status, error } = spawnSync(program, args, { stdio: 'inherit' });
    if (status === 0) continue;
    console.error(`\n${program} failed: ${error?.message ?? `exit code ${status}`}`);
    return 1;
  }
  const left = missingTools(missing);
  for (const tool of left) console.error(`Still not found, though it was installed: ${tool.name}`);
  if (manager === 'brew' && left.length > 0) {
    console.error(
      'brew installs some tools outside of PATH: `brew info NAME` says where. Set BARISTA_CHROMIUM to the browser.',
    );
  }
  return left.length === 0 ? 0 : 1;
}

process.exitCode = await main();
