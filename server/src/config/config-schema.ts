/**
 * The shape of a replica's configuration: its keys, their defaults and bounds.
 *
 * What spans several keys is in relations.ts.
 */
import { z } from 'zod';
import { isAddresses } from './addresses.ts';
import type { GroupId, ReplicaId } from '../multipaxos/types/names.ts';
import { hostShape } from '../shapes/host-shape.ts';

const LOOPBACK = '127.0.0.1';
const MIB = 1024 * 1024;
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,31}$/;

/** Of a replica, as whoever asks for one writes it. */
export const replicaName = z
  .string()
  .regex(NAME)
  .describe('a name of at most 32 letters, digits, "_" or "-", a letter first');
const replicaId = replicaName.transform((text) => text as ReplicaId);
const groupId = replicaName.transform((text) => text as GroupId);
const port = z.int().min(1).max(65_535);
const host = hostShape;
const ms = z.int().min(1).max(3_600_000);
const address = z.strictObject({ host, port });
/** Where to listen: on loopback unless told otherwise. */
const listen = z.strictObject({ host: host.default(LOOPBACK), port });
/** What pg_hba.conf takes for groups, patterns and files, a rule would take for names that nobody has: who is to be rejected by it would be let in by the next one. */
const namesOf = (special: RegExp) =>
  z
    .string()
    .min(1)
    .max(1000)
    .refine((text) => !text.split(',').some((each) => special.test(each.trim())), {
      error:
        'must be all, or names, separated by commas: groups (+), patterns (/), files (@), quotes, and words such as samerole mean something in pg_hba.conf alone',
    })
    .default('all');
const accessRule = z.strictObject({
  /** Names, separated by commas, or "all". */
  database: namesOf(/^(?:[+/@"]|$|(?:sameuser|samerole|samegroup|replication)$)/),
  role: namesOf(/^(?:[+/@"]|$)/),
  address: z
    .string()
    .max(1000)
    .refine(isAddresses, {
      error: 'must be all, loopback, or addresses and networks such as 10.0.0.0/8, separated by commas',
    })
    .default('all'),
  tls: z.enum(['required', 'any', 'none']).default('any'),
  method: z.enum(['scram', 'certificate', 'trust', 'reject']),
});
const pgwire = listen.extend({
  /** Who may log in from where, and how: the first rule that matches counts. Passwords, and TLS from other machines if there is TLS, if absent. */
  access: z.array(accessRule).min(1).max(200).optional(),
  /** Clients may ask for TLS. */
  tls: z
    .strictObject({
      certificate: z.string().min(1),
      key: z.string().min(1),
      /** Whose certificates of clients are taken. */
      clientAuthority: z.string().min(1).optional(),
    })
    .optional(),
});
const certificateFile = z.string().min(1).max(4096).describe('the path of a file in PEM');
const http = listen.extend({
  /** Tells whoever watches the text of the statements that clients run. */
  statements: z.boolean().default(false),
  /** Without TLS if absent. */
  tls: z
    .strictObject({
      certificate: certificateFile,
      key: certificateFile,
      /** Whoever shows a certificate of it is an operator. */
      authority: certificateFile.optional(),
    })
    .optional(),
  /** A token for operators that need not know the cluster's secret. */
  tokenFile: z.string().min(1).max(4096).optional(),
  /** What is answered without a token. */
  open: z.enum(['health', 'metrics', 'all']).default('health'),
  /** What this server is called, besides its addresses and what its own entry in `peers` calls it. */
  names: z.array(host).max(64).default([]),
});
const thrift = listen.extend({
  /** Takes passwords from other machines in the clear. */
  plaintextPasswords: z.boolean().default(false),
});
/** PostgreSQL's own bound on names. */
const sqlName = z.string().min(1).max(63);

const peer = z.strictObject({ id: replicaId, host, port, pgwire: address });

/** Replicas speak with each other over TLS, and each shows a certificate that names its id. */
const peerTls = z.strictObject({
  certificate: certificateFile,
  key: certificateFile,
  authority: certificateFile,
  /** False: peers without TLS are spoken with, too, while the members are given certificates one after the other. */
  required: z.boolean().default(true),
});

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
  /** Of one role, and from one address: nine tenths of `clientsMax` if absent. */
  clientsPerRoleMax: z.int().min(1).max(10_000).optional(),
  clientsPerAddressMax: z.int().min(1).max(10_000).optional(),
  /** Beyond it the log lets go of what a replica that is away still wants: that one is given a copy of a database instead. */
  logBytesMax: z
    .int()
    .min(MIB)
    .max(1024 * 1024 * MIB)
    .default(1024 * MIB),
  /** A leader rolls back what was prepared longer ago. Nothing if absent. */
  preparedTransactionMinutesMax: z.int().min(1).max(525_600).optional(),
  /** Only with `payload: statements`. A request that lasts longer at every replica fails. */
  statementSecondsMax: z.int().min(1).max(86_400).default(60),
});

const commitPoint = z.discriminatedUnion('kind', [
  /** With the next group of entries. */
  z.strictObject({ kind: z.literal('piggyback') }),
  /** By itself, whenever it has moved. */
  z.strictObject({ kind: z.literal('synchronous') }),
  /** By itself, at regular times. */
  z.strictObject({ kind: z.literal('asynchronous'), everyMs: z.int().min(1).max(10_000).default(10) }),
]);

const groupCommit = z.discriminatedUnion('kind', [
  /** What comes while the log is being written to. */
  z.strictObject({ kind: z.literal('gather') }),
  /** What comes within an interval that follows from how long replicas take to write. */
  z.strictObject({ kind: z.literal('adaptive'), firstMs: z.number().min(0).max(250).default(5) }),
]);

/** Only with `protocol: primary`. All members have the same. */
const primary = z.strictObject({
  /** When a client is answered: docs/primary-and-copies.md says what each level may lose. */
  replication: z.enum(['none', 'async', 'majority', 'semi', 'sync']).default('majority'),
  /** So long unheard of, a replica is suspected. */
  failureTimeoutMs: ms.default(1500),
  /** After so long a client hears that nobody knows whether its operation is done. */
  acknowledgeMsMax: ms.default(5000),
  dropSilentCopies: z.boolean().default(false),
  /** Sessions may ask for less than `replication` (SET barista.acknowledge); for more they always may. */
  sessionsMayLower: z.boolean().default(false),
  promoteAloneRiskingSplitBrain: z.boolean().default(false),
});
export const primaryDefaults = primary.parse({});

/** Where promises and votes are made durable. */
const logStore = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('segment') }),
  z.strictObject({
    kind: z.literal('zookeeper'),
    /** `host:port` of each server of the ensemble. */
    servers: z
      .array(
        z
          .string()
          .regex(/^[^\s,/:]+:\d{1,5}$/)
          .describe('host:port'),
      )
      .min(1)
      .max(9),
    /** Groups that share an ensemble need one each. */
    root: z
      .string()
      .regex(/^(\/[A-Za-z0-9_-]{1,64}){1,8}$/)
      .describe('a path of 1 to 8 names of letters, digits, "_" or "-", such as /barista')
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

/** Backups that are made by themselves. The same on all members that share the directory: these take turns. */
const backup = z.strictObject({
  /** Best on another machine's disk, mounted on several members. */
  directory: z.string().min(1),
  everyMinutes: z
    .int()
    .min(5)
    .max(31 * 24 * 60)
    .default(1440),
  /** So many are kept. */
  keep: z.int().min(1).max(1000).default(7),
  /** How often the newest one is restored elsewhere and checked; 0: only when asked to. */
  testEveryMinutes: z
    .int()
    .min(0)
    .max(366 * 24 * 60)
    .default(0),
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

const settingName = z
  .string()
  .regex(/^[a-z_][a-z0-9_$]*(\.[a-z_][a-z0-9_$]*)*$/)
  .describe('that of a setting as in postgresql.conf, in small letters');

const postgres = z.strictObject({
  /** Directory of an installed PostgreSQL's binaries; the embedded one if absent. */
  pgBin: z.string().min(1).optional(),
  /** Extra settings for postgresql.conf; those that safety rests on cannot be set. */
  settings: z
    .record(
      settingName,
      z
        .string()
        .max(1000)
        .refine((text) => !/[\n\r\0]/.test(text), { error: 'must be one line' }),
    )
    .default({}),
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

export const replicaConfigSchema = z.strictObject({
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
  clusterSecret: z.string().min(16).max(1024).optional(),
  clusterSecretFile: z.string().min(1).optional(),
  pgwire,
  /** No door for Thrift clients if absent. */
  thrift: thrift.optional(),
  /** Without TLS if absent. */
  peerTls: peerTls.optional(),
  http,
  postgres: postgres.prefault({}),
  /** What travels: PostgreSQL's own WAL, or the statements of clients, which every replica executes. All members have the same. */
  payload: z.enum(['wal', 'statements']).default('wal'),
  /** What orders it: one leader at a time, nobody in particular, or a primary whose copies follow it. All members have the same. */
  protocol: z.enum(['multi-paxos', 'paxos', 'primary']).default('multi-paxos'),
  primary: primary.optional(),
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
  /** When a leader writes its commit point and tells the others. For comparisons: `piggyback` costs least. */
  commitPoint: commitPoint.prefault({ kind: 'piggyback' }),
  groupCommit: groupCommit.prefault({ kind: 'gather' }),
  /** What a leader does whose disk, or whose links to a quorum, are much slower than another voter's. */
  slowLeader: z.enum(['handOver', 'stay']).default('handOver'),
  logStore: logStore.prefault({ kind: 'segment' }),
  snapshot: snapshot.prefault({}),
  /** Nothing is archived if absent. */
  archive: archive.optional(),
  /** No backup is made by itself if absent. */
  backup: backup.optional(),
  verify: verify.prefault({}),
  trace: trace.prefault({}),
  /** Lets faults be set on links. Never on in production. */
  faults: z.boolean().default(false),
  logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

/** With its defaults, before anything is made absolute or read from elsewhere. */
export type RawConfig = z.output<typeof replicaConfigSchema>;

/** What may be written in the YAML file. */
export type ReplicaConfigInput = z.input<typeof replicaConfigSchema>;
