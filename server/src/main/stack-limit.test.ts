import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { checkStack } from './stack-limit.ts';

it('a stack that PostgreSQL would refuse is refused with words', () => {
  expect(() => checkStack(2048, 1024)).toThrow(/limited to 1024 kB, and payload: statements needs 2560 kB/);
  expect(() => checkStack(2048, 2559)).toThrow('ulimit -s 8192');
  for (const enough of [2560, 8192, null]) expect(() => checkStack(2048, enough)).not.toThrow();
});

it('the limit of a process is known', async () => {
  const module = JSON.stringify(new URL('stack-limit.ts', import.meta.url).href);
  const script = `import(${module}).then(({ stackKbMax }) => console.log(stackKbMax()))`;
  const command = 'ulimit -s 1024; exec "$0" --import tsx -e "$1"';
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, script]);
  expect(stdout).toBe('1024\n');
});
