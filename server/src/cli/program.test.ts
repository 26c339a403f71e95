import { resolve } from 'node:path';
import type { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { buildProgram, type Commands } from './program.ts';

/** What the command line asks for, or the message that it ends with. */
async function typed(...words: string[]): Promise<unknown> {
  const calls: unknown[] = [];
  const record =
    (name: string) =>
    async (...args: unknown[]): Promise<void> => {
      calls.push([name, ...args]);
    };
  const commands: Commands = {
    demo: record('demo'),
    serve: record('serve'),
    status: record('status'),
    fault: record('fault'),
  };
  const program = buildProgram(commands, '1.2.3');
  let output = '';
  for (const each of [
    program,
    ...program.commands,
    ...program.commands.flatMap((command) => command.commands),
  ]) {
    each.exitOverride().configureOutput({
      writeOut: (text) => (output += text),
      writeErr: (text) => (output += text),
    });
  }
  try {
    await program.parseAsync(['node', 'barista', ...words]);
  } catch (error) {
    return `${(error as CommanderError).exitCode} ${output}`;
  }
  return calls[0];
}
const here = { dashboardPort: null, dataDir: resolve('.barista') };

describe('the command line', () => {
  it('has the documented defaults', async () => {
    expect(await typed('demo')).toEqual([
      'demo',
      {
        replicas: null,
        dataDir: resolve('.barista'),
        port: 7432,
        dashboardPort: 8080,
        pgBin: null,
        autoRestart: false,
        trace: false,
        dashboard: true,
      },
    ]);
    expect(await typed('status')).toEqual(['status', here, false]);
  });

  it('takes every option of the demo', async () => {
    const words = ['--replicas', '5', '--data-dir', '/d', '--port', '9000', '--dashboard-port', '9500'];
    expect(
      await typed('demo', ...words, '--pg-bin', '/pg/bin', '--auto-restart', '--trace', '--no-dashboard'),
    ).toEqual([
      'demo',
      {
        replicas: 5,
        dataDir: '/d',
        port: 9000,
        dashboardPort: 9500,
        pgBin: '/pg/bin',
        autoRestart: true,
        trace: true,
        dashboard: false,
      },
    ]);
  });

  it.each([
    [['crash', 'r1'], { action: 'crash', replica: 'r1' }],
    [['pause', 'r1'], { action: 'pause', replica: 'r1' }],
    [['resume', 'r1'], { action: 'resume', replica: 'r1' }],
    [['restart', 'r1'], { action: 'restart', replica: 'r1' }],
    [['kill-postgres', 'r2'], { action: 'killPostgres', replica: 'r2' }],
    [['isolate', 'r3'], { action: 'isolate', replica: 'r3' }],
    [['cut', 'r1', 'r2'], { action: 'cut', from: 'r1', to: 'r2' }],
    [['delay', 'r1', 'r2', '250'], { action: 'delay', from: 'r1', to: 'r2', amount: 250 }],
    [['drop', 'r1', 'r2', '0.5'], { action: 'drop', from: 'r1', to: 'r2', amount: 0.5 }],
    [['duplicate', 'r1', 'r2'], { action: 'duplicate', from: 'r1', to: 'r2' }],
    [['heal'], { action: 'heal' }],
  ])('fault %j', async (words, request) => {
    expect(await typed('fault', ...words)).toEqual(['fault', here, request]);
  });

  it('finds the demo where it is told', async () => {
    const target = { dashboardPort: 9500, dataDir: '/d' };
    const where = ['--dashboard-port', '9500', '--data-dir', '/d'];
    expect(await typed('status', '--json', ...where)).toEqual(['status', target, true]);
    expect(await typed('fault', 'heal', ...where)).toEqual(['fault', target, { action: 'heal' }]);
  });

  it.each([
    [['demo', '--replicas', '0'], /from 1 to 9/],
    [['demo', '--port', '7432x'], /from 1 to 65535/],
    [['demo', '--colour'], /unknown option '--colour'[^]*--help/],
    [['serve'], /--config <file>/],
    [['fault', 'drop', 'r1', 'r2', 'much'], /0 or more/],
    [['fault', 'explode', 'r1'], /unknown command/],
    [['fault', 'crash'], /missing required argument 'replica'/],
    [['brew'], /unknown command/],
  ])('says what is wrong with %j', async (words, message) => {
    expect(await typed(...words)).toMatch(message);
    expect(await typed(...words)).toMatch(/^1 /);
  });

  it.each([
    [['--help'], ['barista demo ', 'Exit codes']],
    [
      ['demo', '--help'],
      ['--pg-bin', 'npm start -- --replicas 5', 'Exit codes'],
    ],
    [
      ['serve', '--help'],
      ['clusterSecretFile', 'Exit codes'],
    ],
    [
      ['fault', '--help'],
      ['kill-postgres', 'barista fault heal', 'Exit codes'],
    ],
    [['fault', 'delay', '--help'], ['milliseconds (default 200)']],
  ])('helps: %j', async (words, expected) => {
    const help = String(await typed(...words));
    expect(help).toMatch(/^0 /);
    for (const text of expected) expect(help).toContain(text);
  });
});
