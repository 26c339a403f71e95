/**
 * The configuration of one replica: how the YAML of `barista serve --config FILE` becomes it.
 *
 * Responsible for: reading the file and the secret. What is right is check-config.ts.
 */
import { readSmallFile } from '../adapters/file-system.ts';
import { dirname, resolve } from 'node:path';
import { type Document, LineCounter, parseDocument } from 'yaml';
import { checkConfig } from './check-config.ts';
import { ConfigError } from './config-error.ts';
import type { RawConfig } from './config-schema.ts';

/** What a replica runs with. Paths are absolute; the secret has been read. */
export type ReplicaConfig = Readonly<Omit<RawConfig, 'clusterSecret' | 'clusterSecretFile'>> & {
  readonly clusterSecret: string;
};

/**
 * Checks a parsed document. `baseDir`: what relative paths are relative to. `source` names the file in errors.
 * @throws ConfigError naming every key that is wrong
 */
export function parseReplicaConfig(
  document: unknown,
  baseDir: string,
  source = 'configuration',
): ReplicaConfig {
  return checkConfig(document, { baseDir, source, readSecret });
}

function readSecret(file: string, source: string): string {
  let secret: string;
  try {
    secret = readSmallFile(file).trim();
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
    text = readSmallFile(file);
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
