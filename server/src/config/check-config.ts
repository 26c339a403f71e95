/**
 * How a parsed document becomes the configuration of one replica.
 *
 * Responsible for: telling everything that is wrong at once, and paths. Reads no file.
 * Invariant: a ReplicaConfig that left this module is complete and consistent; every error names its key.
 */
import { resolve } from 'node:path';
import { checkShape } from '../shapes/check-shape.ts';
import { type Path, valueAt } from '../shapes/json-shape.ts';
import { ConfigError } from './config-error.ts';
import { type RawConfig, replicaConfigSchema } from './config-schema.ts';
import { type ConfigParts, relationProblems } from './relations.ts';
import type { ReplicaConfig } from './replica-config.ts';

export interface ConfigSource {
  /** What relative paths are relative to. */
  readonly baseDir: string;
  /** Names the file in errors. */
  readonly source: string;
  /** @throws ConfigError */
  readonly readSecret: (file: string, source: string) => string;
}

/** Checks a parsed document. @throws ConfigError naming every key that is wrong */
export function checkConfig(document: unknown, { baseDir, source, readSecret }: ConfigSource): ReplicaConfig {
  const { clusterSecret, clusterSecretFile, ...rest } = checked(document, source);
  const { pgBin, settings } = rest.postgres;
  return {
    ...rest,
    dataDir: resolve(baseDir, rest.dataDir),
    pgwire: pgwireWithPaths(rest.pgwire, baseDir),
    ...(rest.archive === undefined ? {} : { archive: placed(rest.archive, baseDir) }),
    ...(rest.backup === undefined ? {} : { backup: placed(rest.backup, baseDir) }),
    ...(rest.peerTls === undefined ? {} : { peerTls: withPaths(rest.peerTls, baseDir) }),
    http: {
      ...rest.http,
      ...(rest.http.tls === undefined ? {} : { tls: absolute(rest.http.tls, baseDir) }),
      ...(rest.http.tokenFile === undefined ? {} : { tokenFile: resolve(baseDir, rest.http.tokenFile) }),
    },
    postgres: {
      settings,
      ...(pgBin === undefined ? {} : { pgBin: resolve(baseDir, pgBin) }),
    },
    clusterSecret: clusterSecret ?? readSecret(resolve(baseDir, clusterSecretFile ?? ''), source),
  };
}

function placed<Part extends { readonly directory: string }>(part: Part, baseDir: string): Part {
  return { ...part, directory: resolve(baseDir, part.directory) };
}

function pgwireWithPaths({ tls, ...rest }: RawConfig['pgwire'], baseDir: string): RawConfig['pgwire'] {
  if (tls === undefined) return rest;
  const { certificate, key, clientAuthority } = tls;
  return {
    ...rest,
    tls: {
      certificate: resolve(baseDir, certificate),
      key: resolve(baseDir, key),
      ...(clientAuthority === undefined ? {} : { clientAuthority: resolve(baseDir, clientAuthority) }),
    },
  };
}

/** @throws ConfigError with everything that is wrong */
function checked(document: unknown, source: string): RawConfig {
  const shape = checkShape(replicaConfigSchema, document, '(whole file)');
  const wrong = shape.ok ? [] : shape.problems;
  const broken = wrong.map(({ path }) => path);
  const parts = shape.ok ? shape.value : rightParts(document, broken);
  const problems = [...wrong, ...relationProblems(parts, broken)];
  if (shape.ok && problems.length === 0) return shape.value;
  throw new ConfigError(`${source} is not valid:\n${problems.map(({ text }) => `  ${text}`).join('\n')}`);
}

/** What can be judged of a configuration though something in it is wrong. */
function rightParts(document: unknown, broken: readonly Path[]): ConfigParts {
  const rest: unknown = structuredClone(document);
  for (const path of broken) {
    const parent = valueAt(rest, path.slice(0, -1));
    const key = path.at(-1);
    if (typeof parent === 'object' && parent !== null && key !== undefined)
      Reflect.deleteProperty(parent, key);
  }
  const parts = Object.entries(replicaConfigSchema.shape).map(([key, shape]) => {
    const part = shape.safeParse(valueAt(rest, [key]));
    return [key, part.success ? part.data : undefined] as const;
  });
  return Object.fromEntries(parts) as ConfigParts;
}

function withPaths(
  { required, ...files }: NonNullable<RawConfig['peerTls']>,
  baseDir: string,
): NonNullable<RawConfig['peerTls']> {
  return { required, ...absolute(files, baseDir) };
}

function absolute<T extends Readonly<Record<string, string | undefined>>>(paths: T, baseDir: string): T {
  const entries = Object.entries(paths).map(([key, path = '']) => [key, resolve(baseDir, path)]);
  return Object.fromEntries(entries) as T;
}
