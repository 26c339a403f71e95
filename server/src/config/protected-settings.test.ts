import { expect, it } from 'vitest';
import { gateSettings } from '../adapters/postgres/instance/settings.ts';
import { configOfOne } from '../main/testing/config-of-one.ts';
import { protectedSettings } from './protected-settings.ts';
import { parseReplicaConfig } from './replica-config.ts';

it('nobody can configure what safety rests on', () => {
  const gate = Object.keys(gateSettings({ socketDir: '/s', majorVersion: 18 }));
  expect(gate.filter((name) => !protectedSettings.includes(name))).toEqual([]);
});

it('nobody can configure a standby that promotes itself or stops, files elsewhere, or damage that is passed over', () => {
  const settings = {
    recovery_target_lsn: '0/3000060',
    recovery_target_action: 'promote',
    recovery_min_apply_delay: '1h',
    hba_file: '/etc/pg_hba.conf',
    zero_damaged_pages: 'on',
    include: '/tmp/other.conf',
    include_if_exists: '/tmp/other.conf',
    include_dir: '/tmp/others',
    work_mem: '8MB',
  };
  const document = { ...configOfOne('/data'), postgres: { settings } };
  const words = 'is set by Barista and cannot be given';
  const refused = Object.entries(settings)
    .slice(0, 8)
    .map(([key, value]) => `  postgres.settings.${key}: ${words}, and is "${value}"`);
  expect(() => parseReplicaConfig(document, '/')).toThrow(
    ['configuration is not valid:', ...refused].join('\n'),
  );
});
