/**
 * The configuration of one replica: how the YAML of `barista serve --config FILE` becomes it.
 *
 * Responsible for: telling everything that is wrong at once, paths, and the secret. Reads no file except through
 * `loadReplicaConfig`. Invariant: a ReplicaConfig that left this module is complete and consistent; every error names its key.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Document, LineCounter, parseDocument } from 'yaml';
import { checkShape } from '../shapes/check-shape.ts';
import { type Path, valueAt } from '../shapes/json-shape.ts';
import { type RawConfig, replicaConfigSchema } from './config-schema.ts';
import { type ConfigParts, relationProblems } from './relations.ts';

/** What a replica runs with. Paths are absolute; the secret has been read. */
export type ReplicaConfig = Readonly<Omit<RawConfig, 'clusterSecret' | 'clusterSecretFile'>> & {
  readonly clusterSecret: string;
};

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'configInvalid';
}

/**
 * Checks a parsed document. `baseDir`: what relative paths are relative to. `source` names the file in errors.
 * @throws ConfigError naming every key that is wrong
 */
export function parseReplicaConfig(
  document: unknown,
  baseDir: string,
  source = 'configuration',
): ReplicaConfig {
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

function readSecret(file: string, source: string): string {
  let secret: string;
  try {
    secret = readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new ConfigError(`${source} is not valid:\n  clusterSecretFile: cannot read ${file}`, { cause });
  }
  if (secret.length < 16) {
    throw new ConfigError(
      `${source} is not valid:\n  clusterSecretFile: ${file} holds fewer than 16 characters`,
    );
  }
  return secret;
}

/** Reads and checks a YAML file. @throws ConfigError */
export function loadReplicaConfig(file: string): ReplicaConfig {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new ConfigError(`cannot read ${file}: ${(cause as Error).message}`, { cause });
  }
  const document = parseDocument(text, {
    lineCounter: new LineCounter(),
    prettyErrors: true,
    uniqueKeys: true,
  });
  if (document.errors.length > 0) {
    // Their first lines: what follows shows the file, which may hold secrets.
    const lines = document.errors.map(({ message }) => message.split('\n', 1)[0]?.replace(/:$/, ''));
    throw new ConfigError(`${file} is not valid YAML: ${lines.join('; ')}`, { cause: document.errors[0] });
  }
  return parseReplicaConfig(plainOf(document, file), dirname(resolve(file)), file);
}

/** @throws ConfigError where an alias names nothing, or so many things that it must be meant as a trap */
function plainOf(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 10 });
  } catch (cause) {
    throw new ConfigError(`${file} is not valid YAML: ${(cause as Error).message}`, { cause });
  }
}
