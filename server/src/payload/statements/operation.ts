/**
 * What an entry of the log holds when statements are what travels: one operation on the sessions of clients, and its bytes.
 *
 * Pure. Says nothing of how an operation is executed (executor.ts). The first byte is the kind, the second the version of the format; numbers are big-endian.
 *
 *   open        kind 1, session, u64 clock, text user, text database, u16 count, then count times text name, text value
 *   request     kind 2, session, u48 seq, u64 clock, 16 bytes seed, u8 what (plus 4, 8, 12, 16: level asked for; plus 128: answers are not compared), the client's messages to the end
 *   close       kind 3, session
 *   cancelOpen  kind 4, u8 (0: of all sessions, 1: of one, 2: of all at a pause), session if of one, name of the pause if at one
 *   pause       kind 5, name
 *   call        kind 6, as a request, with u8 needs (plus 128: its answer is kept), 16 bytes name, 16 bytes digest ahead of the messages
 *   closeIf     kind 7, session, u48 seq
 *   resume      kind 8, name (of the pause)
 *   hold        kind 9, run, session, u48 seq, text replica
 *   goOn        kind 10, run
 *   run         u48 slot, u16 turn, u8 round
 *   closeAll    kind 11, name, text prefix
 *   adopt       kind 12, name (of the claim), text replica
 *   session, name  16 bytes; text: u16 length, UTF-8 (startup parameters: latin1, byte for byte)
 *
 * Invariant: what `decodeOperation` takes is within the bounds below.
 */
import { clockOf, FieldReader, number, OperationError, runOf, sessionOf, text } from './operation-fields.ts';
import { type GoOnOperation, type HoldOperation, textOfRun } from './run-name.ts';

export { OperationError };

/** 32 hexadecimal digits: random, known at all replicas, and a capability. */
export type SessionId = string;

/** Of the session, the same at every replica: positive, of 31 bits, which do not tell the session's id. */
export function processIdOf(session: SessionId): number {
  let all = 0;
  for (let at = 0; at < session.length; at += 8) all ^= Number.parseInt(session.slice(at, at + 8), 16);
  return all & 0x7fff_ffff || 1;
}

/** A client's connection. `parameters`: those of its startup packet but for user and database, read as latin1. `clockUs`: microseconds since 1970, of whoever proposes it. */
export interface OpenOperation {
  readonly kind: 'open';
  readonly session: SessionId;
  readonly user: string;
  readonly database: string;
  readonly parameters: readonly (readonly [name: string, value: string])[];
  readonly clockUs: number;
}

/** What a request is, for people and traces. */
export type RequestWord = 'begin' | 'execute' | 'commit' | 'rollback';

/**
 * One request cycle of a session: a simple Query, a FunctionCall, or extended messages up to and with a Sync; behind what copies into a table its CopyData and CopyDone or CopyFail. `seq` rises by one with each request of
 * a session, from 1 on: one that comes again is answered, not executed.
 */
/** When its client wants to be answered, the weakest first; where a primary orders (docs/primary-and-copies.md). */
export const askedLevels = ['async', 'majority', 'semi', 'sync'] as const;
export type AskedLevel = (typeof askedLevels)[number];

export interface RequestOperation {
  readonly kind: 'request';
  readonly session: SessionId;
  readonly seq: number;
  readonly what: RequestWord;
  readonly bytes: Uint8Array;
  readonly clockUs: number;
  /** 16 bytes, from which random values are drawn. */
  readonly seed: Uint8Array;
  /** Its answers may differ between replicas that are the same. */
  readonly isCompared?: false;
  /** Of whoever orders it; the group's own if it is left out. Says nothing to whoever executes it. */
  readonly level?: AskedLevel;
  /** Of a session that its client uses at whichever replica it likes (calls.ts). */
  readonly call?: CallMark;
}

/** Where the session has to stand for the call to run. */
export type CallNeed = 'any' | 'idle' | 'block';

/** `name`, `digest`: 32 hexadecimal digits. Of one name and another digest there is another request. */
export interface CallMark {
  readonly name: string;
  readonly digest: string;
  readonly needs: CallNeed;
  /** The name is the client's: when it comes again, it is answered and not executed. */
  readonly isNamed: boolean;
}

export interface CloseOperation {
  readonly kind: 'close';
  readonly session: SessionId;
  /** Of its last request; if another came behind that, it stays open. */
  readonly ifSeq?: number;
}

/** Closes all sessions that are open there and whose names begin so. `name`: 32 hexadecimal digits, its own. */
export interface CloseAllOperation {
  readonly kind: 'closeAll';
  readonly name: string;
  readonly prefix: string;
}

/** Ends the open transactions of all sessions, or of one: what they have done is rolled back. */
export interface CancelOpenOperation {
  readonly kind: 'cancelOpen';
  readonly session: SessionId | null;
  /** Only while that pause is under way, and only transactions that are open then: what waits for its end is left alone. */
  readonly pause?: string;
}

/** What would begin a transaction behind this is held back until none is open: a moment of rest, for whoever needs one. `name`: 32 hexadecimal digits. Without effect while another pause is under way. */
export interface PauseOperation {
  readonly kind: 'pause';
  readonly name: string;
}

/** Nobody waits any longer for the moment that the pause was to bring. */
export interface ResumeOperation {
  readonly kind: 'resume';
  readonly name: string;
}

/** All replicas go on from the database that holds the claim `name`: where all answered otherwise, none is wrong (specs/StatementAdoption.tla, Adopt). `name`: 32 hexadecimal digits. `replica`: whose it is, for people. */
export interface AdoptOperation {
  readonly kind: 'adopt';
  readonly name: string;
  readonly replica: string;
}

export type Operation =
  | OpenOperation
  | RequestOperation
  | CloseOperation
  | CloseAllOperation
  | CancelOpenOperation
  | PauseOperation
  | ResumeOperation
  | HoldOperation
  | GoOnOperation
  | AdoptOperation;

/** For people and traces: open, begin, execute, commit, rollback, close, cancelOpen, pause, resume, hold, goOn, adopt. */
export function wordOf(operation: Operation): Exclude<Operation['kind'], 'request'> | RequestWord {
  return operation.kind === 'request' ? operation.what : operation.kind;
}

/** The same operation that is submitted again has the same key. */
export function keyOf(operation: Operation): string {
  if (operation.kind === 'request') {
    const { session, seq, call } = operation;
    return call === undefined ? `request ${session} ${seq}` : `call ${session} ${seq} ${call.name}`;
  }
  if (operation.kind === 'close' && operation.ifSeq !== undefined)
    return `close ${operation.session} ${operation.ifSeq}`;
  if (
    operation.kind === 'pause' ||
    operation.kind === 'resume' ||
    operation.kind === 'closeAll' ||
    operation.kind === 'adopt'
  )
    return `${operation.kind} ${operation.name}`;
  if (operation.kind === 'cancelOpen' && operation.pause !== undefined)
    return `cancelOpen ${operation.pause}`;
  if (operation.kind === 'hold') return `hold ${textOfRun(operation.run)} ${operation.replica}`;
  if (operation.kind === 'goOn') return `goOn ${textOfRun(operation.run)}`;
  return `${operation.kind} ${operation.session}`;
}

export const requestBytesMax = 16 * 1024 * 1024;
export const parametersMax = 64;
export const seedBytes = 16;

const version = 1;
const kinds = {
  open: 1,
  request: 2,
  close: 3,
  cancelOpen: 4,
  pause: 5,
  call: 6,
  closeIf: 7,
  resume: 8,
  hold: 9,
  goOn: 10,
  closeAll: 11,
  adopt: 12,
} as const;
const words: readonly RequestWord[] = ['begin', 'execute', 'commit', 'rollback'];
const needs: readonly CallNeed[] = ['any', 'idle', 'block'];
/** Beside the word. */
const uncompared = 0x80;
const wordBits = 0x03;
const levelShift = 2;
const levelBits = 0x07;
/** Where it stands. */
const wordAt = 2 + 16 + 6 + 8 + 16;
/** Beside what a call needs. */
const keeps = 0x80;

/** @throws OperationError: beyond the bounds */
export function encodeOperation(operation: Operation): Uint8Array {
  const head = Buffer.from([kinds[formOf(operation)], version]);
  switch (operation.kind) {
    case 'open': {
      const { session, user, database, parameters, clockUs } = operation;
      if (parameters.length > parametersMax)
        throw new OperationError(`more than ${parametersMax} startup parameters`);
      const texts = parameters.flatMap(([name, value]) => [text(name, 'latin1'), text(value, 'latin1')]);
      const named = [text(user), text(database), number(parameters.length, 2), ...texts];
      return Buffer.concat([head, sessionOf(session), clockOf(clockUs), ...named]);
    }
    case 'request': {
      const { session, seq, what, bytes, clockUs, seed, isCompared, level, call } = operation;
      if (bytes.length === 0 || bytes.length > requestBytesMax)
        throw new OperationError(`a request of ${bytes.length} bytes`);
      if (seed.length !== seedBytes) throw new OperationError(`a seed of ${seed.length} bytes`);
      const asked = level === undefined ? 0 : askedLevels.indexOf(level) + 1;
      const word = words.indexOf(what) + (asked << levelShift) + (isCompared === false ? uncompared : 0);
      const numbers = [number(seq, 6), clockOf(clockUs), seed, number(word, 1)];
      const mark = call === undefined ? [] : markOf(call);
      return Buffer.concat([head, sessionOf(session), ...numbers, ...mark, bytes]);
    }
    case 'close': {
      const { session, ifSeq } = operation;
      return Buffer.concat([head, sessionOf(session), ...(ifSeq === undefined ? [] : [number(ifSeq, 6)])]);
    }
    case 'cancelOpen': {
      const { session, pause } = operation;
      if (session !== null) return Buffer.concat([head, number(1, 1), sessionOf(session)]);
      if (pause !== undefined) return Buffer.concat([head, number(2, 1), sessionOf(pause)]);
      return Buffer.concat([head, number(0, 1)]);
    }
    case 'closeAll':
      return Buffer.concat([head, sessionOf(operation.name), text(operation.prefix)]);
    case 'pause':
    case 'resume':
      return Buffer.concat([head, sessionOf(operation.name)]);
    case 'hold': {
      const { run, session, seq, replica } = operation;
      return Buffer.concat([head, runOf(run), sessionOf(session), number(seq, 6), text(replica)]);
    }
    case 'goOn':
      return Buffer.concat([head, runOf(operation.run)]);
    case 'adopt':
      return Buffer.concat([head, sessionOf(operation.name), text(operation.replica)]);
    default:
      return operation satisfies never;
  }
}

/** Which database goes on. */
export function isAdoption(payload: Uint8Array): boolean {
  return payload[0] === kinds.adopt;
}

/** Tells of runs that are given up, and not of clients. */
export function isOfRuns(payload: Uint8Array): boolean {
  return payload[0] === kinds.hold || payload[0] === kinds.goOn;
}

function formOf(operation: Operation): keyof typeof kinds {
  if (operation.kind === 'request' && operation.call !== undefined) return 'call';
  if (operation.kind === 'close' && operation.ifSeq !== undefined) return 'closeIf';
  return operation.kind;
}

function markOf({ name, digest, needs: need, isNamed }: CallMark): readonly Buffer[] {
  return [number(needs.indexOf(need) + (isNamed ? keeps : 0), 1), sessionOf(name), sessionOf(digest)];
}

/** What `encodeOperation` wrote asks for; undefined: nothing, or it is no request. */
export function levelAskedBy(payload: Uint8Array): AskedLevel | undefined {
  if (payload[0] !== kinds.request) return undefined;
  return askedLevels[(((payload[wordAt] ?? 0) >> levelShift) & levelBits) - 1];
}

/** The bytes of a request are a view of `payload`. @throws OperationError */
export function decodeOperation(payload: Uint8Array): Operation {
  const reader = new FieldReader(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength));
  const kind = reader.number(1);
  const format = reader.number(1);
  if (format !== version) throw new OperationError(`an operation has format ${format}, not ${version}`);
  const operation = decodeKind(kind, reader);
  reader.expectEnd();
  return operation;
}

function decodeKind(kind: number, reader: FieldReader): Operation {
  switch (kind) {
    case kinds.open: {
      const session = reader.session();
      const clockUs = reader.clock();
      const [user, database] = [reader.text(), reader.text()];
      const count = reader.number(2);
      if (count > parametersMax) throw new OperationError(`${count} startup parameters`);
      const parameters = Array.from(
        { length: count },
        () => [reader.text('latin1'), reader.text('latin1')] as const,
      );
      return { kind: 'open', session, user, database, parameters, clockUs };
    }
    case kinds.request:
    case kinds.call: {
      const session = reader.session();
      const seq = reader.number(6);
      const clockUs = reader.clock();
      const seed = reader.bytes(seedBytes);
      const word = reader.number(1);
      const what = words[word & wordBits];
      const asked = (word >> levelShift) & levelBits;
      const level = askedLevels[asked - 1];
      const isKnown = (word & ~(uncompared | wordBits | (levelBits << levelShift))) === 0;
      if (what === undefined || !isKnown || (asked > 0 && level === undefined))
        throw new OperationError('a request of no known kind');
      const mark = kind === kinds.call ? { call: readMark(reader) } : {};
      const bytes = reader.rest();
      if (bytes.length === 0 || bytes.length > requestBytesMax)
        throw new OperationError(`a request of ${bytes.length} bytes`);
      const request = { kind: 'request', session, seq, what, bytes, clockUs, seed, ...mark } as const;
      return {
        ...request,
        ...((word & uncompared) === 0 ? {} : { isCompared: false as const }),
        ...(level === undefined ? {} : { level }),
      };
    }
    case kinds.close:
      return { kind: 'close', session: reader.session() };
    case kinds.closeIf:
      return { kind: 'close', session: reader.session(), ifSeq: reader.number(6) };
    case kinds.cancelOpen: {
      const one = reader.number(1);
      if (one > 2) throw new OperationError(`a cancelOpen of ${one} sessions`);
      if (one === 2) return { kind: 'cancelOpen', session: null, pause: reader.session() };
      return { kind: 'cancelOpen', session: one === 1 ? reader.session() : null };
    }
    case kinds.pause:
      return { kind: 'pause', name: reader.session() };
    case kinds.closeAll:
      return { kind: 'closeAll', name: reader.session(), prefix: reader.text() };
    case kinds.resume:
      return { kind: 'resume', name: reader.session() };
    case kinds.hold: {
      const run = reader.run();
      return { kind: 'hold', run, session: reader.session(), seq: reader.number(6), replica: reader.text() };
    }
    case kinds.goOn:
      return { kind: 'goOn', run: reader.run() };
    case kinds.adopt:
      return { kind: 'adopt', name: reader.session(), replica: reader.text() };
    default:
      throw new OperationError(`an operation is of the unknown kind ${kind}`);
  }
}

function readMark(reader: FieldReader): CallMark {
  const byte = reader.number(1);
  const need = needs[byte & ~keeps];
  if (need === undefined) throw new OperationError('a call that needs what nobody knows');
  return { needs: need, isNamed: (byte & keeps) !== 0, name: reader.session(), digest: reader.session() };
}
