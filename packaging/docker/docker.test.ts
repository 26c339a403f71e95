import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseReplicaConfig, type ReplicaConfig } from '../../server/src/config/replica-config.ts';
import { stopMsMax } from '../../server/src/main/serve.ts';
import {
  composeDir,
  configFileOf,
  mountsOf,
  portsOf,
  readCompose,
  type Service,
} from '../testing/compose.ts';
import { readDockerfile, textsOf, wordsOf } from '../testing/dockerfile.ts';
import { root, textOf } from '../testing/places.ts';

const stages = readDockerfile(textOf(`${composeDir}/Dockerfile`));
const build = stages.find(({ name }) => name === 'build')!;
const image = stages.at(-1)!;
const manifest = JSON.parse(textOf('package.json')) as {
  readonly bin: { readonly barista: string };
  readonly scripts: Readonly<Record<string, string>>;
  readonly files: readonly string[];
};
const compose = readCompose();
const services = Object.entries(compose.services);

function configOf(service: Service): ReplicaConfig {
  const document = parse(textOf(configFileOf(service))) as Record<string, unknown>;
  const { clusterSecretFile, ...rest } = document;
  expect(clusterSecretFile).toBe('/run/secrets/cluster-secret');
  return parseReplicaConfig({ ...rest, clusterSecret: 'a secret of the cluster' }, '/');
}

describe('the image', () => {
  it('is made of files that there are, and that its context has', () => {
    const ignored = textOf(`${composeDir}/Dockerfile.dockerignore`);
    const allowed = new Set(ignored.split('\n'));
    const copies = stages
      .flatMap((stage) => textsOf(stage, 'COPY'))
      .map((text) => {
        const words = text.split(' ');
        const from = /^--from=(\S+)$/.exec(words[0]!)?.[1];
        return { from, sources: words.slice(from === undefined ? 0 : 1, -1) };
      });
    const ofContext = copies.filter(({ from }) => from === undefined).flatMap(({ sources }) => sources);
    expect(ofContext.length).toBeGreaterThan(0);
    expect(
      ofContext.filter((source) => !existsSync(join(root, source)) || !allowed.has(`!${source}`)),
    ).toEqual([]);
    const ofStages = copies.filter(({ from }) => from !== undefined);
    expect(new Set(ofStages.map(({ from }) => from))).toEqual(new Set([build.name]));
    expect(new Set(ofStages.flatMap(({ sources }) => sources))).toEqual(
      new Set(['/build/server/dist', '/build/dashboard/dist']),
    );
  });

  it('has all that the installed package has that a replica runs', () => {
    const copied = textsOf(image, 'COPY').map((text) => text.split(' ').at(-1));
    for (const path of ['bin', 'server/dist', 'dashboard/dist']) {
      expect(copied).toContain(path);
      expect(manifest.files).toContain(path);
    }
    expect(textsOf(build, 'RUN').join('\n')).toContain('npm run build');
    expect(manifest.scripts['build']).toBeDefined();
  });

  it('is built and run by a Node.js that Barista runs on', () => {
    const majors = stages.map((stage) => Number(/^node:(\d+)-/.exec(stage.image)?.[1]));
    expect(new Set(majors).size).toBe(1);
    expect([22, 24]).toContain(majors[0]);
    // PostgreSQL comes along for the C library of GNU.
    for (const stage of stages) expect(stage.image).not.toContain('alpine');
  });

  it('runs the command as nobody in particular, behind an init that passes signals on', () => {
    expect(textsOf(image, 'USER').at(-1)).toBe('barista');
    expect(wordsOf(image, 'ENTRYPOINT')).toEqual(['tini', '--', 'barista']);
    expect(wordsOf(image, 'CMD')).toEqual(['serve', '--config', '/etc/barista/barista.yaml']);
    const runs = textsOf(image, 'RUN').join('\n');
    expect(runs).toContain('tini');
    const workdir = textsOf(image, 'WORKDIR')[0];
    expect(runs).toContain(`ln -s ${workdir}/${manifest.bin.barista} /usr/local/bin/barista`);
    expect(existsSync(join(root, manifest.bin.barista))).toBe(true);
  });

  it('keeps its data above the directory of a replica, and belongs to who runs it', () => {
    expect(textsOf(image, 'VOLUME')).toEqual(['/var/lib/barista']);
    expect(textsOf(image, 'RUN').join('\n')).toContain(
      'install -d -o barista -g barista -m 0750 /var/lib/barista',
    );
    for (const [, service] of services)
      expect(configOf(service).dataDir).toMatch(/^\/var\/lib\/barista\/[^/]+$/);
  });

  it('says whether it lives by a route that there is, at the port that the configurations have', () => {
    const [health = ''] = textsOf(image, 'HEALTHCHECK');
    const [, port, path] = /http:\/\/127\.0\.0\.1:(\d+)(\/\w+)/.exec(health) ?? [];
    for (const [, service] of services) expect(configOf(service).http.port).toBe(Number(port));
    expect(textOf('server/src/gateways/http/http-gateway.ts')).toContain(`'${path}'`);
  });
});

describe('the compose file', () => {
  it('has three replicas that know each other, each with its own name and volume', () => {
    const names = services.map(([name]) => name);
    expect(names).toEqual(['r1', 'r2', 'r3']);
    for (const [name, service] of services) {
      const { id, peers } = configOf(service);
      expect([name, id, peers.map((peer) => peer.id)]).toEqual([name, name, names]);
      for (const peer of peers) expect([peer.host, peer.pgwire.host]).toEqual([peer.id, peer.id]);
      const volumes = mountsOf(service).filter(({ isVolume }) => isVolume);
      expect(volumes).toEqual([{ source: name, target: '/var/lib/barista', isVolume: true }]);
    }
    expect(Object.keys(compose.volumes)).toEqual(names);
  });

  it('has configurations that differ in the name alone', () => {
    const texts = services.map(([name, service]) =>
      textOf(configFileOf(service)).replace(`id: ${name}\n`, ''),
    );
    expect(new Set(texts).size).toBe(1);
  });

  it('publishes ports that are listened on, each once, to this machine alone', () => {
    const exposed = textsOf(image, 'EXPOSE')[0]!.split(' ').map(Number);
    const hosts: number[] = [];
    for (const [, service] of services) {
      const { peerListen, pgwire, http } = configOf(service);
      expect([pgwire.port, peerListen.port, http.port]).toEqual(exposed);
      const ports = portsOf(service);
      expect(ports.map(({ container }) => container)).toEqual([pgwire.port, http.port]);
      expect(ports.map(({ on }) => on)).toEqual(['127.0.0.1', '127.0.0.1']);
      hosts.push(...ports.map(({ host }) => host));
    }
    expect(new Set(hosts).size).toBe(hosts.length);
  });

  it('starts what has ended again, and waits for what is to stop', () => {
    for (const [, { restart, stop_grace_period: grace, secrets }] of services) {
      expect(restart).toBe('unless-stopped');
      expect(Number.parseInt(grace, 10) * 1000).toBeGreaterThan(stopMsMax);
      expect(secrets).toEqual(Object.keys(compose.secrets));
    }
  });

  it('is built from the Dockerfile beside it, and never founds a group by itself', () => {
    const builds = services.flatMap(([, service]) => (service.build === undefined ? [] : [service.build]));
    expect(builds).toEqual([{ context: '../..', dockerfile: 'packaging/docker/Dockerfile' }]);
    expect(new Set(services.map(([, service]) => service.image)).size).toBe(1);
    for (const [, { command = [] }] of services) expect(command).not.toContain('init');
  });

  it('keeps its secret out of the repository, the image and the package', () => {
    const [{ file }] = Object.values(compose.secrets) as [{ readonly file: string }];
    const name = file.replace('./', '');
    expect(textOf(`${composeDir}/.gitignore`).split('\n')).toContain(name);
    expect(textOf(`${composeDir}/Dockerfile.dockerignore`).split('\n')[0]).toBe('*');
    expect(manifest.files).toContain(`!${composeDir}/${name}`);
  });
});
