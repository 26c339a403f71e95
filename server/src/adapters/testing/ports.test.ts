import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { freePort, freePorts } from './ports.ts';

/** Another process: asks for so many, says which it was given, and holds them until it is killed. */
async function portsOfAnother(asked: readonly number[]): Promise<readonly number[]> {
  const program = `
    const { freePorts } = await import(${JSON.stringify(join(import.meta.dirname, 'ports.ts'))});
    const given = [];
    for (const count of ${JSON.stringify(asked)}) {
      const first = await freePorts(count);
      for (let port = first; port < first + count; port += 1) given.push(port);
    }
    console.log(JSON.stringify(given));
    process.stdin.resume();`;
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', program],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = (await once(child.stdout!, 'data')) as [Buffer];
  return JSON.parse(said.toString()) as number[];
}

it('processes that ask at the same time are given ports of their own', async () => {
  const asked = [220, 1, 220, 30, 220];
  const given = await Promise.all([1, 2, 3, 4].map(() => portsOfAnother(asked)));
  const all = given.flat();
  expect(all).toHaveLength(4 * 691);
  expect(new Set(all).size).toBe(all.length);
  const [one, more] = await Promise.all([freePort(), freePorts(220)]);
  expect(all).not.toContain(one);
  for (let port = more; port < more + 220; port += 1) expect(all).not.toContain(port);
});

it('a port is not given out again while there are others', async () => {
  const given = new Set<number>();
  for (let n = 0; n < 1_000; n += 1) given.add(await freePort());
  expect(given.size).toBe(1_000);
});

it('more ports in a row than a block has are refused', () => {
  expect(() => freePorts(250)).toThrow('250 ports in a row are more than a block has');
});
