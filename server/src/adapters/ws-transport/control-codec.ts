/**
 * Control messages (ports/control.ts) to what msgpack carries, and back.
 *
 * Responsible for: the check of every field, and the bound on their size. Does not judge what a message means.
 * Invariant: no control message of more than `controlBytesMax` is sent or read.
 */
import type {
  Channel,
  ControlMessage,
  DataDigest,
  DigestObject,
  JoinReply,
  ShownAnswer,
  ShownQuestion,
  SkippedObject,
  VerifyReport,
  VerifyVerdict,
} from '../../ports/control.ts';
import {
  bool,
  bytes,
  type Fields,
  FrameError,
  integer,
  list,
  name,
  object,
  slot,
  text,
  transactionId,
  word,
} from './fields.ts';
import { membersMax, nonceCharsMax, readAddress, readConfiguration } from './member-codec.ts';

/** About 25,000 tables and sequences. */
export const controlBytesMax = 4 * 1024 * 1024;
const objectsMax = 65_536;
const reasonCharsMax = 4096;
const checkCharsMax = 256;
/** Two identifiers of PostgreSQL, quoted, and in a verdict what is wrong with them. */
const objectNameCharsMax = 2048;
const skippedReasonCharsMax = 512;
const digestCharsMax = 256;
/** Transactions that run at the same time: at most as many as PostgreSQL may have connections, prepared ones among them. */
const transactionsMax = 262_144;

const joinCodes = ['admitted', 'notLeader', 'waiting', 'refused'] as const;
const channels: readonly Channel[] = [
  'persistence',
  'links',
  'operations',
  'paxos',
  'digests',
  'primary',
  'adoptions',
];
const objectKinds = ['table', 'sequence'] as const;
const controlKinds: ReadonlySet<unknown> = new Set<ControlMessage['kind']>([
  'JoinRequest',
  'JoinReply',
  'VerifyQuestion',
  'VerifyReport',
  'VerifyVerdict',
  'ReadIndexQuestion',
  'ReadIndexAnswer',
  'ShownQuestion',
  'ShownAnswer',
  'LeadQuestion',
  'LeadAnswer',
  'Carried',
]);

export function isControlKind(kind: unknown): kind is ControlMessage['kind'] {
  return controlKinds.has(kind);
}

/** With its reason cut to what a peer reads. */
export function clipped(message: ControlMessage): ControlMessage {
  if (!('reason' in message) || message.reason.length <= reasonCharsMax) return message;
  return { ...message, reason: message.reason.slice(0, reasonCharsMax) };
}

/** What is sent in place of a message of `bytes`, too many; null if it cannot be sent at all. */
export function withoutDigest(message: ControlMessage, bytes: number): ControlMessage | null {
  if (message.kind !== 'VerifyReport' || message.digest === null) return null;
  const { objects } = message.digest;
  const { kind, check, isFenced } = message;
  const reason = `the digest of ${objects.length} objects takes ${bytes} bytes, and at most ${controlBytesMax} can be sent`;
  return { kind, check, digest: null, reason, isFenced };
}

/** @throws FrameError */
export function readControl(fields: Fields, kind: ControlMessage['kind']): ControlMessage {
  switch (kind) {
    case 'JoinRequest':
      return {
        kind,
        replica: name(fields.replica, 'replica'),
        nonce: text(fields.nonce, nonceCharsMax, 'nonce'),
        address: readAddress(fields.address),
      };
    case 'JoinReply':
      return readJoinReply(fields);
    case 'VerifyQuestion':
      return {
        kind,
        check: text(fields.check, checkCharsMax, 'check'),
        slot: slot(fields.slot, 'slot'),
      };
    case 'VerifyReport':
      return readVerifyReport(fields);
    case 'VerifyVerdict':
      return readVerifyVerdict(fields);
    case 'ReadIndexQuestion':
      return { kind, ...readQuestionName(fields) };
    case 'ReadIndexAnswer':
      return { kind, ...readQuestionName(fields), index: slot(fields.index, 'index') };
    case 'ShownQuestion':
      return readShownQuestion(fields);
    case 'ShownAnswer':
      return readShownAnswer(fields);
    case 'LeadQuestion':
      return { kind, ...readQuestionName(fields) };
    case 'LeadAnswer':
      return {
        kind,
        ...readQuestionName(fields),
        reason: text(fields.reason, reasonCharsMax, 'reason'),
        applied: slot(fields.applied, 'applied'),
      };
    case 'Carried':
      return {
        kind,
        channel: word(fields.channel, channels, 'channel'),
        bytes: bytes(fields.bytes, 'bytes'),
      };
    default:
      kind satisfies never;
      throw new FrameError('of an unknown kind');
  }
}

function readQuestionName(fields: Fields): { readonly run: string; readonly number: number } {
  return { run: text(fields.run, nonceCharsMax, 'run'), number: integer(fields.number, 'number') };
}

function readShownQuestion(fields: Fields): ShownQuestion {
  return {
    kind: 'ShownQuestion',
    ...readQuestionName(fields),
    end: transactionId(fields.end, 'end'),
    committed: readTransactions(fields.committed, 'committed'),
  };
}

function readShownAnswer(fields: Fields): ShownAnswer {
  return {
    kind: 'ShownAnswer',
    ...readQuestionName(fields),
    end: transactionId(fields.end, 'end'),
    running: readTransactions(fields.running, 'running'),
  };
}

function readTransactions(value: unknown, what: string): readonly string[] {
  return list(value, transactionsMax, what).map((item) => transactionId(item, what));
}

function readJoinReply(fields: Fields): JoinReply {
  const code = word(fields.code, joinCodes, 'code');
  const admission = fields.admission === null ? null : readAdmission(fields.admission);
  if ((code === 'admitted') !== (admission !== null))
    throw new FrameError('admitted without an admission, or the other way round');
  return {
    kind: 'JoinReply',
    nonce: text(fields.nonce, nonceCharsMax, 'nonce'),
    code,
    reason: text(fields.reason, reasonCharsMax, 'reason'),
    leader: fields.leader === null ? null : name(fields.leader, 'leader'),
    admission,
  };
}

function readAdmission(value: unknown): NonNullable<JoinReply['admission']> {
  const fields = object(value, 'admission');
  return {
    cluster: text(fields.cluster, nonceCharsMax, 'cluster'),
    member: name(fields.member, 'member'),
    configuration: readConfiguration(fields.configuration),
    purgedTo: slot(fields.purgedTo, 'purgedTo'),
    isNew: bool(fields.isNew, 'isNew'),
  };
}

function readVerifyReport(fields: Fields): VerifyReport {
  return {
    kind: 'VerifyReport',
    check: text(fields.check, checkCharsMax, 'check'),
    digest: fields.digest === null ? null : readDigest(fields.digest),
    reason: text(fields.reason, reasonCharsMax, 'reason'),
    isFenced: bool(fields.isFenced, 'isFenced'),
  };
}

function readDigest(value: unknown): DataDigest {
  const fields = object(value, 'digest');
  return {
    slot: slot(fields.slot, 'slot'),
    objects: list(fields.objects, objectsMax, 'objects').map(readDigestObject),
    skipped: list(fields.skipped, objectsMax, 'skipped').map(readSkippedObject),
    hasSequences: bool(fields.hasSequences, 'hasSequences'),
  };
}

function readDigestObject(value: unknown): DigestObject {
  const fields = object(value, 'object');
  return {
    database: text(fields.database, objectNameCharsMax, 'database of an object'),
    kind: word(fields.kind, objectKinds, 'kind of an object'),
    name: text(fields.name, objectNameCharsMax, 'name of an object'),
    rows: integer(fields.rows, 'rows'),
    digest: text(fields.digest, digestCharsMax, 'digest of an object'),
  };
}

function readSkippedObject(value: unknown): SkippedObject {
  const fields = object(value, 'skipped');
  return {
    database: text(fields.database, objectNameCharsMax, 'database of an object'),
    name: text(fields.name, objectNameCharsMax, 'name of an object'),
    reason: text(fields.reason, skippedReasonCharsMax, 'reason of an object'),
  };
}

function readVerifyVerdict(fields: Fields): VerifyVerdict {
  const differing = list(fields.differing, objectsMax, 'differing');
  return {
    kind: 'VerifyVerdict',
    check: text(fields.check, checkCharsMax, 'check'),
    slot: slot(fields.slot, 'slot'),
    differing: differing.map((item) => text(item, objectNameCharsMax, 'name of an object')),
    repair: bool(fields.repair, 'repair'),
    equal: list(fields.equal, membersMax, 'equal').map((item) => name(item, 'equal')),
  };
}
