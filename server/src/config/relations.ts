/**
 * The rules of a configuration that span several keys: what safety or liveness rests on.
 *
 * Responsible for: the rules and their words. A rule is not judged where one of its keys is wrong by itself already.
 */
import { resolve } from 'node:path';
import { keyName, type Path } from '../shapes/json-shape.ts';
import type { Problem } from '../shapes/check-shape.ts';
import { valueWords } from '../shapes/words.ts';
import type { RawConfig } from './config-schema.ts';
import { isOwnMachine } from './addresses.ts';
import { answeringSettings } from './answering-settings.ts';
import { protectedSettings } from './protected-settings.ts';

/** As the core has it (paxos/restart.ts). */
const paxosMembersMax = 7;
/** Likewise (primary/restart.ts). */
const primaryMembers = { min: 2, max: 5 } as const;

/** What is right of a configuration by itself: a key whose value, or something in it, is wrong is absent. */
export type ConfigParts = { readonly [K in keyof RawConfig]?: RawConfig[K] | undefined };

/** `broken`: what is wrong already. */
export function relationProblems(parts: ConfigParts, broken: readonly Path[]): Problem[] {
  const known = (key: Path): boolean =>
    !broken.some((path) => startsWith(path, key) || startsWith(key, path));
  const told = [
    ...members(parts),
    ...secret(parts),
    ...times(parts),
    ...sizes(parts),
    ...places(parts),
    ...access(parts),
    ...doors(parts),
    ...travelling(parts),
    ...gathering(parts),
    ...ordering(parts),
    ...copies(parts),
  ];
  return [...told.filter(({ keys }) => keys.every(known)).map(problemOf), ...settings(parts)];
}

function startsWith(path: Path, start: Path): boolean {
  return start.every((part, index) => path[index] === part);
}

/** A rule that is broken. The first key is to blame. */
interface Broken {
  readonly keys: readonly [Path, ...Path[]];
  readonly words: string;
}

function problemOf({ keys: [path], words }: Broken): Problem {
  return { path, text: `${keyName(path)}: ${words}` };
}

function members({ id, peers }: ConfigParts): Broken[] {
  if (peers === undefined) return [];
  const ids: readonly string[] = peers.map((member) => member.id);
  const twice = new Set(ids.filter((each, index) => ids.indexOf(each) !== index));
  const broken: Broken[] = [];
  if (id !== undefined && !ids.includes(id)) {
    const words = `must list every member, and this one, whose id is "${id}", is not among ${ids.join(', ')}`;
    broken.push({ keys: [['peers'], ['id']], words });
  }
  if (twice.size > 0) {
    const words = `must name each member once, and has ${[...twice].join(', ')} more than once`;
    broken.push({ keys: [['peers']], words });
  }
  return broken;
}

function secret({ clusterSecret, clusterSecretFile }: ConfigParts): Broken[] {
  const given = [clusterSecret, clusterSecretFile].filter((each) => each !== undefined).length;
  if (given === 1) return [];
  const words =
    given === 0
      ? 'is missing; exactly one of clusterSecret and clusterSecretFile must be given'
      : 'is given, and clusterSecretFile is, too; exactly one of the two must be given';
  return [{ keys: [['clusterSecret'], ['clusterSecretFile']], words }];
}

function times({ timings }: ConfigParts): Broken[] {
  if (timings === undefined) return [];
  const { heartbeatMs, leaseMs, electionTimeoutMinMs: minMs, electionTimeoutMaxMs: maxMs } = timings;
  const key = (name: keyof typeof timings): Path => ['timings', name];
  const [min, max] = [key('electionTimeoutMinMs'), key('electionTimeoutMaxMs')];
  const broken: Broken[] = [];
  if (heartbeatMs * 2 > leaseMs) {
    const words = `must be at most half of leaseMs (${leaseMs}), and is ${heartbeatMs}`;
    broken.push({ keys: [key('heartbeatMs'), key('leaseMs')], words });
  }
  if (leaseMs >= minMs) {
    const words = `must be below electionTimeoutMinMs (${minMs}), and is ${leaseMs}`;
    broken.push({ keys: [key('leaseMs'), min], words });
  }
  if (minMs >= maxMs) {
    broken.push({
      keys: [max, min],
      words: `must be above electionTimeoutMinMs (${minMs}), and is ${maxMs}`,
    });
  }
  return broken;
}

function sizes({ bounds }: ConfigParts): Broken[] {
  if (bounds === undefined) return [];
  const pairs = [
    ['entryBytesMax', 'acceptBatchBytesMax'],
    ['acceptBatchBytesMax', 'windowBytesMax'],
  ] as const;
  return pairs.flatMap(([less, more]) => {
    if (bounds[less] <= bounds[more]) return [];
    const words = `must be at most ${more} (${bounds[more]}), and is ${bounds[less]}`;
    return [
      {
        keys: [
          ['bounds', less],
          ['bounds', more],
        ] as const,
        words,
      },
    ];
  });
}

function places({ archive, backup, dataDir }: ConfigParts): Broken[] {
  const outside = Object.entries({ archive, backup }).flatMap(([part, place]): Broken[] => {
    if (place === undefined || dataDir === undefined || !isWithin(place.directory, dataDir)) return [];
    const words = `must not be in dataDir (${JSON.stringify(dataDir)}), which may be lost or wiped as a whole, and is ${JSON.stringify(place.directory)}`;
    return [{ keys: [[part, 'directory'], ['dataDir']], words }];
  });
  if (archive === undefined || backup?.directory !== archive.directory) return outside;
  const words = `must be another one than archive.directory, and both are ${JSON.stringify(archive.directory)}`;
  return [
    ...outside,
    {
      keys: [
        ['backup', 'directory'],
        ['archive', 'directory'],
      ],
      words,
    },
  ];
}

/** Rules that would let in whoever comes, or nobody. */
function access({ pgwire }: ConfigParts): Broken[] {
  return (pgwire?.access ?? []).flatMap(({ address, tls, method }, index) => {
    const rule: Path = ['pgwire', 'access', index];
    const broken: Broken[] = [];
    const blame = (key: string, words: string): number => broken.push({ keys: [[...rule, key]], words });
    if (method === 'trust' && !isOwnMachine(address)) {
      blame(
        'method',
        `must not be trust for other machines than this one: address is ${JSON.stringify(address)}, and may be "loopback"`,
      );
    }
    if (tls === 'required' && pgwire?.tls === undefined) {
      blame('tls', 'must not be required without pgwire.tls, for then nobody can ask for TLS');
    }
    if (method === 'certificate' && pgwire?.tls?.clientAuthority === undefined) {
      blame(
        'method',
        'must not be certificate without pgwire.tls.clientAuthority, which says whose certificates are taken',
      );
    }
    return broken;
  });
}

function doors({ http }: ConfigParts): Broken[] {
  if (http === undefined || http.open !== 'all' || isLoopback(http.host)) return [];
  const words = `must be health or metrics where http.host (${JSON.stringify(http.host)}) is not this machine alone, and is all`;
  return [
    {
      keys: [
        ['http', 'open'],
        ['http', 'host'],
      ],
      words,
    },
  ];
}

/** What would be taken, and do nothing. */
function travelling(parts: ConfigParts): Broken[] {
  if (parts.payload !== 'statements') return [];
  const idle: readonly Broken[] = (['archive', 'backup'] as const)
    .filter((key) => parts[key] !== undefined)
    .map((key) => ({
      keys: [[key], ['payload']],
      words: 'must not be given with payload: statements, where nothing does what it asks for yet',
    }));
  const ownAnswers = Object.keys(parts.postgres?.settings ?? {})
    .filter((name) => answeringSettings.includes(name.toLowerCase()))
    .map((name): Broken => ({ keys: [['postgres', 'settings', name], ['payload']], words: noMembersOwn }));
  return parts.postgres?.settings['default_transaction_isolation']?.toLowerCase() === 'serializable'
    ? [...idle, ...ownAnswers, serializableByDefault]
    : [...idle, ...ownAnswers];
}

const noMembersOwn =
  'must not be given with payload: statements, where answers must be the same at all members: roles, databases and sessions can be made so';

const serializableByDefault: Broken = {
  keys: [['postgres', 'settings', 'default_transaction_isolation'], ['payload']],
  words:
    'must not be serializable with payload: statements, where one such transaction is open at a time: roles, databases and sessions can be made so',
};

/** Where statements travel replicas gather those of their own clients. */
function gathering({ payload, groupCommit }: ConfigParts): Broken[] {
  if (payload !== 'statements' || groupCommit?.kind !== 'adaptive') return [];
  const words = 'must be gather with payload: statements, whose operations replicas gather by themselves';
  return [{ keys: [['groupCommit', 'kind'], ['payload']], words }];
}

/** WAL is written by one PostgreSQL, whose replica must lead. */
function ordering({ protocol, payload, peers, commitPoint }: ConfigParts): Broken[] {
  if (protocol === undefined || protocol === 'multi-paxos') return [];
  const broken: Broken[] = [];
  const blame = (words: string, ...others: readonly Path[]): number =>
    broken.push({ keys: [['protocol'], ...others], words });
  if (payload === 'wal') {
    const words = `must be multi-paxos with payload: wal, which one PostgreSQL writes; ${protocol} goes with payload: statements`;
    blame(words, ['payload']);
  }
  const count = peers?.length ?? primaryMembers.min;
  if (protocol === 'primary' && (count < primaryMembers.min || count > primaryMembers.max))
    blame(`must be multi-paxos or paxos with ${count} members: a primary has one to four copies`, ['peers']);
  if (protocol === 'paxos' && (peers?.length ?? 0) > paxosMembersMax)
    blame(`must be multi-paxos with more than ${paxosMembersMax} members`, ['peers']);
  if (protocol === 'paxos' && commitPoint !== undefined && commitPoint.kind !== 'piggyback') {
    const words = `must be piggyback with protocol: paxos, where no leader tells it, and is ${commitPoint.kind}`;
    broken.push({ keys: [['commitPoint', 'kind'], ['protocol']], words });
  }
  return broken;
}

/** What only a primary heeds, and what its failure detector and its rule of two replicas ask for. */
function copies({ protocol, primary, peers, timings }: ConfigParts): Broken[] {
  if (primary === undefined || protocol === undefined) return [];
  if (protocol !== 'primary') {
    const words = `must not be given with protocol: ${protocol}, which has no primary`;
    return [{ keys: [['primary'], ['protocol']], words }];
  }
  const broken: Broken[] = [];
  const { failureTimeoutMs, promoteAloneRiskingSplitBrain } = primary;
  if (timings !== undefined && timings.heartbeatMs * 2 > failureTimeoutMs) {
    const words = `must be at least twice timings.heartbeatMs (${timings.heartbeatMs}), and is ${failureTimeoutMs}`;
    broken.push({
      keys: [
        ['primary', 'failureTimeoutMs'],
        ['timings', 'heartbeatMs'],
      ],
      words,
    });
  }
  if (promoteAloneRiskingSplitBrain && peers !== undefined && peers.length !== 2) {
    const words = `must be false with ${peers.length} members: only one of two replicas takes over alone`;
    broken.push({ keys: [['primary', 'promoteAloneRiskingSplitBrain'], ['peers']], words });
  }
  return broken;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function isWithin(path: string, directory: string): boolean {
  return `${resolve('/', path)}/`.startsWith(`${resolve('/', directory)}/`);
}

/** What a replica needs of its own PostgreSQL while it serves: with fewer it could not lead, or not be copied from. */
const leastOf: Readonly<Record<string, number>> = {
  max_wal_senders: 4,
  max_replication_slots: 4,
  superuser_reserved_connections: 3,
};

/** A session counts as a transaction while it begins, before it has any setting of its own. */
const transactionMsMin = 1_000;
const msOf: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

function isTooShort(name: string, value: string): boolean {
  const [, number = '', unit = 'ms'] = /^(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)?$/.exec(value.trim()) ?? [];
  const ms = Number(number) * msOf[unit]!;
  return name === 'transaction_timeout' && ms > 0 && ms < transactionMsMin;
}

function settings({ postgres }: ConfigParts): Problem[] {
  return Object.entries(postgres?.settings ?? {}).flatMap(([name, value]) => {
    const path = ['postgres', 'settings', name];
    const is = valueWords(value, path, { type: 'string' });
    const least = leastOf[name];
    if (least !== undefined && /^\s*[+-]?\d+\s*$/.test(value) && Number(value) < least)
      return [
        { path, text: `${keyName(path)}: must be at least ${least}, or nobody can serve, and is ${is}` },
      ];
    if (isTooShort(name, value))
      return [
        { path, text: `${keyName(path)}: must be at least 1 s, or 0, or no session can begin, and is ${is}` },
      ];
    if (!protectedSettings.includes(name)) return [];
    return [{ path, text: `${keyName(path)}: is set by Barista and cannot be given, and is ${is}` }];
  });
}
