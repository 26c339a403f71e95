/**
 * A client of Barista that goes from replica to replica until it is answered.
 *
 * Every request has a name (client_id and seq_id), and is repeated under that name when an answer is lost: so it is executed once. What the stubs in gen/ do not do is here: trying again, NULL, transactions.
 */
const { randomUUID } = require('node:crypto');
const { setTimeout: pause } = require('node:timers/promises');
const thrift = require('thrift');
const Barista = require('./gen/Barista.js');
const { Connection, ConnectionParams, DBException } = require('./gen/barista_types.js');

/** The session is gone, or this replica cannot serve now: another session does. */
const sessionGone = new Set([
  '08001',
  '08003',
  '08006',
  '08007',
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '53300',
]);
/** Nothing was done: the same again. */
const notDone = new Set(['40001', '40P01']);
/** It was done before, and its rows are not kept. */
const doneBefore = 'RQ001';
const connectTimeoutMs = 3_000;
const betweenMs = 200;

class Lost extends Error {}

/** NULL travels as \N, and what looks so has one backslash more. */
function cellOf(value) {
  if (value === null || value === undefined) return Buffer.from('\\N');
  const text = Buffer.isBuffer(value) ? value : Buffer.from(String(value));
  return /^\\+N$/.test(text.toString('latin1')) ? Buffer.concat([Buffer.from('\\'), text]) : text;
}

function valueOf(cell) {
  if (!/^\\+N$/.test(cell.toString('latin1'))) return cell;
  return cell.length === 2 ? null : cell.subarray(1);
}

const stateOf = (error) => (error instanceof DBException ? (error.details ?? '').slice(0, 5) : null);

class BaristaClient {
  /** `replicas`: [{ host, port }]; `timeoutMs`: for how long a request is tried. */
  constructor({ replicas, user, password, database, timeoutMs = 60_000 }) {
    this.replicas = replicas;
    this.account = { user, password, database };
    this.timeoutMs = timeoutMs;
    this.clientId = randomUUID();
    this.lastSeqId = 1;
    this.at = 0;
    this.session = null;
    this.retries = 0;
  }

  /** One statement, by itself. Rows are arrays of Buffer or null; `isRepeated`: it was done at an earlier attempt, whose rows are lost. */
  execute(query, params = []) {
    const seqId = this.nextSeqId();
    return this.insist(() => this.call('execute_sql', seqId, query, params.map(cellOf)));
  }

  /** `work` is given a function that executes a statement in the transaction; it is run again as a whole when its transaction is lost. */
  transaction(work) {
    const seqId = this.nextSeqId();
    return this.insist(async () => {
      await this.call('begin_txn', null);
      let result;
      try {
        result = await work((query, params = []) =>
          this.call('execute_sql_txn', null, query, params.map(cellOf)),
        );
      } catch (error) {
        if (this.session !== null) await this.call('rollback_txn', null).catch(() => undefined);
        throw error;
      }
      await this.call('commit_txn', seqId);
      return result;
    });
  }

  async close() {
    if (this.session !== null) await this.call('close_connection', null).catch(() => undefined);
    this.forget();
  }

  nextSeqId() {
    this.lastSeqId += 1;
    return String(this.lastSeqId);
  }

  async insist(attempt) {
    const deadline = performance.now() + this.timeoutMs;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const state = stateOf(error);
        if (state === doneBefore) return { rowCount: 0, rows: [], names: [], types: [], isRepeated: true };
        const isGone = error instanceof Lost || sessionGone.has(state);
        if ((!isGone && !notDone.has(state)) || performance.now() > deadline) throw error;
        if (isGone) {
          this.forget();
          this.at += 1;
        }
        this.retries += 1;
        await pause(betweenMs);
      }
    }
  }

  async call(method, seqId, ...rest) {
    const { con, stubs, gone } = (this.session ??= await this.open());
    const own = seqId === null ? con : new Connection({ ...con, seq_id: seqId });
    const result = await Promise.race([stubs[method](own, ...rest), gone]);
    if (!result) return undefined;
    return {
      rowCount: result.row_count,
      rows: result.tuples.map(({ cells }) => cells.map(valueOf)),
      names: result.field_names,
      types: result.field_types,
      isRepeated: false,
    };
  }

  async open() {
    const { host, port } = this.replicas[this.at % this.replicas.length];
    const connection = thrift.createConnection(host, port, {
      transport: thrift.TFramedTransport,
      protocol: thrift.TBinaryProtocol,
      connect_timeout: connectTimeoutMs,
      max_attempts: 1,
    });
    // The library leaves calls unanswered whose connection breaks.
    const gone = new Promise((_, reject) => {
      for (const event of ['error', 'close', 'timeout'])
        connection.on(event, (why) => reject(new Lost(`${host}:${port} is gone: ${why?.message ?? event}`)));
    });
    gone.catch(() => undefined);
    const stubs = thrift.createClient(Barista, connection);
    const params = new ConnectionParams({ ...this.account, client_id: this.clientId, seq_id: '1' });
    try {
      const con = await Promise.race([stubs.open_connection(params), gone]);
      return { con, stubs, gone, connection };
    } catch (error) {
      connection.end();
      throw error;
    }
  }

  forget() {
    this.session?.connection.end();
    this.session = null;
  }
}

module.exports = { BaristaClient, stateOf };
