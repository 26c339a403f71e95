import { expect, it } from 'vitest';
import { gateSettings } from '../adapters/postgres/instance/settings.ts';
import { protectedSettings } from './protected-settings.ts';

it('nobody can configure what safety rests on', () => {
  const gate = Object.keys(gateSettings({ socketDir: '/s', majorVersion: 18 }));
  expect(gate.filter((name) => !protectedSettings.includes(name))).toEqual([]);
});
