import { beforeAll, describe, expect, it } from 'vitest';
import { loadParser } from './parser.ts';
import { errorResponse, frameOf, readErrorFields } from '../pgwire/backend-messages.ts';
import { parse, query, sync } from '../pgwire/frontend-messages.ts';
import { back } from '../pgwire/message-types.ts';
import { createPreparation } from './preparation.ts';

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

  it('is read as the settings of its session say', () => {
    const preparation = createPreparation();
    const off = frameOf(back.parameterStatus, Buffer.from('standard_conforming_strings\0off\0'));
    preparation.answered(off);
    expect(preparation.prepare(query("SELECT 'a\\'' "))).toMatchObject({ code: 'refused' });
  });
});
