import { describe, expect, it } from 'vitest';
import { installCommands, managers, missingTools, type Tool, tools } from './tools.ts';

function tool(isHere: boolean, aptName: string, brewName = aptName): Tool {
  return {
    id: 'go',
    name: aptName,
    neededFor: 'a test',
    isHere: () => isHere,
    packages: { 'apt-get': [aptName], dnf: [aptName], brew: [brewName] },
  };
}

describe('tools that the tests need', () => {
  const a = tool(false, 'a');
  const b = tool(true, 'b');
  const browser = tool(false, 'browser', '--cask browser');

  it('are named if they are missing', () => {
    expect(missingTools([a, b, browser])).toEqual([a, browser]);
  });

  it('are installed as root, or by sudo', () => {
    expect(installCommands('dnf', [a, browser], true)).toEqual([['dnf', 'install', '-y', 'a', 'browser']]);
    expect(installCommands('dnf', [a], false)).toEqual([['sudo', 'dnf', 'install', '-y', 'a']]);
    const [update, install] = installCommands('apt-get', [a], false);
    expect(update?.slice(0, 2)).toEqual(['sudo', 'apt-get']);
    expect(install?.slice(0, 3)).toEqual(['sudo', 'env', 'DEBIAN_FRONTEND=noninteractive']);
  });

  it('are installed by brew without root, applications apart from the rest', () => {
    expect(installCommands('brew', [a, browser], false)).toEqual([
      ['brew', 'install', 'a'],
      ['brew', 'install', '--cask', 'browser'],
    ]);
    expect(installCommands('brew', [browser], false)).toEqual([['brew', 'install', '--cask', 'browser']]);
  });

  it('have a package of each package manager', () => {
    for (const { packages } of tools) {
      for (const manager of managers) expect(packages[manager].length).toBeGreaterThan(0);
    }
  });
});
