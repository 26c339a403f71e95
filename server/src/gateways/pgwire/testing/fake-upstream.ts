/**
 * An upstream for tests of kept clients: it takes messages as PostgreSQL does, as far as blocks and errors go, and says of each what it was. Executes nothing.
 */
import { type Duplex, duplexPair } from 'node:stream';
import {
  bindComplete,
  closeComplete,
  commandComplete,
  errorResponse,
  parseComplete,
  readyForQuery,
} from '../../../pgwire/backend-messages.ts';
import { FrameGatherer } from '../../../pgwire/frame-gatherer.ts';
import { FrameSplitter, headerBytes } from '../../../pgwire/frame-splitter.ts';
import { stringEnd } from '../../../pgwire/frontend-messages.ts';
import type { TransactionStatus } from '../../../pgwire/message-types.ts';
import { frame } from './frames.ts';
import { allIsMarked } from '../kept/read-question.ts';

function dataRow(...columns: readonly (string | null)[]): Buffer {
  const parts = columns.map((text) => {
    const head = Buffer.alloc(4);
    head.writeInt32BE(text?.length ?? -1);
    return Buffer.concat([head, Buffer.from(text ?? '')]);
  });
  return frame('D', Buffer.concat([Buffer.from([0, columns.length]), ...parts]));
}

const MiB = 1_048_576;

export class FakeUpstream {
  /** The gateway's end. */
  readonly near: Duplex;
  /** What came, such as `Q SELECT 1`. */
  readonly heard: string[] = [];
  /** It takes messages and answers nothing. */
  hangs = false;
  /** It hangs from a message on that has this in its line. */
  hangsAt: string | null = null;
  status: TransactionStatus = 'I';
  readonly statements = new Map<string, string>();
  readonly key: Buffer;

  private readonly far: Duplex;
  /** What it says when it is asked whether its sessions may act elsewhere. That question is not among what it has heard. */
  actsElsewhere = false;
  /** What it says of its login: who it is, and defaults; null: nothing. */
  identity: string | null = '16384:5';
  defaults: string | null = null;
  private asksEffects = false;
  /** The mark of its functions, which nothing else is heard of, either. */
  functions = 'as they were';
  private asksFunctions = false;
  /** Nor is the one for its login. */
  private asksLogin = false;
  /** What it says of the plan of a statement that may only have read. */
  plan = 'Gather';
  private asksReads = false;
  private portal = '';
  private skips = false;

  constructor(options: {
    readonly pid: number;
    readonly asksPassword?: boolean;
    readonly isLate?: boolean;
    readonly parameters?: readonly string[];
  }) {
    [this.near, this.far] = duplexPair();
    this.near.on('close', () => this.far.destroy());
    this.key = Buffer.from([0, 0, 0, options.pid, 1, 2, 3, 4]);
    const splitter = new FrameSplitter(64 * MiB);
    const gatherer = new FrameGatherer(64 * MiB);
    this.far.on('error', () => {});
    this.far.on('data', (chunk: Buffer) => {
      splitter.feed(chunk);
      while (splitter.next()) {
        const message = gatherer.add(splitter, chunk);
        if (message !== null) this.take(String.fromCharCode(splitter.type), Buffer.from(message));
      }
    });
    if (options.asksPassword === true) this.say(frame('R', Buffer.from([0, 0, 0, 3])));
    else if (options.isLate !== true) this.welcome(options.parameters);
  }

  /** Lets the client in; to be called of one that is late. */
  welcome(parameters: readonly string[] = []): void {
    const told = parameters.map((parameter) => frame('S', `${parameter.replace('=', '\0')}\0`));
    this.say(frame('R', Buffer.alloc(4)), ...told, frame('K', this.key), readyForQuery('I'));
  }

  say(...messages: readonly Buffer[]): void {
    this.far.write(Buffer.concat(messages));
  }

  /** The process has died. */
  die(): void {
    this.far.destroy();
    this.near.destroy();
  }

  private take(type: string, message: Buffer): void {
    const first = message.toString('latin1', headerBytes, stringEnd(message, headerBytes, message.length));
    const isEffects = first.endsWith('barista_effects') || (type === 'S' && this.asksEffects);
    this.asksEffects = isEffects && type !== 'S';
    const isLogin = first.endsWith('barista_login') || (type === 'S' && this.asksLogin);
    this.asksLogin = isLogin && type !== 'S';
    const isFunctions = first.endsWith('barista_functions') || (type === 'S' && this.asksFunctions);
    this.asksFunctions = isFunctions && type !== 'S';
    const isReads = first.endsWith('barista_reads') || (type === 'S' && this.asksReads);
    this.asksReads = isReads && type !== 'S';
    if (!isEffects && !isLogin && !isReads && !isFunctions) this.heard.push(`${type} ${first}`.trim());
    if (this.hangsAt !== null && this.heard.at(-1)?.includes(this.hangsAt) === true) this.hangs = true;
    if (this.hangs) return;
    if (type === 'Q') this.query(first);
    else if (type === 'S') {
      this.skips = false;
      this.say(readyForQuery(this.status));
    } else if (!this.skips) this.extended(type, message, first);
  }

  private query(sql: string): void {
    for (const statement of sql.split(';').map((text) => text.trim())) {
      const answer = this.run(statement);
      this.say(answer);
      if (answer[0] === 'E'.charCodeAt(0)) break;
    }
    this.say(readyForQuery(this.status));
  }

  private extended(type: string, message: Buffer, first: string): void {
    const second = message.toString(
      'latin1',
      headerBytes + first.length + 1,
      stringEnd(message, headerBytes + first.length + 1, message.length),
    );
    switch (type) {
      case 'P':
        if (this.refuses(second)) return this.fail('25P02');
        this.statements.set(first, second);
        return this.say(parseComplete);
      case 'B': {
        const statement = this.statements.get(second);
        if (statement === undefined) return this.fail('26000');
        if (this.refuses(statement)) return this.fail('25P02');
        this.portal = statement;
        return this.say(bindComplete);
      }
      case 'E': {
        if (this.asksEffects) this.say(dataRow(this.actsElsewhere ? 't' : 'f'));
        if (this.asksReads && this.portal.startsWith('EXPLAIN'))
          this.say(dataRow(`[ { "Plan": { "Node Type": "${this.plan}"`));
        if (this.asksReads && this.portal.startsWith(`SELECT '${allIsMarked}'`))
          this.say(dataRow(allIsMarked));
        if (this.asksFunctions) this.say(dataRow(this.functions));
        if (this.asksLogin) this.say(dataRow(this.identity, this.defaults));
        const answer = this.run(this.portal);
        this.skips = answer[0] === 'E'.charCodeAt(0);
        return this.say(answer);
      }
      case 'C':
        this.statements.delete(first.slice(1));
        return this.say(closeComplete);
      default:
    }
  }

  private fail(code: string): void {
    this.skips = true;
    this.say(this.error(code));
  }

  private refuses(sql: string): boolean {
    return this.status === 'E' && !/^(?:commit|rollback)/i.test(sql);
  }

  private run(sql: string): Buffer {
    if (/^rollback to/i.test(sql)) return this.error(this.status === 'I' ? '25P01' : '3B001');
    if (/^begin/i.test(sql) && this.status === 'I') this.status = 'T';
    else if (/^(?:commit|rollback)/i.test(sql)) {
      const rollsBack = this.status === 'E' || /^rollback/i.test(sql);
      this.status = 'I';
      return commandComplete(rollsBack ? 'ROLLBACK' : 'COMMIT');
    } else if (this.status === 'E') return this.error('25P02');
    else if (/fail/.test(sql)) return this.error('22012');
    return commandComplete(sql.split(' ')[0]?.toUpperCase() ?? '');
  }

  private error(sqlState: string): Buffer {
    if (this.status === 'T') this.status = 'E';
    return errorResponse('ERROR', { sqlState, message: 'as PostgreSQL says it' });
  }
}
