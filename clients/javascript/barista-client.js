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

/** This replica cannot say now: the same request, with the same handle, at the next one. */
const elsewhere = new Set(['08001', '08006', '08007', '57P01', '57P02', '57P03', '57P05', '53300']);
/** Of these, the ones that say that the request was not executed. */
const notExecuted = new Set(['08001', '57P03', '57P05', '53300']);
/** No replica has the session, or the next one has not; names of requests are known all the same. */
const sessionGone = '08003';
/** No replica has the session, and its names are gone with it. */
const namesGone = 'RQ002';
const outcomeUnknown = '08007';
/** Nothing was done: the same again. */
const notDone = new Set(['40001', '40P01']);
/** It was done before, and its rows are not kept. */
const doneBefore = 'RQ001';
/** For connecting, with TLS, and until the replica says its version: one that is frozen does not. */
const connectTimeoutMs = 3_000;
const betweenMs = 200;

/** The connection broke, or never was. */
class Lost extends Error {}

/** Whoever answers is not whom it is to be: another attempt would not help. */
const isRefused = ({ code = '' }) =>
  /^(ERR_TLS_CERT|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_|PATH_LENGTH)/.test(code);

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

/** An earlier attempt may have taken effect, and nobody knows any more. */
function unknown(why) {
  const error = new DBException({
    errorCode: Number.parseInt(outcomeUnknown, 36),
    message: 'it is not known whether the request took effect',
    details: `${outcomeUnknown}\nDETAIL: ${why.message}`,
  });
  error.cause = why;
  return error;
}

/** Who is frozen would not answer the end of a connection, either. */
function cut(connection) {
  connection.end();
  connection.destroy();
}

async function within(ms, place, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Lost(`${place} does not answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

class BaristaClient {
  /** `replicas`: [{ host, port }]; `ca`: certificates in PEM that are believed, without them there is no TLS; `timeoutMs`: for how long a request is tried; `answerTimeoutMs`: so long an answer of one replica is waited for. */
  constructor({
    replicas,
    user,
    password,
    database,
    ca = null,
    timeoutMs = 60_000,
    answerTimeoutMs = 20_000,
  }) {
    this.replicas = replicas;
    this.account = { user, password, database };
    this.ca = ca;
    this.timeoutMs = timeoutMs;
    this.answerTimeoutMs = answerTimeoutMs;
    this.clientId = randomUUID();
    this.lastSeqId = 1;
    this.at = 0;
    /** The connection to a replica; null: there is none. */
    this.link = null;
    /** The handle, which may be good at the others, too. */
    this.con = null;
    this.deadline = 0;
    this.retries = 0;
    /** The request itself was sent: what becomes of it is unknown until it is answered. */
    this.isAsked = false;
  }

  /** One statement, by itself. Rows are arrays of Buffer or null; `isRepeated`: it was done at an earlier attempt, whose rows are lost. */
  execute(query, params = []) {
    const seqId = this.nextSeqId();
    return this.insist(async () => {
      try {
        return await this.effect('execute_sql', seqId, query, params.map(cellOf));
      } catch (error) {
        if (stateOf(error) !== doneBefore) throw error;
        return { rowCount: 0, rows: [], names: [], types: [], isRepeated: true };
      }
    });
  }

  /** `work` is given a function that executes a statement in the transaction; it is run again as a whole when its transaction is lost. */
  transaction(work) {
    const commitId = this.nextSeqId();
    return this.insist(async () => {
      await this.call('begin_txn', this.nextSeqId());
      let result;
      try {
        result = await work((query, params = []) =>
          this.call('execute_sql_txn', this.nextSeqId(), query, params.map(cellOf)),
        );
      } catch (error) {
        if (this.con !== null && ![sessionGone, namesGone].includes(stateOf(error)))
          await this.call('rollback_txn', this.nextSeqId()).catch(() => undefined);
        throw error;
      }
      await this.effect('commit_txn', commitId).catch((error) => {
        if (stateOf(error) !== doneBefore) throw error;
      });
      return result;
    });
  }

  async close() {
    this.deadline = performance.now() + this.timeoutMs;
    if (this.con !== null) await this.call('close_connection', null).catch(() => undefined);
    this.leave();
    this.con = null;
  }

  nextSeqId() {
    this.lastSeqId += 1;
    return String(this.lastSeqId);
  }

  /** Again as a whole, where nothing was done, or where it was is gone. */
  async insist(attempt) {
    this.deadline = performance.now() + this.timeoutMs;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const state = stateOf(error);
        const isGone = state === sessionGone || state === namesGone;
        // In a transaction: what it was answered is lost, and its transaction was rolled back.
        const isAgain = isGone || notDone.has(state) || state === doneBefore;
        if (!isAgain || performance.now() > this.deadline) throw error;
        if (isGone) this.con = null;
        this.retries += 1;
        await pause(betweenMs);
      }
    }
  }

  /** One request, by its name and with its handle, at one replica after the other until it is answered. */
  call(method, seqId, ...rest) {
    return this.attempts(false, method, seqId, rest);
  }

  /** One that takes effect by itself: where it may have, and that is not to be found out any more, it fails with 08007 and is not repeated. */
  effect(method, seqId, ...rest) {
    return this.attempts(true, method, seqId, rest);
  }

  async attempts(takesEffect, method, seqId, rest) {
    let isUnsure = false;
    for (;;) {
      try {
        return await this.ask(method, seqId, rest);
      } catch (error) {
        const state = stateOf(error);
        const isElsewhere = error instanceof Lost || elsewhere.has(state);
        isUnsure ||= this.isAsked && isElsewhere && !notExecuted.has(state);
        const isOver = !isElsewhere || performance.now() > this.deadline;
        if (isOver && takesEffect && isUnsure && (isElsewhere || state === namesGone)) throw unknown(error);
        if (isOver) throw error;
        this.leave();
        this.at += 1;
        this.retries += 1;
        await pause(betweenMs);
      }
    }
  }

  async ask(method, seqId, rest) {
    this.isAsked = false;
    this.link ??= await this.connect();
    const { stubs } = this.link;
    const params = new ConnectionParams({ ...this.account, client_id: this.clientId, seq_id: '1' });
    this.con ??= await this.link.answer(stubs.open_connection(params), this.answerTimeoutMs);
    const own = seqId === null ? this.con : new Connection({ ...this.con, seq_id: seqId });
    this.isAsked = true;
    const result = await this.link.answer(stubs[method](own, ...rest), this.answerTimeoutMs);
    if (!result) return undefined;
    return {
      rowCount: result.row_count,
      rows: result.tuples.map(({ cells }) => cells.map(valueOf)),
      names: result.field_names,
      types: result.field_types,
      isRepeated: false,
    };
  }

  async connect() {
    const { host, port } = this.replicas[this.at % this.replicas.length];
    const settings = {
      transport: thrift.TFramedTransport,
      protocol: thrift.TBinaryProtocol,
      connect_timeout: connectTimeoutMs,
      max_attempts: 1,
    };
    const connection =
      this.ca === null
        ? thrift.createConnection(host, port, settings)
        : thrift.createSSLConnection(host, port, { ...settings, ca: this.ca, rejectUnauthorized: true });
    // The library leaves calls unanswered whose connection breaks.
    const gone = new Promise((_, reject) => {
      for (const event of ['error', 'close', 'timeout'])
        connection.on(event, (why) =>
          reject(isRefused(why ?? {}) ? why : new Lost(`${host}:${port} is gone: ${why?.message ?? event}`)),
        );
    });
    gone.catch(() => undefined);
    const stubs = thrift.createClient(Barista, connection);
    const answer = (promise, ms) => within(ms, `${host}:${port}`, Promise.race([promise, gone]));
    try {
      // Calls wait for the connection.
      await answer(stubs.get_version(), connectTimeoutMs);
    } catch (error) {
      cut(connection);
      throw error;
    }
    return { stubs, answer, connection };
  }

  leave() {
    if (this.link !== null) cut(this.link.connection);
    this.link = null;
  }
}

module.exports = { BaristaClient, stateOf };
