import { describe, expect, it, vi } from 'vitest';
import {
  commandComplete,
  commandTag,
  errorFromFields,
  readErrorFields,
  readyForQuery,
} from '../../../../pgwire/backend-messages.ts';
import { FrameSplitter } from '../../../../pgwire/frame-splitter.ts';
import { defaultLimits } from '../../limits.ts';
import { frame } from '../../testing/frames.ts';
import { FlightAnswers } from './flight-answers.ts';
import { Attempt } from './attempt.ts';
import { NameInForce } from './name-in-force.ts';
import { NamedTransaction } from './named-transaction.ts';
import {
  beginAsking,
  beginNamed,
  claimAndCommit,
  claimName,
  forgetName,
  rollBackAndForget,
} from './own-statements.ts';
import { digestOf } from './request-digest.ts';

interface Fixture {
  readonly name: NameInForce;
  readonly attempt: Attempt;
  readonly transaction: NamedTransaction;
  readonly sent: Buffer[];
  /** In plain words: tags, errors and notices by their codes, ReadyForQuery by its status. */
  readonly told: string[];
  /** `cleared`: no name is in force any more. `used`: a transaction was committed under one. */
  readonly learnt: string[];
  readonly fromPostgres: (...frames: readonly Buffer[]) => void;
}

/** PostgreSQL is played by the test. */
function start(): Fixture {
  const sent: Buffer[] = [];
  const told: string[] = [];
  const learnt: string[] = [];
  const answers = new FlightAnswers({
    emit: (bytes) => told.push(...inWords(bytes)),
    ready: () => undefined,
    isInDoubt: () => learnt.at(-1) === 'claimed',
  });
  const name = new NameInForce();
  name.mentioned();
  vi.spyOn(name, 'cleared').mockImplementation(() => void learnt.push('cleared'));
  const attempt = new Attempt(new Map());
  const transaction = new NamedTransaction({
    answers,
    name,
    attempt,
    send: (...messages) => sent.push(...messages),
    learn: ({ kind }) => learnt.push(kind),
    used: () => learnt.push('used'),
    missing: () => learnt.push('missing'),
    fail: ({ sqlState }) => told.push(`fatal ${sqlState}`),
  });
  const splitter = new FrameSplitter(defaultLimits.frameBytesMax);
  return {
    name,
    attempt,
    transaction,
    sent,
    told,
    learnt,
    fromPostgres(...frames) {
      const chunk = Buffer.concat(frames);
      splitter.feed(chunk);
      while (splitter.next()) answers.part(splitter, chunk);
      answers.chunkDone();
    },
  };
}

function inWords(bytes: Buffer): string[] {
  const words: string[] = [];
  for (let at = 0; at < bytes.length; at += 1 + bytes.readInt32BE(at + 1)) {
    const one = bytes.subarray(at, at + 1 + bytes.readInt32BE(at + 1));
    const type = String.fromCharCode(one[0]!);
    if (type === 'C') words.push(commandTag(one));
    else if (type === 'E' || type === 'N')
      words.push(`${type === 'E' ? 'error' : 'notice'} ${readErrorFields(one).get('C') ?? ''}`);
    else if (type === 'Z') words.push(`ready ${String.fromCharCode(one[5]!)}`);
    else words.push(type);
  }
  return words;
}

function row(text: string): Buffer {
  const head = Buffer.from([0, 1, 0, 0, 0, text.length]);
  return frame('D', Buffer.concat([head, Buffer.from(text)]));
}

function failure(code: string, detail = ''): Buffer {
  return errorFromFields(
    new Map([
      ['S', 'ERROR'],
      ['V', 'ERROR'],
      ['C', code],
      ['M', 'no'],
      ['D', detail],
    ]),
  );
}

const terminated = errorFromFields(
  new Map([
    ['S', 'FATAL'],
    ['V', 'FATAL'],
    ['C', '57P01'],
    ['M', 'no'],
  ]),
);

const nothing = (): null => null;
const plain = { extended: false, acts: true } as const;
const claimed = row('claimed 16384:5 62');
const aRow = [frame('T', '\0\0'), frame('D', '\0\0')];

describe('the COMMIT of a block of the client’s own', () => {
  it('leaves the name in force where it fails: the transaction can be run again under it', () => {
    const { transaction, told, learnt, fromPostgres } = start();
    transaction.claimBefore('commit');
    fromPostgres(claimed, readyForQuery('T'));
    fromPostgres(failure('23503'), readyForQuery('I'));
    expect(told).toEqual(['error 23503', 'ready I']);
    expect(learnt).toEqual(['claimed']);
  });

  it.each([
    ['before it is answered', [terminated]],
    ['when it is, and before the client hears of it', [commandComplete('COMMIT'), terminated]],
  ])('is not told as failed where its session is ended %s: it may be committed', (_when, frames) => {
    const { transaction, told, fromPostgres } = start();
    transaction.claimBefore('commit');
    fromPostgres(claimed, readyForQuery('T'));
    fromPostgres(...frames);
    expect(told).not.toContain('error 57P01');
  });

  it('uses the name up where it succeeds', () => {
    const { transaction, told, learnt, fromPostgres } = start();
    transaction.claimBefore('commit');
    fromPostgres(claimed, readyForQuery('T'));
    fromPostgres(commandComplete('COMMIT'), readyForQuery('I'));
    expect(told).toEqual(['COMMIT', 'ready I']);
    expect(learnt).toEqual(['claimed', 'cleared', 'used']);
  });

  it('is told as done, with a notice, where the name is taken', () => {
    const { transaction, sent, told, fromPostgres } = start();
    transaction.claimBefore('commit');
    fromPostgres(failure('RQ001', 'COMMIT'), readyForQuery('E'));
    fromPostgres(commandComplete('ROLLBACK'), readyForQuery('I'));
    expect(sent.at(-1)?.equals(forgetName)).toBe(true);
    fromPostgres(commandComplete('SELECT 1'), readyForQuery('I'));
    expect(told).toEqual(['notice RQ001', 'COMMIT', 'ready I']);
  });

  it('that prepares the transaction is refused where the name is taken: nothing is prepared that could be committed', () => {
    const { transaction, sent, told, fromPostgres } = start();
    transaction.claimBefore('prepare');
    expect(sent[0]?.equals(claimName({ record: 'PREPARE TRANSACTION', acts: false, before: null }))).toBe(
      true,
    );
    fromPostgres(failure('RQ001', 'PREPARE TRANSACTION'), readyForQuery('E'));
    fromPostgres(commandComplete('ROLLBACK'), readyForQuery('I'));
    fromPostgres(commandComplete('SELECT 1'), readyForQuery('I'));
    expect(told).toEqual(['error RQ001', 'ready I']);
  });
});

describe('a request outside of a block', () => {
  const requests = [
    { what: 'one tag', answer: [commandComplete('UPDATE 2')], kept: 'UPDATE 2', again: 'notice RQ001' },
    {
      what: 'rows',
      answer: [...aRow, commandComplete('SELECT 1')],
      kept: null,
      again: 'error RQ001',
    },
    {
      what: 'several tags',
      answer: [commandComplete('INSERT 0 1'), commandComplete('UPDATE 2')],
      kept: null,
      again: 'error RQ001',
    },
  ];

  it.each(requests)('keeps the words of its success if they are all of it: $what', ({ answer, kept }) => {
    const { transaction, sent, fromPostgres } = start();
    transaction.wrap(nothing, plain);
    fromPostgres(row('named 16384:5 62'), readyForQuery('T'));
    fromPostgres(...answer, readyForQuery('T'));
    expect(sent.at(-1)?.equals(claimAndCommit({ record: kept, acts: false, before: null }))).toBe(true);
  });

  it.each(requests)(
    'whose name another has taken meanwhile is told as done only if nothing of its answer is missing: $what',
    ({ answer, again }) => {
      const { transaction, sent, told, learnt, fromPostgres } = start();
      transaction.wrap(nothing, plain);
      fromPostgres(row('named 16384:5 62'), readyForQuery('T'));
      fromPostgres(...answer, readyForQuery('T'));
      told.length = 0;
      fromPostgres(failure('RQ001', 'UPDATE 2'), readyForQuery('E'));
      expect(sent.at(-1)?.equals(rollBackAndForget)).toBe(true);
      fromPostgres(commandComplete('SELECT 1'), readyForQuery('I'));
      expect(told[0]).toBe(again);
      expect(told.at(-1)).toBe('ready I');
      expect(learnt).toEqual(['named', 'cleared']);
    },
  );

  it('asks nothing about a name that it leaves as it is', () => {
    const { transaction, sent } = start();
    transaction.wrap(nothing, { ...plain, acts: false });
    expect(sent[0]?.equals(beginAsking)).toBe(true);
    transaction.wrap(nothing, plain);
    expect(sent[1]?.equals(beginNamed)).toBe(true);
  });

  it('is recorded with what it was, if another has failed under the name before', () => {
    const { transaction, name, attempt, sent, told, fromPostgres } = start();
    name.acts = true;
    attempt.add('first');
    transaction.wrap(nothing, plain);
    fromPostgres(row('named 16384:5 62'), readyForQuery('T'));
    fromPostgres(failure('22012'), readyForQuery('E'));
    fromPostgres(commandComplete('ROLLBACK'), readyForQuery('I'));
    attempt.begins('I', name);
    attempt.add('second');
    transaction.wrap(nothing, plain);
    fromPostgres(row('named 16384:5 62'), readyForQuery('T'));
    fromPostgres(commandComplete('UPDATE 2'), readyForQuery('T'));
    const record = `UPDATE 2\n${digestOf('second')}`;
    expect(sent.at(-1)?.equals(claimAndCommit({ record, acts: true, before: 'b' }))).toBe(true);
    expect(told).toEqual(['error 22012', 'ready I']);
  });

  it.each([
    [`UPDATE 2\n${digestOf('it')}`, ['notice RQ001', 'UPDATE 2', 'ready I']],
    [`UPDATE 2\n${digestOf('other')}`, ['fatal RQ001']],
    ['UPDATE 2\nunknown', ['fatal RQ001']],
    ['UPDATE 2\nblock', ['fatal RQ001']],
    [`\n${digestOf('it')}`, ['error RQ001', 'ready I']],
  ])('is a repetition only of what was recorded with it: %j', (record, expected) => {
    const { transaction, attempt, told, fromPostgres } = start();
    attempt.add('it');
    transaction.wrap((tag) => [commandComplete(tag)], plain);
    fromPostgres(failure('RQ001', record), readyForQuery('E'));
    fromPostgres(failure('25P02'), readyForQuery('E'));
    if (!told.includes('fatal RQ001')) fromPostgres(commandComplete('SELECT 1'), readyForQuery('I'));
    expect(told).toEqual(expected);
  });

  it.each([
    [`COMMIT\n${digestOf('it')}`, ['notice RQ001', 'COMMIT', 'ready I']],
    [`COMMIT\n${digestOf('other')}`, ['fatal RQ001']],
    ['COMMIT\nunknown', ['fatal RQ001']],
    ['COMMIT', ['notice RQ001', 'COMMIT', 'ready I']],
  ])('in a block is a repetition only of what was recorded with it: %j', (record, expected) => {
    const { transaction, attempt, sent, told, fromPostgres } = start();
    attempt.add('it');
    transaction.claimBefore('commit');
    attempt.add('COMMIT');
    fromPostgres(failure('RQ001', record), readyForQuery('E'));
    fromPostgres(commandComplete('ROLLBACK'), readyForQuery('I'));
    if (sent.length > 1) fromPostgres(commandComplete('SELECT 1'), readyForQuery('I'));
    expect(told).toEqual(expected);
  });
});
