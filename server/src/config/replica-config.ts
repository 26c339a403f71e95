/**
 * The configuration of one replica: its schema, its defaults, and how the YAML of `barista serve --config FILE` becomes it.
 *
 * Responsible for: shape, bounds, and the relations between values that safety or liveness rests on. Reads no file except
 * through `loadReplicaConfig`. Invariant: a ReplicaConfig that left this module is complete and consistent; every error names its key.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { protectedSettings } from './protected-settings.ts';
import type { GroupId, ReplicaId } from '../multipaxos/types/names.ts';

const LOOPBACK = '127.0.0.1';
const MIB = 1024 * 1024;
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,31}$/;

const name = z
  .string()
  .regex(NAME, 'must start with a letter and hold at most 32 letters, digits, "_" or "-"');
const replicaId = name.transform((text) => text as ReplicaId);
const groupId = name.transform((text) => text as GroupId);
const port = z.int().min(1).max(65_535);
const host = z.string().min(1).max(255);
const ms = z.int().min(1).max(3_600_000);
const address = z.strictObject({ host, port });
/** Where to listen: on loopback unless told otherwise. */
const listen = z.strictObject({ host: host.default(LOOPBACK), port });
const http = listen.extend({
  /** Tells whoever watches the text of the statements that clients run. */
  statements: z.boolean().default(false),
});
/** PostgreSQL's own bound on names. */
const sqlName = z.string().min(1).max(63);

const peer = z.strictObject({ id: replicaId, host, port, pgwire: address });

const timings = z.strictObject({
  heartbeatMs: ms.default(200),
  electionTimeoutMinMs: ms.default(1200),
  electionTimeoutMaxMs: ms.default(2000),
  leaseMs: ms.default(700),
  clockDriftMax: z.number().min(0).max(0.5).default(0.05),
  retransmitMs: ms.default(300),
});

const bounds = z.strictObject({
  windowSlotsMax: z.int().min(1).max(65_536).default(1024),
  /** A promise carries two windows and one entry (multipaxos/follower.ts), which must fit one frame of the peers (ws-transport/limits.ts). */
  windowBytesMax: z
    .int()
    .min(64 * 1024)
    .max(23 * MIB)
    .default(16 * MIB),
  acceptBatchBytesMax: z
    .int()
    .min(16 * 1024)
    .max(16 * MIB)
    .default(MIB),
  catchUpSlotsMax: z.int().min(1).max(65_536).default(512),
  /** Of WAL in one entry; the primary sends it in pieces of 128 KiB. */
  entryBytesMax: z
    .int()
    .min(160 * 1024)
    .max(640 * 1024)
    .default(512 * 1024),
  clientsMax: z.int().min(1).max(10_000).default(150),
  /** Beyond it the log lets go of what a replica that is away still wants: that one is given a copy of a database instead. */
  logBytesMax: z
    .int()
    .min(MIB)
    .max(1024 * 1024 * MIB)
    .default(1024 * MIB),
});

/** Where promises and votes are made durable. */
const logStore = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('segment') }),
  z.strictObject({
    kind: z.literal('zookeeper'),
    /** `host:port` of each server of the ensemble. */
    servers: z
      .array(z.string().regex(/^[^\s,/:]+:\d{1,5}$/, 'must be host:port'))
      .min(1)
      .max(9),
    /** Groups that share an ensemble need one each. */
    root: z
      .string()
      .regex(/^(\/[A-Za-z0-9_-]{1,64}){1,8}$/, 'must be a path such as /barista')
      .default('/barista'),
    sessionTimeoutMs: z.int().min(1000).max(600_000).default(10_000),
  }),
]);

const snapshot = z.strictObject({
  /** What a copy for another replica may take of this one's disk and network; no bound if absent. */
  bytesPerSecondMax: z
    .int()
    .min(64 * 1024)
    .max(100 * 1024 * MIB)
    .optional(),
});

/** Chosen WAL is kept here, so that "barista restore" can go to a point in time. */
const archive = z.strictObject({
  /** Of this replica alone, and best on another disk than dataDir. */
  directory: z.string().min(1),
  /** The oldest WAL goes first. */
  bytesMax: z
    .int()
    .min(64 * MIB)
    .max(1024 * 1024 * 1024 * MIB)
    .default(16 * 1024 * MIB),
});

const verify = z.strictObject({
  /** How often the leader has all replicas compare their data; 0: only when asked to. */
  everyMinutes: z
    .int()
    .min(0)
    .max(31 * 24 * 60)
    .default(1440),
  /** How long replicas may take to read all their data. */
  timeoutMinutes: z
    .int()
    .min(1)
    .max(24 * 60)
    .default(30),
});

const postgres = z.strictObject({
  /** Directory of an installed PostgreSQL's binaries; the embedded one if absent. */
  pgBin: z.string().min(1).optional(),
  /** Extra settings for postgresql.conf; those that safety rests on cannot be set. */
  settings: z.record(z.string().regex(/^[a-z_]+(\.[a-z_]+)?$/), z.string().max(1000)).default({}),
});

const trace = z.strictObject({
  /** Record every event under dataDir/trace as NDJSON. */
  file: z.boolean().default(false),
  fileBytesMax: z
    .int()
    .min(64 * 1024)
    .max(1024 * MIB)
    .default(64 * MIB),
  filesMax: z.int().min(1).max(1000).default(4),
});

const replicaConfigShape = z.strictObject({
  group: groupId,
  id: replicaId,
  dataDir: z.string().min(1),
  /**
   * All members of the group at its founding, this replica among them. A replica that has a log goes by the configuration in its log; one that has none
   * asks these to be let in.
   */
  peers: z.array(peer).min(1).max(9),
  peerListen: listen,
  /** Shared by all members: who does not know it cannot speak to the peers' port. One of the two must be given. */
  clusterSecret: z.string().min(16, 'must have at least 16 characters').max(1024).optional(),
  clusterSecretFile: z.string().min(1).optional(),
  pgwire: listen,
  http,
  postgres: postgres.prefault({}),
  /** What a new data directory is given; an existing one keeps what it has. */
  bootstrap: z
    .strictObject({
      user: sqlName.default('barista'),
      password: z.string().min(1).max(512),
      database: sqlName.default('barista'),
    })
    .optional(),
  timings: timings.prefault({}),
  bounds: bounds.prefault({}),
  logStore: logStore.prefault({ kind: 'segment' }),
  snapshot: snapshot.prefault({}),
  /** Nothing is archived if absent. */
  archive: archive.optional(),
  verify: verify.prefault({}),
  trace: trace.prefault({}),
  /** Lets faults be set on links. Never on in production. */
  faults: z.boolean().default(false),
  logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

type RawConfig = z.output<typeof replicaConfigShape>;
type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

function isWithin(path: string, directory: string): boolean {
  return `${resolve('/', path)}/`.startsWith(`${resolve('/', directory)}/`);
}

/** Each rule that spans several keys, with the key to blame. */
function relations(config: RawConfig): Issue[] {
  const issues: Issue[] = [];
  const rule = (holds: boolean, path: readonly PropertyKey[], message: string): void => {
    if (!holds) issues.push({ path, message });
  };
  const { timings: t, bounds: b } = config;
  const ids = config.peers.map((member) => member.id);
  rule(ids.includes(config.id), ['peers'], `must list every member, and "${config.id}" (id) is not in it`);
  rule(new Set(ids).size === ids.length, ['peers'], 'names a replica twice');
  rule(
    (config.clusterSecret === undefined) !== (config.clusterSecretFile === undefined),
    ['clusterSecret'],
    'exactly one of clusterSecret and clusterSecretFile must be given',
  );
  rule(t.heartbeatMs * 2 <= t.leaseMs, ['timings', 'heartbeatMs'], 'must be at most half of leaseMs');
  rule(t.leaseMs < t.electionTimeoutMinMs, ['timings', 'leaseMs'], 'must be below electionTimeoutMinMs');
  rule(
    t.electionTimeoutMinMs < t.electionTimeoutMaxMs,
    ['timings', 'electionTimeoutMaxMs'],
    'must be above electionTimeoutMinMs',
  );
  rule(
    b.entryBytesMax <= b.acceptBatchBytesMax,
    ['bounds', 'entryBytesMax'],
    'must be at most acceptBatchBytesMax',
  );
  rule(
    b.acceptBatchBytesMax <= b.windowBytesMax,
    ['bounds', 'acceptBatchBytesMax'],
    'must be at most windowBytesMax',
  );
  rule(
    config.archive === undefined || !isWithin(config.archive.directory, config.dataDir),
    ['archive', 'directory'],
    'must not be in dataDir, which may be lost or wiped as a whole',
  );
  for (const key of Object.keys(config.postgres.settings)) {
    rule(
      !protectedSettings.includes(key),
      ['postgres', 'settings', key],
      'is set by Barista and cannot be changed',
    );
  }
  return issues;
}

export const replicaConfigSchema = replicaConfigShape.superRefine((config, context) => {
  for (const { path, message } of relations(config)) {
    context.addIssue({ code: 'custom', path: [...path], message });
  }
});

/** What a replica runs with. Paths are absolute; the secret has been read. */
export type ReplicaConfig = Readonly<Omit<RawConfig, 'clusterSecret' | 'clusterSecretFile'>> & {
  readonly clusterSecret: string;
};

/** What may be written in the YAML file. */
export type ReplicaConfigInput = z.input<typeof replicaConfigShape>;

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'configInvalid';
}

/** Where in the document a value is, as people write it: `peers[1].pgwire.port`. */
export function keyName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}

function describeIssue(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${keyName([...issue.path, key])}: unknown key`);
  }
  return [`${keyName(issue.path) || '(whole file)'}: ${issue.message}`];
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
  const result = replicaConfigSchema.safeParse(document);
  if (!result.success) {
    const lines = result.error.issues.flatMap(describeIssue);
    throw new ConfigError(`${source} is not valid:\n${lines.map((line) => `  ${line}`).join('\n')}`);
  }
  const { clusterSecret, clusterSecretFile, ...rest } = result.data;
  const { pgBin, settings } = rest.postgres;
  return {
    ...rest,
    dataDir: resolve(baseDir, rest.dataDir),
    ...(rest.archive === undefined
      ? {}
      : { archive: { ...rest.archive, directory: resolve(baseDir, rest.archive.directory) } }),
    postgres: {
      settings,
      ...(pgBin === undefined ? {} : { pgBin: resolve(baseDir, pgBin) }),
    },
    clusterSecret: clusterSecret ?? readSecret(resolve(baseDir, clusterSecretFile ?? ''), source),
  };
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
  const [error] = document.errors;
  if (error !== undefined)
    throw new ConfigError(`${file} is not valid YAML: ${error.message}`, { cause: error });
  return parseReplicaConfig(document.toJS({ maxAliasCount: 10 }), dirname(resolve(file)), file);
}
