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
    healAll: record('healAll'),
    certificates: record('certificates'),
    init: record('init'),
    initOnDatabase: record('initOnDatabase'),
    members: record('members'),
    transferLeadership: record('transferLeadership'),
    endSession: record('endSession'),
    verify: record('verify'),
    backup: record('backup'),
    listBackups: record('listBackups'),
    verifyBackup: record('verifyBackup'),
    doctor: record('doctor'),
    restore: record('restore'),
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
        port: null,
        dashboardPort: 8080,
        thriftPort: null,
        pgBin: null,
        autoRestart: false,
        trace: false,
        check: false,
        logBytesMax: null,
        clientsMax: null,
        electionTimeoutMs: null,
        commitPoint: null,
        groupCommit: null,
        replication: null,
        logStore: null,
        payload: null,
        protocol: null,
        dashboard: true,
        load: true,
      },
    ]);
    expect(await typed('status')).toEqual(['status', here, false]);
  });

  it('takes every option of the demo', async () => {
    const words = [
      '--replicas',
      '5',
      '--data-dir',
      '/d',
      '--port',
      '9000',
      '--dashboard-port',
      '9500',
      '--thrift-port',
      '9600',
    ];
    const more = [
      '--pg-bin',
      '/pg/bin',
      '--auto-restart',
      '--trace',
      '--check',
      '--no-dashboard',
      '--no-load',
    ];
    const logs = [
      '--clients-max',
      '300',
      '--election-timeout',
      '600',
      '--commit-point',
      'synchronous',
      '--group-commit',
      'adaptive',
      '--replication',
      'semi',
      '--log-bytes-max',
      '1048576',
      '--log-store',
      'zookeeper',
      '--zookeeper',
      'zk1:2181,zk2:2181',
    ];
    expect(await typed('demo', ...words, ...more, ...logs)).toEqual([
      'demo',
      {
        replicas: 5,
        dataDir: '/d',
        port: 9000,
        dashboardPort: 9500,
        thriftPort: 9600,
        pgBin: '/pg/bin',
        autoRestart: true,
        trace: true,
        check: true,
        logBytesMax: 2 ** 20,
        clientsMax: 300,
        electionTimeoutMs: 600,
        commitPoint: 'synchronous',
        groupCommit: 'adaptive',
        replication: 'semi',
        logStore: { kind: 'zookeeper', servers: ['zk1:2181', 'zk2:2181'] },
        payload: null,
        protocol: null,
        dashboard: false,
        load: false,
      },
    ]);
  });

  it.each([
    [[], null],
    [['--log-store', 'segment'], { kind: 'segment' }],
    [['--log-store', 'zookeeper'], { kind: 'zookeeper', servers: null }],
    [['--zookeeper', 'zk1:2181'], { kind: 'zookeeper', servers: ['zk1:2181'] }],
  ])('demo %j keeps its logs in %j', async (words, logStore) => {
    expect(await typed('demo', ...words)).toMatchObject(['demo', { logStore }]);
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
    [['cut', 'r1', 'r2', '0'], { action: 'cut', from: 'r1', to: 'r2', amount: 0 }],
    [['duplicate', 'r1', 'r2', '1'], { action: 'duplicate', from: 'r1', to: 'r2', amount: 1 }],
    [['wipe', 'r2'], { action: 'wipe', replica: 'r2', what: 'both' }],
    [['wipe', 'r2', '--log'], { action: 'wipe', replica: 'r2', what: 'log' }],
    [['wipe', 'r2', '--database'], { action: 'wipe', replica: 'r2', what: 'database' }],
    [['crash', 'r1', '--force'], { action: 'crash', replica: 'r1', force: true }],
    [['pause', 'r1', '--force'], { action: 'pause', replica: 'r1', force: true }],
    [['wipe', 'r2', '--log', '--force'], { action: 'wipe', replica: 'r2', what: 'log', force: true }],
    [['heal'], { action: 'heal' }],
  ])('fault %j', async (words, request) => {
    expect(await typed('fault', ...words)).toEqual(['fault', here, request]);
  });

  it('finds the demo where it is told', async () => {
    const target = { dashboardPort: 9500, dataDir: '/d' };
    const where = ['--dashboard-port', '9500', '--data-dir', '/d'];
    expect(await typed('status', '--json', ...where)).toEqual(['status', target, true]);
    expect(await typed('fault', 'heal', ...where)).toEqual(['fault', target, { action: 'heal' }]);
    expect(await typed('fault', 'heal', '--all', ...where)).toEqual(['healAll', target]);
  });

  const replica = { kind: 'replica', configFile: '/r1.yaml' };
  const config = ['--config', '/r1.yaml'];
  const demo = { kind: 'demo', target: here };
  const where = ['--host', 'db4', '--port', '7532', '--pgwire-port', '7432'];
  const address = { host: 'db4', port: 7532, pgwire: { host: 'db4', port: 7432 } };
  it.each([
    [
      ['init', ...config],
      ['init', '/r1.yaml', null],
    ],
    [
      ['init', '--keep-database', ...config],
      ['initOnDatabase', '/r1.yaml', false],
    ],
    [
      ['init', '--keep-database', '--yes', ...config],
      ['initOnDatabase', '/r1.yaml', true],
    ],
    [['members'], ['members', demo, { action: 'list', json: false }]],
    [
      ['leader', 'transfer'],
      ['transferLeadership', demo, { to: null, transactionMs: 1000 }],
    ],
    [
      ['leader', 'transfer', '--to', 'r2', '--wait-ms', '50', ...config],
      ['transferLeadership', replica, { to: 'r2', transactionMs: 50 }],
    ],
    [
      ['sessions', 'end', '4711', ...config],
      ['endSession', replica, 4711],
    ],
    [
      ['members', 'list', '--json', ...config],
      ['members', replica, { action: 'list', json: true }],
    ],
    [
      ['members', 'add', 'r4', ...where, ...config],
      ['members', replica, { action: 'add', replica: 'r4', address }],
    ],
    [
      ['members', 'add', 'r4', ...where, '--pgwire-host', 'front', ...config],
      [
        'members',
        replica,
        { action: 'add', replica: 'r4', address: { ...address, pgwire: { host: 'front', port: 7432 } } },
      ],
    ],
    [
      ['members', 'remove', 'r3', ...config],
      ['members', replica, { action: 'remove', replica: 'r3' }],
    ],
    [
      ['members', 'replace', 'r3', 'r4', ...where, '--wait', '5', ...config],
      ['members', replica, { action: 'replace', old: 'r3', replica: 'r4', address, waitMinutes: 5 }],
    ],
    [
      ['members', 'list', '--url', 'https://db1:8081', '--token-file', '/t', '--authority', '/a'],
      [
        'members',
        { kind: 'url', url: new URL('https://db1:8081'), tokenFile: '/t', authority: '/a' },
        { action: 'list', json: false },
      ],
    ],
    [
      ['certificates', ...config, '--directory', '/c', '--renew', '--only', 'r2', '--days', '30'],
      ['certificates', { configFile: '/r1.yaml', directory: '/c', days: 30, renew: true, only: 'r2' }],
    ],
    [['verify'], ['verify', demo, { repair: false, json: false }]],
    [
      ['verify', '--repair', '--json', ...config],
      ['verify', replica, { repair: true, json: true }],
    ],
    [
      ['backup', '/b', ...config],
      ['backup', replica, '/b', false],
    ],
    [
      ['backup', '/b', '--replace'],
      ['backup', demo, '/b', true],
    ],
    [
      ['restore', '/b', ...config],
      ['restore', '/r1.yaml', { file: '/b', archive: null, target: { kind: 'end' } }],
    ],
    [
      ['restore', '/b', ...config, '--archive', '/wal', '--time', '2026-05-04 12:30+02:00'],
      [
        'restore',
        '/r1.yaml',
        { file: '/b', archive: '/wal', target: { kind: 'time', at: new Date('2026-05-04T10:30:00Z') } },
      ],
    ],
    [
      ['doctor', '--json', ...config],
      ['doctor', '/r1.yaml', true],
    ],
    [
      ['backup', 'list', '/b', '--json'],
      ['listBackups', '/b', null, true],
    ],
    [
      ['backup', 'list', ...config],
      ['listBackups', null, '/r1.yaml', false],
    ],
    [
      ['backup', 'verify', '/b', '--archive', '/wal', '--pg-bin', '/bin', '--work-directory', '/w'],
      ['verifyBackup', { file: '/b', configFile: null, archive: '/wal', pgBin: '/bin', workDirectory: '/w' }],
    ],
    [
      ['backup', 'verify', ...config],
      [
        'verifyBackup',
        { file: null, configFile: '/r1.yaml', archive: null, pgBin: null, workDirectory: null },
      ],
    ],
    [
      ['backup', 'take', '/list', ...config],
      ['backup', replica, '/list', false],
    ],
    [
      ['restore', '/b', ...config, '--label', 'before'],
      ['restore', '/r1.yaml', { file: '/b', archive: null, target: { kind: 'label', name: 'before' } }],
    ],
    [
      ['restore', '/b', ...config, '--position', '0/3000060'],
      ['restore', '/r1.yaml', { file: '/b', archive: null, target: { kind: 'position', at: 0x3000060 } }],
    ],
  ])('operators: %j', async (words, call) => {
    expect(await typed(...words)).toEqual(call);
  });

  it.each([
    [['demo', '--replicas', '0'], /from 1 to 9/],
    [['demo', '--port', '7432x'], /from 1 to 65535/],
    [['demo', '--log-store', 'tape'], /Allowed choices are segment, zookeeper/],
    [['demo', '--zookeeper', 'zk1'], /must be host:port/],
    [['demo', '--zookeeper', 'zk1:2181,'], /must be host:port/],
    [
      ['demo', '--log-store', 'segment', '--zookeeper', 'zk1:2181'],
      /cannot be used with '--log-store segment'/,
    ],
    [['demo', '--colour'], /unknown option '--colour'[^]*--help/],
    [['serve'], /--config <file>/],
    [['fault', 'drop', 'r1', 'r2', 'much'], /a number from 0 to 1\./],
    [['fault', 'delay', 'r1', 'r2', '60001'], /a number from 0 to 60000\./],
    [['fault', 'cut', 'r1', 'r2', '0.5'], /must be 0 or 1\./],
    [
      ['fault', 'delay', 'r1', 'r2'],
      /missing required argument 'ms'[^]*Usage: barista fault delay \[options\] <from> <to> <ms>[^]*milliseconds/,
    ],
    [['fault', 'drop', 'r1', 'r2'], /missing required argument 'share'[^]*Usage: barista fault drop/],
    [['fault', 'duplicate', 'r1', 'r2'], /missing required argument 'share'/],
    [['fault', 'explode', 'r1'], /unknown command/],
    [['fault', 'crash'], /missing required argument 'replica'/],
    [['fault', 'wipe', 'r1', '--log', '--database'], /cannot be used with/],
    [['init'], /--config <file>/],
    [['init', '--yes', ...config], /--yes is for --keep-database/],
    [['restore', '/b'], /--config <file>/],
    [['restore', '/b', ...config, '--time', '2026-05-04T10:30'], /must be a time with its zone/],
    [['restore', '/b', ...config, '--time', '2026-13-04T10:30Z'], /must be a time with its zone/],
    [['restore', '/b', ...config, '--position', '3000060'], /must be a position in the WAL/],
    [['restore', '/b', ...config, '--time', '2026-05-04T10:30Z', '--position', '0/1'], /cannot be used with/],
    [['restore', '/b', ...config, '--label', 'x', '--position', '0/1'], /cannot be used with/],
    [['doctor'], /--config <file>/],
    [['backup'], /missing required argument 'file'/],
    [['backup', 'verify'], /give a backup, or --config/],
    [['backup', 'list', '/b', ...config], /give a directory, or --config/],
    [['members', 'add', 'r4', '--host', 'db4', '--port', '7532'], /--pgwire-port <port>/],
    [
      ['members', 'add', 'r4', '--host', '10.0.0.256', '--port', '7532', '--pgwire-port', '7432'],
      /must be an address .* or a name/,
    ],
    [['leader', 'transfer', '--to', 'r3.2'], /must start with a letter/],
    [['members', 'remove', 'r3.2'], /must start with a letter/],
    [['verify', ...config, '--dashboard-port', '8080'], /cannot be used with/],
    [['verify', ...config, '--url', 'https://db1:8081'], /cannot be used with/],
    [['verify', '--url', 'db1:8081'], /must be http:\/\/HOST:PORT/],
    [['verify', '--url', 'https://db1:8081/?token=x'], /and nothing more/],
    [['verify', '--url', 'https://me:secret@db1:8081'], /and nothing more/],
    [['certificates', ...config], /--directory <dir>/],
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
      ['kill-postgres', 'barista fault wipe r2', 'barista fault heal', 'Exit codes'],
    ],
    [
      ['fault', 'wipe', '--help'],
      ['--log', '--database', 'a majority is data loss'],
    ],
    [
      ['init', '--help'],
      ['ONE replica', 'barista serve --config r2.yaml', 'Exit codes'],
    ],
    [
      ['members', '--help'],
      ['barista members replace r3 r4', 'Exit codes'],
    ],
    [['members', 'replace', '--help'], ['nothing was removed']],
    [
      ['doctor', '--help'],
      ['need not run', '2 errors'],
    ],
    [
      ['backup', '--help'],
      ['verify', 'list', 'Exit codes'],
    ],
    [
      ['backup', 'verify', '--help'],
      ['amcheck', '--work-directory'],
    ],
    [
      ['verify', '--help'],
      ['--repair', 'Exit code 5'],
    ],
    [
      ['restore', '--help'],
      ['must be empty', 'Exit codes'],
    ],
    [['fault', 'delay', '--help'], ['milliseconds, 0 to 60000']],
  ])('helps: %j', async (words, expected) => {
    const help = String(await typed(...words));
    expect(help).toMatch(/^0 /);
    for (const text of expected) expect(help).toContain(text);
  });
});
