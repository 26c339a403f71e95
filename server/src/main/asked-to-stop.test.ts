/** A process of its own asks: the channel is that of a real child. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';

const module = new URL('asked-to-stop.ts', import.meta.url).href;

let child: ChildProcess | null = null;
afterEach(() => void child?.kill('SIGKILL'));

/** It loads its code only when `begin` has come on its input; what it gives as the reason. */
function start(stdio: 'ipc' | 'ignore'): ChildProcess {
  const program = `
    process.stdin.once('data', async () => {
      const { untilAskedToStop } = await import(${JSON.stringify(module)});
      const reason = untilAskedToStop();
      process.stdout.write(await Promise.race([reason, new Promise((r) => setTimeout(r, 1000, 'nothing'))]));
      process.exit();
    });
    process.stdout.write('ready ');
  `;
  child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'inherit', stdio],
  });
  return child;
}

it.each([
  ['the demo went while it was loading its code', true, 'ipc', 'the demo is gone'],
  ['the demo is there', false, 'ipc', 'nothing'],
  ['there is no demo', false, 'ignore', 'nothing'],
] as const)(
  '%s',
  async (_name, goes, stdio, reason) => {
    const asking = start(stdio);
    const said = text(asking.stdout!);
    await once(asking.stdout!, 'data');
    if (goes) asking.disconnect();
    // Until the child has seen it.
    setTimeout(() => asking.stdin!.write('begin'), 500);
    expect(await said).toBe(`ready ${reason}`);
  },
  30_000,
);
