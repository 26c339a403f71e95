/**
 * The few requests of ZooKeeper's client protocol that a log needs, as bytes, and their replies. Pure.
 *
 * Layouts are those of ZooKeeper's own description of its messages (zookeeper.jute, 3.5 and later). Does not know about connections or retries (session.ts).
 */
import { JuteError, createJuteWriter, type JuteReader, type JuteWriter } from './jute.ts';

const OP = {
  create: 1,
  delete: 2,
  getData: 4,
  setData: 5,
  getChildren: 8,
  sync: 9,
  ping: 11,
  check: 13,
  multi: 14,
  error: -1,
  close: -11,
} as const;

const ERROR_CODES = {
  '-1': 'systemError',
  '-2': 'runtimeInconsistency',
  '-4': 'connectionLoss',
  '-5': 'marshallingError',
  '-6': 'unimplemented',
  '-8': 'badArguments',
  '-101': 'noNode',
  '-102': 'noAuth',
  '-103': 'badVersion',
  '-110': 'nodeExists',
  '-111': 'notEmpty',
  '-112': 'sessionExpired',
  '-113': 'invalidCallback',
  '-115': 'authFailed',
  '-118': 'sessionMoved',
  '-125': 'quotaExceeded',
  '-127': 'throttled',
} as const;

export type ZooKeeperErrorCode = (typeof ERROR_CODES)[keyof typeof ERROR_CODES] | 'closed' | 'other';

/** `connectionLoss`: whether the server did it is unknown. `sessionExpired`, `closed`: the session is of no use any more. */
export class ZooKeeperError extends Error {
  override readonly name = 'ZooKeeperError';
  readonly code: ZooKeeperErrorCode;
  constructor(code: ZooKeeperErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

export function codeOf(error: unknown): ZooKeeperErrorCode | null {
  return error instanceof ZooKeeperError ? error.code : null;
}

export function errorOfNumber(number: number, what: string): ZooKeeperError {
  const code = (ERROR_CODES as Record<string, ZooKeeperErrorCode>)[String(number)] ?? 'other';
  return new ZooKeeperError(code, `ZooKeeper answers ${code} (${number}) to ${what}`);
}

/** Any version of a node will do. */
export const ANY_VERSION = -1;

/** What a multi is made of. `version` is the one that the node must have. */
export type WriteOp =
  | {
      readonly kind: 'create';
      readonly path: string;
      readonly data: Uint8Array;
      readonly ephemeral?: boolean;
    }
  | { readonly kind: 'set'; readonly path: string; readonly data: Uint8Array; readonly version: number }
  | { readonly kind: 'delete'; readonly path: string; readonly version: number }
  | { readonly kind: 'check'; readonly path: string; readonly version: number };

export interface NodeStat {
  /** Counts the writes of its data. */
  readonly version: number;
  /** Session that it goes with; 0 if it stays. */
  readonly ephemeralOwner: bigint;
  readonly dataBytes: number;
}

/** One request: its name for messages, its bytes behind (xid, type), and how its reply is read. */
export interface ZooKeeperRequest<T> {
  readonly what: string;
  readonly type: number;
  readonly write: (writer: JuteWriter) => void;
  readonly read: (reader: JuteReader) => T;
  readonly bytesExpected?: number;
}

const PERMISSIONS_ALL = 31;
const FLAG_EPHEMERAL = 1;

function writeCreate(writer: JuteWriter, op: WriteOp & { kind: 'create' }): void {
  writer.string(op.path);
  writer.buffer(op.data);
  // One entry in its access list: everybody may do everything, as with all else in a trusted network.
  writer.int(1);
  writer.int(PERMISSIONS_ALL);
  writer.string('world');
  writer.string('anyone');
  writer.int(op.ephemeral === true ? FLAG_EPHEMERAL : 0);
}

/** What an op takes of a request, at most. */
export function opBytes(op: WriteOp): number {
  const path = Buffer.byteLength(op.path, 'utf8');
  return 64 + path + ('data' in op ? op.data.length : 0);
}

function writeOp(writer: JuteWriter, op: WriteOp): void {
  if (op.kind === 'create') {
    writeCreate(writer, op);
    return;
  }
  writer.string(op.path);
  if (op.kind === 'set') writer.buffer(op.data);
  writer.int(op.version);
}

const OP_OF = { create: OP.create, set: OP.setData, delete: OP.delete, check: OP.check } as const;

function writeMultiHeader(writer: JuteWriter, type: number, done: boolean): void {
  writer.int(type);
  writer.bool(done);
  writer.int(-1);
}

const STAT_BYTES = 68;

function readStat(reader: JuteReader): NodeStat {
  // czxid, mzxid, ctime, mtime
  reader.skip(32);
  const version = reader.int();
  // cversion, aversion
  reader.skip(8);
  const ephemeralOwner = reader.long();
  const dataBytes = reader.int();
  // numChildren, pzxid
  reader.skip(12);
  return { version, ephemeralOwner, dataBytes };
}

export function create(path: string, data: Uint8Array): ZooKeeperRequest<void> {
  return {
    what: `create ${path}`,
    type: OP.create,
    write: (writer) => writeCreate(writer, { kind: 'create', path, data }),
    read: () => undefined,
    bytesExpected: 128 + path.length + data.length,
  };
}

export function remove(path: string): ZooKeeperRequest<void> {
  return {
    what: `delete ${path}`,
    type: OP.delete,
    write: (writer) => writeOp(writer, { kind: 'delete', path, version: ANY_VERSION }),
    read: () => undefined,
  };
}

export function getData(
  path: string,
): ZooKeeperRequest<{ readonly data: Uint8Array; readonly stat: NodeStat }> {
  return {
    what: `getData ${path}`,
    type: OP.getData,
    write(writer) {
      writer.string(path);
      writer.bool(false);
    },
    read: (reader) => ({ data: reader.buffer(), stat: readStat(reader) }),
  };
}

export function getChildren(path: string): ZooKeeperRequest<readonly string[]> {
  return {
    what: `getChildren ${path}`,
    type: OP.getChildren,
    write(writer) {
      writer.string(path);
      writer.bool(false);
    },
    read: (reader) => reader.strings(),
  };
}

/** Resolves when this server has all that the ensemble had chosen before. */
export function sync(path: string): ZooKeeperRequest<void> {
  return {
    what: `sync ${path}`,
    type: OP.sync,
    write: (writer) => writer.string(path),
    read: () => undefined,
  };
}

export const closeSession: ZooKeeperRequest<void> = {
  what: 'closeSession',
  type: OP.close,
  write: () => undefined,
  read: () => undefined,
};

/** All of the ops or none. Answers the index of the first that failed, with its error, or null. */
export function multi(ops: readonly WriteOp[]): ZooKeeperRequest<MultiFailure | null> {
  return {
    what: `multi of ${ops.length}`,
    type: OP.multi,
    bytesExpected: 64 + ops.reduce((sum, op) => sum + opBytes(op), 0),
    write(writer) {
      for (const op of ops) {
        writeMultiHeader(writer, OP_OF[op.kind], false);
        writeOp(writer, op);
      }
      writeMultiHeader(writer, -1, true);
    },
    read: (reader) => readMulti(reader, ops),
  };
}

export interface MultiFailure {
  readonly op: WriteOp;
  readonly error: ZooKeeperError;
}

function readMulti(reader: JuteReader, ops: readonly WriteOp[]): MultiFailure | null {
  let failure: MultiFailure | null = null;
  for (let i = 0; ; i++) {
    const type = reader.int();
    const done = reader.bool();
    reader.int();
    if (done) {
      if (i !== ops.length) throw new JuteError(`a multi of ${ops.length} was answered by ${i} results`);
      return failure;
    }
    const op = ops[i];
    if (op === undefined) throw new JuteError('a multi has more results than ops');
    if (type === OP.create) reader.string();
    else if (type === OP.setData) reader.skip(STAT_BYTES);
    else if (type === OP.error) {
      const number = reader.int();
      // 0: this one was in order. -2: one before it failed.
      if (number !== 0 && number !== -2 && failure === null)
        failure = { op, error: errorOfNumber(number, `${op.kind} ${op.path}`) };
    }
  }
}

// ------------------------------------------------------------------------------------------------------ session

export const XID_PING = -2;
export const XID_NOTIFICATION = -1;

export interface SessionGrant {
  /** 0: the session that was asked for has expired. */
  readonly timeoutMs: number;
  readonly sessionId: bigint;
  readonly password: Uint8Array;
}

/** The first packet of a connection; session 0 asks for a new one. */
export function connectPacket(
  session: Pick<SessionGrant, 'sessionId' | 'password'> | null,
  lastZxid: bigint,
  timeoutMs: number,
): Buffer {
  const writer = createJuteWriter();
  writer.int(0);
  writer.long(lastZxid);
  writer.int(timeoutMs);
  writer.long(session?.sessionId ?? 0n);
  writer.buffer(session?.password ?? new Uint8Array(16));
  // No server that only reads.
  writer.bool(false);
  return writer.packet();
}

export function readGrant(reader: JuteReader): SessionGrant {
  reader.int();
  return { timeoutMs: reader.int(), sessionId: reader.long(), password: reader.buffer() };
}

export function pingPacket(): Buffer {
  const writer = createJuteWriter(8);
  writer.int(XID_PING);
  writer.int(OP.ping);
  return writer.packet();
}

export function requestPacket(xid: number, request: ZooKeeperRequest<unknown>): Buffer {
  const writer = createJuteWriter((request.bytesExpected ?? 256) + 8);
  writer.int(xid);
  writer.int(request.type);
  request.write(writer);
  return writer.packet();
}
