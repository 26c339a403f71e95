/** A process of its own asks, and serves: the channel is that of a real child. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { stringify } from 'yaml';

const moduleOf = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);

let child: ChildProcess | null = null;
afterEach(() => void child?.kill('SIGKILL'));

/** It says `ready`, and does that when `begin` has come on its input. */
function start(stdio: 'ipc' | 'ignore', work: string): ChildProcess {
  const program = `
    process.stdin.once('data', async () => {
      ${work}
      process.exit();
    });
    process.stdout.write('ready ');
  `;
  child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'inherit', stdio],
  });
  return child;
}

/** All that it says; `goes`: the channel is closed before it begins. */
async function saidBy(asking: ChildProcess, goes: boolean): Promise<string> {
  const said = text(asking.stdout!);
  await once(asking.stdout!, 'data');
  if (goes) asking.disconnect();
  // Until the child has seen it.
  setTimeout(() => asking.stdin!.write('begin'), 500);
  return said;
}

it.each([
  ['the demo went while it was loading its code', true, 'ipc', 'the demo is gone'],
  ['the demo is there', false, 'ipc', 'nothing'],
  ['there is no demo', false, 'ignore', 'nothing'],
] as const)('%s', async (_name, goes, stdio, reason) => {
  const asking = start(
    stdio,
    `const { untilAskedToStop } = await import(${moduleOf('asked-to-stop.ts')});
     const reason = untilAskedToStop();
     process.stdout.write(await Promise.race([reason, new Promise((r) => setTimeout(r, 1000, 'nothing'))]));`,
  );
  expect(await saidBy(asking, goes)).toBe(`ready ${reason}`);
});

it('a replica whose demo went while it was loading its code takes no port', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'barista-asked-'));
  try {
    const config = join(dir, 'r1.yaml');
    writeFileSync(
      config,
      stringify({
        group: 'main',
        id: 'r1',
        dataDir: dir,
        peers: [{ id: 'r1', host: '127.0.0.1', port: 1, pgwire: { host: '127.0.0.1', port: 2 } }],
        peerListen: { host: '127.0.0.1', port: 1 },
        clusterSecret: 'x'.repeat(32),
        pgwire: { host: '127.0.0.1', port: 2 },
        http: { host: '127.0.0.1', port: 3 },
      }),
    );
    const asking = start(
      'ipc',
      `const { serve } = await import(${moduleOf('serve.ts')});
       const code = await serve(${JSON.stringify(config)}, () => {
         throw new Error('it was started');
       });
       process.stdout.write(' code ' + code);`,
    );
    expect(await saidBy(asking, true)).toMatch(/"the demo is gone","msg":"not started".*code 0$/s);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
