/**
 * The binary form of a log entry, of a ballot and of a configuration. Pure. Payload bytes are copied once.
 *
 * Knows nothing of records and checksums. Invariant: `write...` writes exactly as many bytes as `...Bytes` tells, and reading yields an equal value.
 */
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Configuration, Member } from '../../multipaxos/types/members.ts';
import type { Ballot, GroupId, ReplicaId } from '../../multipaxos/types/names.ts';

const ENTRY_KIND = { noop: 0, leaderStart: 1, command: 2, configuration: 3 } as const;
const NAME_BYTES_MAX = 255;
const CLIENT_BYTES_MAX = 65_535;

function nameBytes(name: string, max: number): number {
  const bytes = Buffer.byteLength(name, 'utf8');
  if (bytes > max) throw new RangeError(`a name of ${bytes} bytes is too long for the log: at most ${max}`);
  return bytes;
}

export function ballotBytes(ballot: Ballot): number {
  return 9 + nameBytes(ballot.replica, NAME_BYTES_MAX);
}

export function entryBytes(entry: Entry): number {
  if (entry.kind === 'noop') return 1;
  if (entry.kind === 'leaderStart') return 1 + ballotBytes(entry.ballot);
  if (entry.kind === 'configuration') {
    return 9 + ballotBytes(entry.ballot) + jsonBytes(entry.members);
  }
  return 11 + nameBytes(entry.proposal.client, CLIENT_BYTES_MAX) + entry.payload.length;
}

/** Configurations are rare, and held as JSON. */
export function jsonBytes(value: Configuration | readonly Member[]): number {
  return Buffer.byteLength(JSON.stringify(value), 'utf8');
}

export function writeBallot(bytes: Buffer, at: number, ballot: Ballot): number {
  bytes.writeDoubleLE(ballot.round, at);
  const length = bytes.write(ballot.replica, at + 9, 'utf8');
  bytes[at + 8] = length;
  return at + 9 + length;
}

export function writeEntry(bytes: Buffer, at: number, entry: Entry): number {
  bytes[at] = ENTRY_KIND[entry.kind];
  if (entry.kind === 'noop') return at + 1;
  if (entry.kind === 'leaderStart') return writeBallot(bytes, at + 1, entry.ballot);
  if (entry.kind === 'configuration') {
    bytes.writeDoubleLE(entry.version, at + 1);
    const next = writeBallot(bytes, at + 9, entry.ballot);
    return next + bytes.write(JSON.stringify(entry.members), next, 'utf8');
  }
  bytes.writeDoubleLE(entry.proposal.request, at + 1);
  const length = bytes.write(entry.proposal.client, at + 11, 'utf8');
  bytes.writeUInt16LE(length, at + 9);
  bytes.set(entry.payload, at + 11 + length);
  return at + 11 + length + entry.payload.length;
}

export function readJson(bytes: Buffer, at: number, end: number): unknown {
  return JSON.parse(bytes.toString('utf8', at, end));
}

export function readBallot(bytes: Buffer, at: number): { readonly ballot: Ballot; readonly next: number } {
  const next = at + 9 + bytes.readUInt8(at + 8);
  return {
    ballot: { round: bytes.readDoubleLE(at), replica: bytes.toString('utf8', at + 9, next) as ReplicaId },
    next,
  };
}

export function readEntry(bytes: Buffer, at: number, end: number, group: GroupId): Entry {
  switch (bytes.readUInt8(at)) {
    case ENTRY_KIND.noop:
      return { kind: 'noop', group };
    case ENTRY_KIND.leaderStart:
      return { kind: 'leaderStart', group, ballot: readBallot(bytes, at + 1).ballot };
    case ENTRY_KIND.configuration: {
      const { ballot, next } = readBallot(bytes, at + 9);
      const members = readJson(bytes, next, end) as readonly Member[];
      return { kind: 'configuration', group, ballot, version: bytes.readDoubleLE(at + 1), members };
    }
    case ENTRY_KIND.command: {
      const payloadAt = at + 11 + bytes.readUInt16LE(at + 9);
      const proposal = {
        client: bytes.toString('utf8', at + 11, payloadAt),
        request: bytes.readDoubleLE(at + 1),
      };
      return {
        kind: 'command',
        group,
        proposal,
        payload: new Uint8Array(bytes.subarray(payloadAt, end)),
      };
    }
    default:
      throw new RangeError(`entry of unknown kind ${bytes[at]}`);
  }
}
