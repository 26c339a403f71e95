/** What docs/operations.md tells newcomers to type, held to what there is. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseReplicaConfig } from '../server/src/config/replica-config.ts';
import { root, textOf } from './testing/places.ts';

const guide = textOf('docs/operations.md');
const chapter = /^## Install on three hosts\n([\s\S]*?)(?=^## )/m.exec(guide)?.[1] ?? '';
const blocks = [...chapter.matchAll(/^```(?:sh)?\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
const { files, version } = JSON.parse(textOf('package.json')) as {
  readonly files: readonly string[];
  readonly version: string;
};

describe('the guide to an installation', () => {
  it('has a configuration that is right on each host', () => {
    const document = /<<EOF\n([\s\S]*?)\nEOF\n/.exec(blocks.join('\n'))?.[1] ?? '';
    for (const id of ['r1', 'r2', 'r3']) {
      const { clusterSecretFile, ...rest } = parse(document.replaceAll('$ID', id)) as Record<string, unknown>;
      expect(clusterSecretFile).toBe('/etc/barista/cluster-secret');
      const config = parseReplicaConfig({ ...rest, clusterSecret: 'a secret of the cluster' }, '/');
      expect([config.id, config.dataDir]).toEqual([id, '/var/lib/barista/data']);
      expect(config.peers.map((peer) => peer.id)).toEqual(['r1', 'r2', 'r3']);
    }
    expect(document).not.toMatch(/\$(?!ID)/);
  });

  it('names the package as it is called', () => {
    expect(blocks.join('\n')).toContain(`barista-${version}.tgz`);
  });

  it('takes no file that is not in the package', () => {
    const named = [...chapter.matchAll(/node_modules\/barista\/(\S+)/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(0);
    for (const path of named) {
      expect([path, existsSync(join(root, path))]).toEqual([path, true]);
      expect(files.some((one) => path.startsWith(`${one}/`))).toBe(true);
    }
  });

  it('founds the group once, by hand, and says so', () => {
    const founding = blocks.flatMap((block) => block.split('\n')).filter((line) => / init /.test(line));
    expect(founding.length).toBe(2);
  });

  it('says for compose what the compose file says of itself', () => {
    const head = textOf('packaging/docker/compose.yaml')
      .split('\n')
      .filter((line) => line.startsWith('#   '))
      .map((line) => line.slice(4));
    expect(head.length).toBeGreaterThan(3);
    for (const line of head) expect(blocks.join('\n')).toContain(line);
  });
});

it('each psql line of the guide names as many hosts as ports, or one of either', () => {
  const lines = [...guide.matchAll(/^psql "host=(\S+) port=(\S+) /gm)];
  expect(lines.length).toBeGreaterThan(1);
  for (const [line, hosts = '', ports = ''] of lines) {
    const [hostCount, portCount] = [hosts, ports].map((list) => list.split(',').length);
    expect([line, portCount === 1 || portCount === hostCount]).toEqual([line, true]);
  }
});
