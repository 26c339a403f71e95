/**
 * What the model of PostgreSQL writes into its WAL, and how that is told from the WAL again. Pure.
 *
 * The ends of transactions and the checkpoints are records of PostgreSQL's own form; a row is a message that holds JSON.
 */
import { formatLsn, parseLsn, type Lsn } from '../../../wal/lsn.ts';
import { readTransactionEnd } from '../../../wal/record/transaction-end.ts';
import type { WalRecord } from '../../../wal/record/wal-record.ts';
import type { NewRecord } from '../../../wal/record/testing/encode-record.ts';
import type { Vacuum } from './model-vacuum.ts';

/** What a recovery that begins there must know of before. */
export interface CheckpointFacts {
  readonly redo: Lsn;
  readonly nextXid: bigint;
  readonly running: readonly bigint[];
}

/**
 * `row`: a value at the end of the list of a key. `drop`: the list is gone. `vacuum`: what nobody sees any more goes. `prepare`: the transaction waits for COMMIT PREPARED under this name. `filler`: says nothing.
 * `givenUp`: the record before was never finished.
 */
export type ModelChange =
  | { readonly kind: 'row'; readonly xid: bigint; readonly key: string; readonly value: string }
  | { readonly kind: 'drop'; readonly xid: bigint; readonly key: string }
  | ({ readonly kind: 'vacuum' } & Vacuum)
  | { readonly kind: 'commit' | 'abort'; readonly xid: bigint }
  | { readonly kind: 'prepare'; readonly xid: bigint; readonly name: string }
  | { readonly kind: 'commitPrepared' | 'abortPrepared'; readonly xid: bigint; readonly name: string }
  | { readonly kind: 'checkpoint'; readonly facts: CheckpointFacts; readonly isShutdown: boolean }
  | { readonly kind: 'filler'; readonly bytes: number }
  | { readonly kind: 'endOfRecovery' | 'givenUp' };

type Message =
  | { readonly key: string; readonly value: string }
  | { readonly dropped: string }
  | { readonly horizon: string; readonly outcomesFrom: string; readonly commitsFrom: string };

const managers = { xlog: 0, transaction: 1, message: 21 } as const;
const infos = {
  shutdownCheckpoint: 0x00,
  checkpoint: 0x10,
  endOfRecovery: 0x90,
  givenUp: 0xd0,
  commit: 0x00,
  prepare: 0x10,
  abort: 0x20,
  commitPrepared: 0x30,
  abortPrepared: 0x40,
  hasMore: 0x80,
} as const;
const hasPreparedAndName = 16 | 128;

export function recordOf(change: ModelChange): NewRecord {
  const none = { xid: 0n, main: new Uint8Array() };
  switch (change.kind) {
    case 'row':
      return message(change.xid, { key: change.key, value: change.value });
    case 'drop':
      return message(change.xid, { dropped: change.key });
    case 'vacuum':
      return message(0n, vacuumText(change));
    case 'filler':
      return { manager: managers.message, info: 0, xid: 0n, main: new Uint8Array(change.bytes) };
    case 'commit':
    case 'abort':
      return {
        manager: managers.transaction,
        info: infos[change.kind],
        xid: change.xid,
        main: Buffer.alloc(8),
      };
    case 'prepare':
      return { manager: managers.transaction, info: infos.prepare, xid: 0n, main: prepareMain(change) };
    case 'commitPrepared':
    case 'abortPrepared': {
      const info = infos[change.kind] | infos.hasMore;
      return { manager: managers.transaction, info, xid: 0n, main: preparedEndMain(change) };
    }
    case 'checkpoint': {
      const info = change.isShutdown ? infos.shutdownCheckpoint : infos.checkpoint;
      return { ...none, manager: managers.xlog, info, main: Buffer.from(factsText(change.facts)) };
    }
    case 'endOfRecovery':
      return { ...none, manager: managers.xlog, info: infos.endOfRecovery };
    case 'givenUp':
      return { ...none, manager: managers.xlog, info: infos.givenUp, main: Buffer.alloc(16), givesUp: true };
    default:
      return change satisfies never;
  }
}

function message(xid: bigint, content: Message): NewRecord {
  return { manager: managers.message, info: 0, xid, main: Buffer.from(JSON.stringify(content)) };
}

function vacuumText({ horizon, outcomesFrom, commitsFrom }: Vacuum): Message {
  return {
    horizon: String(horizon),
    outcomesFrom: String(outcomesFrom),
    commitsFrom: formatLsn(commitsFrom),
  };
}

function prepareMain({ xid, name }: { readonly xid: bigint; readonly name: string }): Buffer {
  const text = Buffer.from(`${name}\0`);
  const main = Buffer.alloc(Math.ceil((72 + text.length) / 8) * 8);
  main.writeUInt32LE(Number(BigInt.asUintN(32, xid)), 8);
  main.writeUInt16LE(text.length, 54);
  text.copy(main, 72);
  return main;
}

function preparedEndMain({ xid, name }: { readonly xid: bigint; readonly name: string }): Buffer {
  const head = Buffer.alloc(16);
  head.writeUInt32LE(hasPreparedAndName, 8);
  head.writeUInt32LE(Number(BigInt.asUintN(32, xid)), 12);
  return Buffer.concat([head, Buffer.from(`${name}\0`)]);
}

function factsText({ redo, nextXid, running }: CheckpointFacts): string {
  return JSON.stringify({ redo: formatLsn(redo), nextXid: String(nextXid), running: running.map(String) });
}

/** `near`: an id near to the record's, for its upper bits. @throws Error if the model does not write such a record */
export function changeOf(record: WalRecord, near: bigint): ModelChange {
  const { manager, main, info } = record;
  if (main === null) throw new Error('the record was not kept');
  if (manager === 'Transaction') return endOf(record, near);
  if (manager === 'LogicalMessage') {
    if (main[0] !== 0x7b) return { kind: 'filler', bytes: main.length };
    const said = JSON.parse(Buffer.from(main).toString()) as Message;
    if ('horizon' in said)
      return {
        kind: 'vacuum',
        horizon: BigInt(said.horizon),
        outcomesFrom: BigInt(said.outcomesFrom),
        commitsFrom: parseLsn(said.commitsFrom),
      };
    const xid = fullXid(record.xid, near);
    if ('dropped' in said) return { kind: 'drop', xid, key: said.dropped };
    return { kind: 'row', xid, ...said };
  }
  const operation = info & 0xf0;
  if (operation === infos.endOfRecovery) return { kind: 'endOfRecovery' };
  if (operation === infos.givenUp) return { kind: 'givenUp' };
  const facts = JSON.parse(Buffer.from(main).toString()) as {
    redo: string;
    nextXid: string;
    running: string[];
  };
  return {
    kind: 'checkpoint',
    isShutdown: operation === infos.shutdownCheckpoint,
    facts: {
      redo: parseLsn(facts.redo),
      nextXid: BigInt(facts.nextXid),
      running: facts.running.map(BigInt),
    },
  };
}

function endOf(record: WalRecord, near: bigint): ModelChange {
  const end = readTransactionEnd(record);
  if (end === null)
    throw new Error(`a record of transactions that the model does not write: ${record.operation}`);
  const xid = fullXid(end.xid, near);
  if (end.kind === 'commit' || end.kind === 'abort') return { kind: end.kind, xid };
  return { kind: end.kind, xid, name: end.name ?? '' };
}

const epoch = 2n ** 32n;

/** The one nearest to `near` of those with these lower 32 bits. */
function fullXid(low: number, near: bigint): bigint {
  const candidate = near - (near % epoch) + BigInt(low);
  if (candidate > near + epoch / 2n) return candidate - epoch;
  return candidate < near - epoch / 2n ? candidate + epoch : candidate;
}
