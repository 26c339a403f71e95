import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stopMsMax } from '../../server/src/main/serve.ts';
import { exitCodes } from '../../server/src/main/errors.ts';
import { textOf } from '../testing/places.ts';

const text = textOf('packaging/systemd/barista.service');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).error === undefined;

/** Its lines by section. */
function sectionsOf(unit: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let now = new Map<string, string>();
  for (const line of unit.split('\n')) {
    const section = /^\[(\w+)\]$/.exec(line)?.[1];
    const setting = /^(\w+)=(.*)$/.exec(line);
    if (section !== undefined) sections.set(section, (now = new Map()));
    else if (setting !== null) {
      const [, key = '', value = ''] = setting;
      expect([key, now.has(key)]).toEqual([key, false]);
      now.set(key, value);
    } else expect(line).toMatch(/^(#.*)?$/);
  }
  return sections;
}

const service = sectionsOf(text).get('Service')!;
const unit = sectionsOf(text).get('Unit')!;

describe('the systemd unit', () => {
  it('starts a replica again whenever it ends, but not one whose configuration is wrong', () => {
    expect(service.get('Restart')).toBe('always');
    expect(unit.get('StartLimitIntervalSec')).toBe('0');
    expect(service.get('RestartPreventExitStatus')).toBe(String(exitCodes.usage));
  });

  it('tells the replica alone to stop, and gives it longer than it gives itself', () => {
    expect(service.get('KillMode')).toBe('mixed');
    expect(Number(service.get('TimeoutStopSec')) * 1000).toBeGreaterThan(stopMsMax);
    expect(Number(service.get('TimeoutStopSec'))).toBeLessThanOrEqual(30);
  });

  it('lets it write where its data is, and nowhere else', () => {
    expect(service.get('ProtectSystem')).toBe('strict');
    const writable = service.get('ReadWritePaths');
    expect(writable).toBe('/var/lib/barista');
    expect(service.get('StateDirectory')).toBe('barista');
    expect(service.get('Environment')).toBe(`XDG_CACHE_HOME=${writable}/cache`);
    for (const key of ['NoNewPrivileges', 'PrivateTmp', 'ProtectHome', 'RestrictSUIDSGID'])
      expect([key, service.get(key)]).toEqual([key, 'true']);
    expect(service.get('CapabilityBoundingSet')).toBe('');
    expect(service.get('User')).not.toBe('root');
  });

  it('does not forbid what Node.js and PostgreSQL cannot do without', () => {
    expect(service.has('MemoryDenyWriteExecute')).toBe(false);
    expect(service.get('RestrictAddressFamilies')!.split(' ')).toEqual(
      expect.arrayContaining(['AF_UNIX', 'AF_INET', 'AF_INET6']),
    );
  });

  it('runs what docs/operations.md installs', () => {
    const [program = '', ...args] = service.get('ExecStart')!.split(' ');
    expect(args).toEqual(['serve', '--config', '/etc/barista/barista.yaml']);
    const guide = textOf('docs/operations.md');
    expect(guide).toContain('npm install --global --prefix /usr/local');
    expect(program).toBe('/usr/local/bin/barista');
    expect(guide).toContain('/etc/barista/barista.yaml');
  });

  it.skipIf(!hasSystemd)('is right in the eyes of systemd', () => {
    const directory = mkdtempSync(join(tmpdir(), 'barista-unit-'));
    const file = join(directory, 'barista.service');
    // The program need not be installed where this is tested, nor its user.
    writeFileSync(
      file,
      text.replace('/usr/local/bin/barista', '/bin/true').replaceAll(/^(User|Group)=.*$/gm, '$1=root'),
    );
    const { stdout, stderr, status } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
    rmSync(directory, { recursive: true });
    const said = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('barista.service'));
    expect([said, status]).toEqual([[], 0]);
  });
});
