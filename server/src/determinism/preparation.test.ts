import { beforeAll, describe, expect, it } from 'vitest';
import { loadParser } from './parser.ts';
import { errorResponse, frameOf, readErrorFields } from '../pgwire/backend-messages.ts';
import { bind, execute, parse, query, sync } from '../pgwire/frontend-messages.ts';
import { back } from '../pgwire/message-types.ts';
import { createPreparation, type RequestPreparation } from './preparation.ts';

beforeAll(() => loadParser());

describe('a request before it is agreed on', () => {
  it('is passed on byte for byte where nothing differs between replicas', () => {
    const bytes = query('SELECT 1');
    expect(createPreparation().prepare(bytes)).toMatchObject({ code: 'prepared', bytes, what: 'execute' });
  });

  it.each([
    ['BEGIN', 'begin'],
    ['COMMIT', 'commit'],
    ['ROLLBACK', 'rollback'],
    ['BEGIN; COMMIT', 'execute'],
  ])('%s is told as %s', (sql, what) => {
    expect(createPreparation().prepare(query(sql))).toMatchObject({ code: 'prepared', what });
    expect(createPreparation().prepare(Buffer.concat([parse('', sql), sync]))).toMatchObject({ what });
  });

  it('has the places of its errors in the text of the client', () => {
    const prepared = createPreparation().prepare(query('SELECT now(), nothing'));
    if (prepared.code !== 'prepared') throw new Error('it was refused');
    const text = prepared.bytes.toString('latin1', 5);
    expect(text).toContain('barista_fn.');
    const error = errorResponse('ERROR', {
      sqlState: '42703',
      message: 'no such column',
      position: text.indexOf('nothing') + 1,
    });
    expect(readErrorFields(prepared.answer(error)).get('P')).toBe('15');
  });

  it('is refused with an error that a block can be failed with, too', () => {
    const refused = createPreparation().prepare(query("COPY t FROM PROGRAM 'id'"));
    expect(refused).toMatchObject({ code: 'refused', error: { sqlState: '0A000' } });
    const failing = refused.code === 'refused' ? refused.failing.toString() : '';
    expect(failing).toContain('RAISE EXCEPTION');
  });

  const alone = { isAll: false, isAlone: true };
  const all = { value: null, isAll: true, isAlone: true };
  it.each([
    ["SET barista.acknowledge = 'sync'", { value: 'sync', ...alone }],
    ['SET SESSION "barista"."acknowledge" TO Semi', { value: 'semi', ...alone }],
    ["set BARISTA.Acknowledge = 'Sync'", { value: 'Sync', ...alone }],
    ['SET barista.acknowledge TO DEFAULT', { value: null, ...alone }],
    ['RESET barista.acknowledge', { value: null, ...alone }],
    ['RESET ALL', all],
    ['DISCARD ALL', all],
    ["SET barista.acknowledge = 'sync'; SELECT 1", { value: 'sync', isAll: false, isAlone: false }],
    ['SHOW barista.acknowledge', null],
    ["SELECT 'SET barista.acknowledge'", null],
    ["SET application_name = 'barista.acknowledge'", null],
  ])('%s changes what its session is told of levels', (sql, acknowledge) => {
    expect(createPreparation().prepare(query(sql))).toMatchObject({ code: 'prepared', acknowledge });
  });

  it('changes its session’s level by messages if it is run at once, and not kept', () => {
    const prepare = (...messages: readonly Buffer[]): unknown =>
      createPreparation().prepare(Buffer.concat([...messages, sync]));
    const sql = "SET barista.acknowledge = 'sync'";
    const run = [bind({ portal: '', statement: '' }), execute('')];
    const change = { value: 'sync', isAll: false };
    expect(prepare(parse('', sql), ...run)).toMatchObject({ acknowledge: { ...change, isAlone: true } });
    expect(prepare(parse('', sql))).toMatchObject({ acknowledge: { ...change, isAlone: false } });
    expect(prepare(parse('s', sql), bind({ portal: '', statement: 's' }), execute(''))).toMatchObject({
      acknowledge: { ...change, isAlone: false },
    });
  });

  it('is refused where it puts a trigger on a temporary table of its transaction', () => {
    const trigger = query('CREATE TRIGGER g AFTER INSERT ON tt EXECUTE FUNCTION f()');
    const made = (sql: string): RequestPreparation => {
      const preparation = createPreparation();
      preparation.prepare(query(`BEGIN; ${sql}`));
      return preparation;
    };
    for (const sql of [
      'CREATE TEMP TABLE tt (a int)',
      'CREATE TABLE pg_temp.TT (a int)',
      'CREATE TEMP VIEW tt AS SELECT 1',
      'SELECT 1 AS a INTO TEMP tt',
      'CREATE TEMP TABLE tt AS SELECT 1',
    ])
      expect(made(sql).prepare(trigger)).toMatchObject({ code: 'refused', error: { sqlState: '0A000' } });
    expect(made('CREATE TABLE tt (a int)').prepare(trigger)).toMatchObject({ code: 'prepared' });
    const later = made('CREATE TEMP TABLE tt (a int)');
    later.prepare(query('BEGIN'));
    expect(later.prepare(trigger)).toMatchObject({ code: 'prepared' });
  });

  it('is not compared where it may ask for the rest of an answer', () => {
    const preparation = createPreparation();
    const isCompared = (...messages: readonly Buffer[]): unknown => {
      const prepared = preparation.prepare(Buffer.concat([...messages, sync]));
      return prepared.code === 'prepared' && prepared.isCompared;
    };
    const bound = bind({ portal: 'p', statement: 's' });
    // As drivers do that discard all rows but the first.
    const first = Buffer.from(execute('p'));
    first.writeInt32BE(1, first.length - 4);
    expect(isCompared(parse('s', 'INSERT INTO o VALUES (1)'), bound, first)).toBe(true);
    expect(isCompared(execute('p'))).toBe(false);
    expect(isCompared(parse('', 'FETCH 20 FROM c'), bind({ portal: '', statement: '' }), execute(''))).toBe(
      true,
    );
    expect(isCompared(bound, execute('p'))).toBe(true);
  });

  it('is read as the settings of its session say', () => {
    const preparation = createPreparation();
    const off = frameOf(back.parameterStatus, Buffer.from('standard_conforming_strings\0off\0'));
    preparation.answered(off);
    expect(preparation.prepare(query("SELECT 'a\\'' "))).toMatchObject({ code: 'refused' });
  });
});
